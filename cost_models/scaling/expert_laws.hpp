#pragma once

#include "cost_models/scaling/chinchilla_law.hpp"
#include "cost_models/scaling/fitted_law.hpp"

namespace sextant {

/// The number of experts E as it acts: 1/E' = 1/(E - 1 + 1/(1/E_start - 1/E_max)) + 1/E_max, from E_start at one
/// expert to E_max. Source: Clark et al., arXiv:2202.01169.
double effective_experts(double experts, double start, double most);

/// Parameters of the dense model with the same loss by log10 L = a log10 N + b log10 E' + c log10 N log10 E' + d, N the
/// parameters that a token passes in the dense model: N^(a(E')/a(E_start)) (E'/E_start)^(b/a(E_start)),
/// a(x) = a + c log10 x. @pre law of form "moe-routed". Source: Clark et al., arXiv:2202.01169.
double effective_dense_parameters(FittedLaw const& law, double parameters, double experts);

/// L = c + (g / G^gamma + a) N^-alpha + b D^-beta as a law of N (all parameters without embeddings) and D at one
/// granularity G (the width of a dense feed-forward over that of an expert). @pre law of form "moe-granularity".
/// Source: Krajewski et al., arXiv:2402.07871.
ChinchillaLaw at_granularity(FittedLaw const& law, double granularity);

/// L = a E'^delta N^(alpha + gamma ln E') + b E'^omega D^(beta + zeta ln E') + c as a law of N (active parameters) and
/// D at one number of experts; its optimum is that of C = 6 N_active D. @pre law of form "moe-joint".
/// Source: Ludziejewski et al., arXiv:2502.05172.
ChinchillaLaw at_experts(FittedLaw const& law, double experts);

}  // namespace sextant
