#pragma once

#include "core/spec/model_spec.hpp"
#include "core/spec/parallel_plan.hpp"
#include "core/units.hpp"

namespace sextant {

/// Forward FLOPs of the matrix products of one token in a sequence of this shape, averaged over the sequence,
/// multi-token-prediction modules not counted. Attention is counted over the full square of a sequence (of each
/// document packed in it), as MFU is (arXiv:2204.02311 app. B; arXiv:2104.04473 app. A): a causal kernel runs half of
/// that part, see `causal_forward_flops_per_token`.
Flops forward_flops_per_token(ModelSpec const& model, SequenceShape const& sequence);
/// The same with the masked half of the attention scores left out.
Flops causal_forward_flops_per_token(ModelSpec const& model, SequenceShape const& sequence);

/// FLOPs of a whole training step as MFU counts them: three times the forward FLOPs of all tokens
/// (multi-token-prediction modules included where the model trains them), and once more of a frozen reference.
Flops model_flops_per_step(ModelSpec const& model, Workload const& workload);

/// The same of a step that trains adapters on frozen weights: the work that it needs, which is the forward pass with
/// the adapters, the gradients of all inputs (twice the forward work for attention, once for a frozen matrix) and the
/// weight gradients of the adapters. Without adapters, the figure above.
Flops model_flops_per_step(ModelSpec const& model, Workload const& workload, LowRankAdapters const& adapters);

/// 6 N D with N the parameters used by one token and D the tokens of a step.
Flops six_n_d(ModelSpec const& model, Workload const& workload);
/// 96 B s l h^2 (1 + s / 6h + V / 16lh): a step of a GPT with full recomputation (arXiv:2104.04473 eq. 3).
Flops megatron_step_flops(ModelSpec const& model, Workload const& workload);

}  // namespace sextant
