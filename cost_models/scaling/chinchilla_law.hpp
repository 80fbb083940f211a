#pragma once

namespace sextant {

/// L(N, D) = E + A N^-alpha + B D^-beta: loss in nats per token, N parameters, D tokens.
/// Source: Hoffmann et al., arXiv:2203.15556, approach 3.
struct ChinchillaLaw {
    double A = 0;
    double B = 0;
    double E = 0;  ///< the loss that neither size nor data removes
    double alpha = 0;
    double beta = 0;
};

/// A model size, a number of tokens, and the loss a law gives them.
struct ScalingPoint {
    double parameters = 0;
    double tokens = 0;
    double loss = 0;
};

/// FLOPs of training per parameter and token (two forward, four backward): the counting rule of C = 6 N D.
/// Source: Kaplan et al., arXiv:2001.08361, section 2.1.
inline constexpr double training_flops_per_parameter_token = 6;

/// Loss of N parameters trained on D tokens. @pre both positive.
double loss_of(ChinchillaLaw const& law, double parameters, double tokens);

/// The N and D with 6 N D = C that minimise the loss:
/// G = (alpha A / (beta B))^(1/(alpha+beta)), N = G (C/6)^(beta/(alpha+beta)), D = (C/6)^(alpha/(alpha+beta)) / G.
/// @pre flops, A, B, alpha and beta positive. Source: Hoffmann et al., arXiv:2203.15556, equation 4.
ScalingPoint compute_optimum(ChinchillaLaw const& law, double flops);

/// The compute whose optimum has this loss: the inverse of `compute_optimum(...).loss`.
/// @throws InputError: the loss is not above E. @param where names the input in the message.
double flops_for_loss(ChinchillaLaw const& law, double loss, char const* where);

}  // namespace sextant
