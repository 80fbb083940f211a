#pragma once

#include "core/spec/model_spec.hpp"

namespace sextant {

/// FLOPs of attention scores in training over 6 N, per token: 12 layers width s / (6 N). Counted over the full square;
/// a causal kernel does half of it. Source: Kaplan et al., arXiv:2001.08361, table 1, times three for the backward.
double attention_share(double layers, double width, double context, double parameters);

/// The same from the operations of a model: forward FLOPs per token in this context over those in a context of one
/// token, less one; with experts, latent attention and windows as the model has them.
double attention_share(ModelSpec const& model, std::int64_t context);

}  // namespace sextant
