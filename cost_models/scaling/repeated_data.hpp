#pragma once

#include "cost_models/scaling/allocation.hpp"
#include "cost_models/scaling/fitted_law.hpp"

namespace sextant {

/// L = E + A N'^-alpha + B D'^-beta with what repetition leaves of the data and of the size:
/// D' = U_D (1 + R_D* (1 - exp(-R_D / R_D*))), R_D = D / U_D - 1 repetitions of U_D unique tokens;
/// N' = U_N (1 + R_N* (1 - exp(-R_N / R_N*))), U_N = min(N, the size that U_D tokens suffice for), R_N = N / U_N - 1.
/// Source: Muennighoff et al., arXiv:2305.16264.
struct RepeatedDataLaw {
    ChinchillaLaw base;
    double token_decay = 0;      ///< R_D*: repetitions after which another one is worth 1/e of new tokens
    double parameter_decay = 0;  ///< R_N*
};

/// @throws InputError: not a law of form "data-constrained", or without an optimum.
RepeatedDataLaw repeated_data_of(FittedLaw const& law, std::string const& where);

/// x' of x units of which `unique` are new: unique (1 + decay (1 - exp(-(x/unique - 1)/decay))); x where x <= unique.
double effective_amount(double amount, double unique, double decay);

/// Loss of N parameters and D tokens, of which `unique_tokens` differ.
double loss_of(RepeatedDataLaw const& law, double parameters, double tokens, double unique_tokens);

/// Tokens that bring N parameters to this loss when only `unique_tokens` differ; infinite where even endless
/// repetitions do not.
double tokens_for_loss(RepeatedDataLaw const& law, double parameters, double loss, double unique_tokens);

/// A run that may see its data several times.
struct RepeatedPoint {
    ScalingPoint point;
    double epochs = 1;
    double effective_tokens = 0;
    ScalingPoint with_enough_data;  ///< the optimum of the same compute if no token had to be repeated
};

/// N and D with 6 N D = C of the lowest loss when only `unique_tokens` differ.
RepeatedPoint repeated_optimum(RepeatedDataLaw const& law, double flops, double unique_tokens);

/// N parameters and D tokens of which `unique_tokens` differ, against the optimum of the same compute and data.
AllocationPenalty repeated_penalty(RepeatedDataLaw const& law, double parameters, double tokens, double unique_tokens);

}  // namespace sextant
