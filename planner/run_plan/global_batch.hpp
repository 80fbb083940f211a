#pragma once

#include <cstdint>

namespace sextant {

/// Tokens of a batch beyond which data parallelism takes a fifth more steps than it ideally would, for a run of so many
/// tokens: the rule "zhang" of `rate_laws` (arXiv:2410.21676; it grows with the tokens and hardly with the model).
/// Fitted to models of 85 M to 1.2 B parameters: beyond that an extrapolation.
double critical_batch_tokens(double tokens);

/// The largest power of two of sequences that stays within the critical batch of a run of so many tokens, at least one.
std::int64_t usual_global_batch(double tokens, std::int64_t sequence);

}  // namespace sextant
