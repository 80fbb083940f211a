#pragma once

#include "cost_models/scaling/chinchilla_law.hpp"

namespace sextant {

/// What it costs to divide a budget otherwise than the law would.
struct AllocationPenalty {
    ScalingPoint point;
    ScalingPoint optimum;       ///< of the same compute
    double loss = 0;            ///< loss of the point above that of the optimum
    double compute_needed = 1;  ///< compute whose optimum has the point's loss, as a share of the point's
};

/// N parameters and D tokens against the optimum of the same compute 6 N D.
/// @pre all positive. Source: Hoffmann et al., arXiv:2203.15556, equation 10, evaluated off the optimum.
AllocationPenalty allocation_penalty(ChinchillaLaw const& law, double parameters, double tokens);

/// N and D of a budget with a fixed ratio: N = sqrt(C / (6 r)), D = r N. With r = 20 the rule of thumb.
/// Source of the rule: Hoffmann et al., arXiv:2203.15556, table 3, as commonly read.
AllocationPenalty allocation_at_ratio(ChinchillaLaw const& law, double flops, double tokens_per_parameter);

/// Tokens for which `parameters` is the compute optimum: (beta B / (alpha A) N^alpha)^(1/beta).
double optimal_tokens(ChinchillaLaw const& law, double parameters);

/// Parameters for which `tokens` is the compute optimum: the inverse of `optimal_tokens`.
double optimal_parameters(ChinchillaLaw const& law, double tokens);

/// Tokens that bring `parameters` to `loss`: (B / (loss - E - A N^-alpha))^(1/beta); infinite when no number does.
double tokens_for_loss(ChinchillaLaw const& law, double parameters, double loss);

/// A model smaller or larger than the optimum, trained to the optimum's loss.
struct SizeTrade {
    double token_factor = 1;  ///< tokens over those of the optimum; infinite when no number of tokens suffices
    double overhead = 0;      ///< compute above that of the optimum, as a share of it
};

/// kD = [1 - (kN^-alpha - 1) beta / alpha]^(-1/beta), overhead = kN kD - 1: the same at every compute, because
/// alpha A N^-alpha = beta B D^-beta at the optimum. @pre size_factor > 0.
/// Source: de Vries, "Go smol or go home", 2023.
SizeTrade size_trade(ChinchillaLaw const& law, double size_factor);

/// Sizes that lose next to nothing at a budget.
struct FlatRegion {
    double parameters_low = 0;
    double parameters_high = 0;
    double tokens_low = 0;
    double tokens_high = 0;
};

/// The share of the loss below which two runs are taken for equal.
/// Source: arXiv:2401.02954 (DeepSeek LLM) and arXiv:2503.04715 (Step Law), both 0.25 %.
inline constexpr double equal_loss_share = 0.0025;

/// All N (with D = C / 6 N) whose loss is at most (1 + share) times that of the optimum.
FlatRegion flat_region(ChinchillaLaw const& law, double flops, double share = equal_loss_share);

}  // namespace sextant
