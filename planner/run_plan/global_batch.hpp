#pragma once

#include "core/spec/model_spec.hpp"

#include <cstdint>

namespace sextant {

/// Tokens of a batch beyond which data parallelism costs a fifth more steps than it ideally would:
/// 512 * 93.2 (N / 1e6)^0.468, trained to the compute optimum.
/// Source: Zhang et al., arXiv:2410.21676 (batches of 512-token sequences, 85 M to 1.2 B parameters; beyond that an
/// extrapolation).
double critical_batch_tokens(double parameters);

/// The largest power of two of sequences that stays within the critical batch of the model's active parameters, at
/// least one.
std::int64_t usual_global_batch(ModelSpec const& model, std::int64_t sequence);

}  // namespace sextant
