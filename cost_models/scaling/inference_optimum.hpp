#pragma once

#include "cost_models/scaling/chinchilla_law.hpp"

namespace sextant {

/// FLOPs of inference per parameter and token (a forward pass).
/// Source: Kaplan et al., arXiv:2001.08361, section 2.1.
inline constexpr double inference_flops_per_parameter_token = 2;

/// What a model will be asked over its life, and what one FLOP of each kind costs. With all costs 1 the sum counts
/// FLOPs; with price per accelerator-second over (peak x utilisation) it counts money.
struct ServingDemand {
    double prefill_tokens = 0;
    double decode_tokens = 0;
    double training_cost = 1;
    double prefill_cost = 1;
    double decode_cost = 1;
};

/// The cheapest model of a given quality over training and use.
struct InferenceOptimum {
    ScalingPoint point;
    double training_flops = 0;
    double inference_flops = 0;
    double cost = 0;  ///< in the demand's unit
};

/// 6 N D and 2 N (prefill + decode tokens), and their cost.
InferenceOptimum lifetime_cost(ScalingPoint const& point, ServingDemand const& demand);

/// Minimises cost_t 6 N D + 2 N (cost_p D_prefill + cost_d D_decode) subject to L(N, D) = loss.
///
/// With u = A N^-alpha / (loss - E), the share of the reducible loss that size leaves, the derivative vanishes where
/// 6 cost_t D(u) (1 - (alpha/beta) u / (1 - u)) + 2 (cost_p D_prefill + cost_d D_decode) = 0,
/// D(u) = (B / ((loss - E) (1 - u)))^(1/beta): it falls with u from beta/(alpha+beta), the training optimum, to 1.
/// @throws InputError: the loss is not above E, or a demand for which no model is small enough in double precision.
/// Source: Sardana et al., arXiv:2401.00448.
InferenceOptimum inference_optimum(ChinchillaLaw const& law, double loss, ServingDemand const& demand,
                                   char const* where);

}  // namespace sextant
