#pragma once

#include "cost_models/scaling/chinchilla_law.hpp"
#include "cost_models/scaling/fitted_law.hpp"

namespace sextant {

/// Bits of weights, activations and keys and values while training.
struct TrainingBits {
    double weights = 16;
    double activations = 16;
    double kv_cache = 16;
};

/// N_eff / N = product over x of (1 - exp(-P_x / gamma_x)): how much of the parameters so few bits leave.
/// @pre law of form "precision". Source: Kumar et al., arXiv:2411.04330.
double parameter_retention(FittedLaw const& law, TrainingBits const& bits);

/// The law of N and D at these bits: A N_eff^-alpha is A' N^-alpha with A' = A retention^-alpha.
ChinchillaLaw at_precision(FittedLaw const& law, TrainingBits const& bits);

/// Loss added by rounding the weights of a finished model to `bits`: C_T D^gamma_D N^-gamma_N exp(-P / gamma_post).
/// Source: Kumar et al., arXiv:2411.04330.
double rounding_penalty(FittedLaw const& law, double parameters, double tokens, double bits);

/// The bits that waste least when compute is (6/16) N D P: P of the largest retention(P) / P, whatever the exponents
/// and the budget, because the reducible loss goes with (retention C / P)^-(alpha beta/(alpha+beta)). With one gamma
/// for all three, P = 1.9038 gamma. Source: Kumar et al., arXiv:2411.04330.
double optimal_bits(FittedLaw const& law);

}  // namespace sextant
