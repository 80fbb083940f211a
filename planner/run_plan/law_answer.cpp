#include "core/quantity_text.hpp"
#include "cost_models/scaling/law_interval.hpp"
#include "cost_models/scaling/published_laws.hpp"
#include "planner/run_plan/run_plan.hpp"

#include <fmt/format.h>

#include <cmath>

namespace sextant {
namespace {

/// A value of the law, and of each of its resamples.
template <class Of>
WithInterval with_interval(ChinchillaLaw const& law, std::vector<ChinchillaLaw> const& resamples, Of of) {
    WithInterval result{.value = of(law)};
    std::vector<double> values;
    values.reserve(resamples.size());
    for (ChinchillaLaw const& resample : resamples)
        values.push_back(of(resample));
    if (auto const interval = interval_of(std::move(values))) {
        result.low = interval->low80;
        result.high = interval->high80;
    }
    return result;
}

}  // namespace

LawAnswer ask_law(FittedLaw const& fitted, double parameters, double tokens) {
    ChinchillaLaw const law = chinchilla_of(fitted, "--law");
    std::vector<ChinchillaLaw> const resamples = chinchilla_resamples(fitted);
    LawAnswer answer;
    answer.flops = training_flops_per_parameter_token * parameters * tokens;
    answer.resamples = resamples.size();
    auto const at_optimum = [&](auto member) {
        return with_interval(law, resamples,
                             [&](ChinchillaLaw const& l) { return member(compute_optimum(l, answer.flops)); });
    };
    answer.parameters = at_optimum([](ScalingPoint const& p) { return p.parameters; });
    answer.tokens = at_optimum([](ScalingPoint const& p) { return p.tokens; });
    answer.tokens_per_parameter = at_optimum([](ScalingPoint const& p) { return p.tokens / p.parameters; });
    answer.loss = at_optimum([](ScalingPoint const& p) { return p.loss; });
    answer.run_loss =
        with_interval(law, resamples, [&](ChinchillaLaw const& l) { return loss_of(l, parameters, tokens); });
    answer.twenty_parameters = std::sqrt(answer.flops / (20 * training_flops_per_parameter_token));
    answer.twenty_tokens = 20 * answer.twenty_parameters;
    answer.twenty_loss = loss_of(law, answer.twenty_parameters, answer.twenty_tokens);
    answer.warnings = fitted.warnings;
    for (Extrapolation const& e : extrapolations(fitted, 0, parameters, tokens))
        answer.warnings.push_back(fmt::format(
            "{} {} is {:.3g} times {} that the law was fitted to{}", human_count(e.value), e.input, e.factor,
            e.above ? "above the largest" : "below the smallest", e.factor > far_extrapolation ? ": a guess" : ""));
    return answer;
}

}  // namespace sextant
