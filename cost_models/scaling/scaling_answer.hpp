#pragma once

#include "cost_models/scaling/allocation.hpp"
#include "cost_models/scaling/law_interval.hpp"
#include "cost_models/scaling/precision_law.hpp"
#include "cost_models/scaling/published_laws.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sextant {

/// Inputs besides N and D that some forms have. A form that has none of them ignores them.
struct LawSetting {
    double experts = 1;
    double granularity = 1;
    TrainingBits bits{};
    double unique_tokens = 0;  ///< 0: all tokens differ
};

/// What one law says to one question.
struct ScalingAnswer {
    std::string name;
    std::string form;
    std::string title;
    std::string basis;
    std::string source;
    std::string counting;
    std::optional<ChinchillaLaw> chinchilla{};  ///< absent for a form that only divides a budget, or has other inputs
    double parameters = 0;
    double tokens = 0;
    std::optional<double> loss{};
    std::optional<LawInterval> parameters_interval{};
    std::optional<LawInterval> tokens_interval{};
    std::optional<LawInterval> ratio_interval{};  ///< of tokens over parameters
    std::optional<LawInterval> loss_interval{};
    std::vector<std::string> warnings{};  ///< of the law
    /// Inputs outside what the law was fitted to, and the largest factor among them: 1 for none, 0 where the law does
    /// not say what it was fitted to.
    std::vector<Extrapolation> outside{};
    double outside_factor = 0;

    [[nodiscard]] double ratio() const { return tokens / parameters; }
};

/// Whether `optimum_answer` can take the law: it has a loss in N and D with C = 6 N D, or divides C itself.
[[nodiscard]] bool divides_a_budget(FittedLaw const& law);

/// N, D and loss of the compute optimum of 6 N D = C.
/// "allocation", and the results of fits "isoflop" and "envelope": N = N_coef (C / flops_unit)^N_exponent, D alike with
/// D_coef and D_exponent or else C / (6 N), without a loss.
/// @throws InputError: a form without an optimum, or an optimum that is not finite.
ScalingAnswer optimum_answer(PublishedLaw const& law, double flops, LawSetting const& setting,
                             std::string const& where);

/// Whether `loss_answer` can take the law.
[[nodiscard]] bool predicts_a_loss(FittedLaw const& law);

/// Loss of N parameters and D tokens. Form "kaplan": L = ((N_c/N)^(alpha_N/alpha_D) + D_c/D)^alpha_D
/// (arXiv:2001.08361 equation 1.5); the others as in `law_form_catalog` or their
/// headers, with C = 6 N D.
/// @throws InputError: a form that gives none, or a loss that is not finite.
ScalingAnswer loss_answer(PublishedLaw const& law, double parameters, double tokens, LawSetting const& setting,
                          std::string const& where);

/// The compute at which this law reaches a loss at its optimum. @throws InputError: the loss is not above E, or the
/// form has no loss.
double flops_of_loss(PublishedLaw const& law, double loss, LawSetting const& setting, std::string const& where);

}  // namespace sextant
