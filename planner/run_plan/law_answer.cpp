#include "core/quantity_text.hpp"
#include "cost_models/scaling/scaling_answer.hpp"
#include "planner/run_plan/run_plan.hpp"

#include <fmt/format.h>

#include <cmath>

namespace sextant {
namespace {

constexpr char const* where = "--law";
constexpr double six = training_flops_per_parameter_token;

PublishedLaw named(FittedLaw const& law) { return {.name = law.title, .law = law}; }

PublishedLaw without_resamples(FittedLaw const& law) {
    PublishedLaw one = named(law);
    one.law.resamples.clear();
    return one;
}

WithInterval with_interval(double value, std::optional<LawInterval> const& interval) {
    if (!interval) return {.value = value};
    return {.value = value, .low = interval->low80, .high = interval->high80};
}

void fill_optimum(LawAnswer& answer, FittedLaw const& law) {
    ScalingAnswer const best = optimum_answer(named(law), answer.flops, {}, where);
    answer.parameters = with_interval(best.parameters, best.parameters_interval);
    answer.tokens = with_interval(best.tokens, best.tokens_interval);
    answer.tokens_per_parameter = with_interval(best.ratio(), best.ratio_interval);
    if (best.loss) answer.loss = with_interval(*best.loss, best.loss_interval);
}

}  // namespace

double optimal_size(FittedLaw const& law, double flops) {
    return optimum_answer(without_resamples(law), flops, {}, where).parameters;
}

double loss_by_law(FittedLaw const& law, double parameters, double tokens) {
    if (!predicts_a_loss(law)) return 0;
    return loss_answer(without_resamples(law), parameters, tokens, {}, where).loss.value_or(0);
}

LawAnswer ask_law(FittedLaw const& law, double parameters, double tokens) {
    LawAnswer answer;
    answer.flops = six * parameters * tokens;
    answer.resamples = law.resamples.size();
    if (divides_a_budget(law)) fill_optimum(answer, law);
    answer.twenty_parameters = std::sqrt(answer.flops / (20 * six));
    answer.twenty_tokens = 20 * answer.twenty_parameters;
    if (predicts_a_loss(law)) {
        ScalingAnswer const run = loss_answer(named(law), parameters, tokens, {}, where);
        answer.run_loss = with_interval(run.loss.value_or(0), run.loss_interval);
        answer.twenty_loss = loss_by_law(law, answer.twenty_parameters, answer.twenty_tokens);
    }
    answer.warnings = law.warnings;
    bool const by_size = law.ranges.contains("parameters") || law.ranges.contains("tokens");
    for (Extrapolation const& e : extrapolations(law, by_size ? 0 : answer.flops, parameters, tokens))
        answer.warnings.push_back(fmt::format("{} {} is {:.3g} times {} that the law was fitted to{}",
                                              human_count(e.value), e.input == "flops" ? "FLOPs" : e.input, e.factor,
                                              e.above ? "above the largest" : "below the smallest",
                                              e.factor > far_extrapolation ? ": a guess" : ""));
    return answer;
}

}  // namespace sextant
