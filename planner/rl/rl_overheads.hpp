#pragma once

#include "core/spec/model_spec.hpp"
#include "core/units.hpp"

namespace sextant {

/// What a step takes beyond the kernels that the models of engines and trainer price. The defaults are none.
struct RlOverheads {
    double generation = 1;       ///< time of an iteration over that of the same engine as a server
    double training = 1;         ///< time of an update over that of pre-training by the same plan
    double scoring = 1;          ///< of a forward pass for log-probabilities
    double expert_training = 1;  ///< the two of mixtures of experts
    double expert_scoring = 1;
    Seconds controller{};  ///< of a step: preparing batches, moving responses, advantages, logging
    /// Of new weights for colocated engines, however small: asleep and awake, handles. Engines apart get theirs by
    /// collectives alone: 0.13 s of a step of 67 s. Source: NVIDIA-NeMo/RL, pull request 1052.
    Seconds sync{};
    Seconds sync_per_byte{};  ///< and for each byte of the model: converting and copying, tensor by tensor
    double log_error = 0;     ///< root mean square of ln(measured / predicted) on steps not used in the fit; 0: none

    [[nodiscard]] double training_of(ModelSpec const& model) const { return model.moe ? expert_training : training; }
    [[nodiscard]] double scoring_of(ModelSpec const& model) const { return model.moe ? expert_scoring : scoring; }
};

/// Fitted to the phases of four steps of NeMo RL 0.3 (vLLM, Megatron Core, H100): geometric means of measured over
/// predicted, a line through the weight updates, and what the phases leave of the step. Judged on NeMo RL 0.4.
/// Source: NVIDIA, "Reinforcement Learning with NVIDIA NeMo-RL: Megatron-Core Support for Optimized Training
/// Throughput", developer.nvidia.com, 2025, table 1; docs/rl.md has the numbers and the fit.
RlOverheads fitted_rl_overheads();

/// A range around a predicted step that holds 80 % of measured ones, if errors are as on the steps that were judged.
struct RlInterval {
    Seconds low, high;
};
/// predicted exp(-+ 1.2816 log_error). @pre log_error is positive.
RlInterval rl_interval(RlOverheads const& overheads, Seconds predicted);

}  // namespace sextant
