#pragma once

#include "cost_models/serving/serving_case.hpp"

#include <cstdint>

namespace sextant {

/// What low-rank adapters (LoRA) of one rank R add to every attention and dense feed-forward product of a model,
/// y = W x + B (A x) with A [R, in] and B [out, R] in two bytes. Experts, router, embeddings and output matrix have
/// none. Source: Hu et al., arXiv:2106.09685.
///
/// A rank of the tp group holds the part that goes with its part of W, and all of the other factor: A whole and B cut
/// for products cut by output, A cut and B whole for those cut by input.
struct AdapterCost {
    Bytes bytes;      ///< of one adapter in one accelerator
    double products;  ///< of all layers of one stage, the one with the most
    double stages;    ///< of its size that the layers make

    /// What the adapters of an iteration add to the time of one stage: they are read once each, their products are two
    /// small kernels each,
    ///
    ///   T = max(2 parameters tokens / compute, adapters bytes / memory) + 2 products gap.
    ///
    /// @param adapters different ones among the sequences @param tokens of sequences with an adapter
    [[nodiscard]] Seconds stage_time(double adapters, double tokens) const;

    FlopsPerSecond compute{};
    BytesPerSecond memory{};
    Seconds kernel_gap{};
};

/// @throws InputError: a rank that is not in 1 to 4096.
AdapterCost adapter_cost(ServingCase const& what, std::int64_t rank);

}  // namespace sextant
