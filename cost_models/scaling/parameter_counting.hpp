#pragma once

#include "cost_models/scaling/chinchilla_law.hpp"

namespace sextant {

/// Parameters with embeddings of a transformer of the usual shape with N without: N + 47491 N^(1/3).
/// Source: Pearce and Song, arXiv:2406.12907 (vocabulary and context of the Chinchilla models).
double with_embeddings(double non_embedding);

/// A compute optimum in Kaplan's count: N and C = 6 N D without embeddings, the loss by the total.
struct CountedOptimum {
    ScalingPoint point;  ///< N without embeddings
    double total_parameters = 0;
    double flops = 0;           ///< 6 N D without embeddings
    double local_exponent = 0;  ///< d ln N / d ln C here
};

/// The optimum whose N without embeddings this is. With T = N + w N^(1/3) and e = d ln T / d ln N the optimum has
/// beta B D^-beta = alpha A T^-alpha e, so d ln D / d ln N = (alpha e - d ln e / d ln N) / beta.
/// Source: Pearce and Song, arXiv:2406.12907.
CountedOptimum non_embedding_optimum(ChinchillaLaw const& law, double non_embedding);

/// The same for a budget of 6 N D without embeddings. @pre positive.
CountedOptimum non_embedding_optimum_of(ChinchillaLaw const& law, double flops);

/// What a straight line through the optima of models of these sizes shows: the least-squares slope of ln N over ln C, N
/// without embeddings and even in its logarithm. @pre 0 < low < high.
double apparent_exponent(ChinchillaLaw const& law, double low, double high);

/// Sizes of Kaplan et al.'s runs, without embeddings. Source: arXiv:2001.08361, section 3.
inline constexpr double kaplan_smallest = 768;
inline constexpr double kaplan_largest = 1.5e9;

}  // namespace sextant
