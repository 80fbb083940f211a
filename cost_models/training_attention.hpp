#pragma once

#include "cost_models/kernel_estimate.hpp"

#include <optional>
#include <string_view>

namespace sextant {

/// What a kernel of this variant was asked for where it was measured: one of a training library starts within the
/// device's launch latency, since its rows are too long to tell more of it.
/// @param work matrix work against the forward pass of the same shape
PrefillUse measured_use(std::string_view variant, double work, AcceleratorProfile const& accelerator);

/// Attention of a training step by what was measured of a training library's kernel (`training_library`), on this
/// device or on others of its generation, at `rate` times what that reaches. Nothing where it was not measured.
/// @param library empty: of those that were, the one that reaches most
std::optional<KernelEstimate> estimate_training_attention(Attention const& shape, Pass pass,
                                                          AcceleratorProfile const& accelerator, double rate,
                                                          std::string_view library = {});

}  // namespace sextant
