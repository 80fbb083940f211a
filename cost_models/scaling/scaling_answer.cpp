#include "cost_models/scaling/scaling_answer.hpp"

#include "core/error.hpp"
#include "cost_models/scaling/expert_laws.hpp"
#include "cost_models/scaling/law_form.hpp"
#include "cost_models/scaling/repeated_data.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

namespace sextant {
namespace {

ScalingAnswer answer_from(PublishedLaw const& law) {
    return {.name = law.name,
            .form = law.law.law,
            .title = law.law.title,
            .basis = law.law.basis,
            .source = law.law.source,
            .counting = law.law.counting,
            .warnings = law.law.warnings};
}

/// The law in N and D at the setting; nothing for a form that has no such thing.
std::optional<ChinchillaLaw> in_size_and_tokens(FittedLaw const& law, LawSetting const& setting,
                                                std::string const& where) {
    if (law.law == "precision") return at_precision(law, setting.bits);
    if (law.law == "moe-joint") return at_experts(law, setting.experts);
    if (law.law == "moe-granularity") return at_granularity(law, setting.granularity);
    if (has_chinchilla_form(law)) return chinchilla_of(law, where);
    return std::nullopt;
}

/// The same for every resample.
std::vector<ChinchillaLaw> resampled(FittedLaw const& law, LawSetting const& setting) {
    if (law.law == "chinchilla" || law.law == "overtraining") return chinchilla_resamples(law);
    std::vector<ChinchillaLaw> out;
    for (std::size_t i = 0; i < law.resamples.size(); ++i)
        if (auto const one = in_size_and_tokens(law.resample(i), setting, law.title)) out.push_back(*one);
    return out;
}

void add_distance(ScalingAnswer& answer, FittedLaw const& law) {
    double const flops = training_flops_per_parameter_token * answer.parameters * answer.tokens;
    answer.outside = extrapolations(law, flops, answer.parameters, answer.tokens);
    answer.outside_factor = law.ranges.empty() ? 0 : 1;
    for (Extrapolation const& e : answer.outside)
        answer.outside_factor = std::max(answer.outside_factor, e.factor);
}

bool is_allocation(FittedLaw const& law) {
    return law.law == "allocation" || law.law == "isoflop" || law.law == "envelope";
}

/// N and D of a law that only divides C; without a loss.
ScalingPoint divided(FittedLaw const& law, double flops) {
    auto const has = [&](char const* name) {
        return std::find(law.names.begin(), law.names.end(), name) != law.names.end();
    };
    double const amount = flops / (has("flops_unit") ? law.value("flops_unit") : 1);
    double const n = law.value("N_coef") * std::pow(amount, law.value("N_exponent"));
    double const d = has("D_coef") ? law.value("D_coef") * std::pow(amount, law.value("D_exponent"))
                                   : flops / (training_flops_per_parameter_token * n);
    return {.parameters = n, .tokens = d};
}

void require_usable(ScalingAnswer const& answer, std::string const& where) {
    bool const usable = std::isnormal(answer.parameters) && std::isnormal(answer.tokens) && answer.parameters > 0 &&
                        answer.tokens > 0 && (!answer.loss || std::isfinite(*answer.loss));
    if (!usable)
        throw InputError("{}: the law '{}' has no finite answer here (N {}, D {})", where, answer.name,
                         answer.parameters, answer.tokens);
}

void add_intervals(ScalingAnswer& answer, std::vector<ScalingPoint> const& points) {
    auto const over = [&](auto const& value) {
        std::vector<double> values;
        values.reserve(points.size());
        for (ScalingPoint const& point : points)
            values.push_back(value(point));
        auto const interval = interval_of(std::move(values));
        // A fit that held what this answer depends on says nothing about its uncertainty.
        bool const varies = interval && interval->high95 - interval->low95 > 1e-12 * std::abs(interval->median);
        return varies ? interval : std::nullopt;
    };
    answer.parameters_interval = over([](ScalingPoint const& p) { return p.parameters; });
    answer.tokens_interval = over([](ScalingPoint const& p) { return p.tokens; });
    answer.ratio_interval = over([](ScalingPoint const& p) { return p.tokens / p.parameters; });
    if (answer.loss) answer.loss_interval = over([](ScalingPoint const& p) { return p.loss; });
}

/// The form of the law if its inputs are among those of a question; null otherwise.
LawForm const* loss_form(FittedLaw const& law) {
    for (LawForm const* form : law_form_catalog())
        if (law.law == form->name && std::string_view(form->output_name) == "loss") return form;
    return nullptr;
}

double input_named(std::string_view name, double parameters, double tokens, LawSetting const& setting) {
    if (name == "parameters") return parameters;
    if (name == "tokens") return tokens;
    if (name == "unique_tokens") return setting.unique_tokens > 0 ? setting.unique_tokens : tokens;
    if (name == "flops") return training_flops_per_parameter_token * parameters * tokens;
    if (name == "experts") return setting.experts;
    if (name == "granularity") return setting.granularity;
    if (name == "weight_bits") return setting.bits.weights;
    if (name == "activation_bits") return setting.bits.activations;
    if (name == "cache_bits") return setting.bits.kv_cache;
    return std::numeric_limits<double>::quiet_NaN();  // an input that no question has: refused as not finite
}

double form_loss(LawForm const& form, FittedLaw const& law, double parameters, double tokens,
                 LawSetting const& setting) {
    std::vector<double> values;
    for (LawParameter const& parameter : form.parameters)
        values.push_back(law.value(parameter.name));
    std::vector<double> inputs;
    for (char const* name : form.inputs)
        inputs.push_back(input_named(name, parameters, tokens, setting));
    return law_value(form, values, inputs);
}

double kaplan_loss(FittedLaw const& law, double parameters, double tokens) {
    double const alpha_d = law.value("alpha_D");
    return std::pow(std::pow(law.value("N_c") / parameters, law.value("alpha_N") / alpha_d) + law.value("D_c") / tokens,
                    alpha_d);
}

double loss_by(FittedLaw const& law, double parameters, double tokens, LawSetting const& setting,
               std::string const& where) {
    if (law.law == "data-constrained" && setting.unique_tokens > 0)
        return loss_of(repeated_data_of(law, where), parameters, tokens, setting.unique_tokens);
    if (auto const simple = in_size_and_tokens(law, setting, where)) return loss_of(*simple, parameters, tokens);
    if (LawForm const* form = loss_form(law)) return form_loss(*form, law, parameters, tokens, setting);
    return kaplan_loss(law, parameters, tokens);
}

}  // namespace

bool divides_a_budget(FittedLaw const& law) {
    return has_chinchilla_form(law) || is_allocation(law) || law.law == "moe-joint";
}

ScalingAnswer optimum_answer(PublishedLaw const& law, double flops, LawSetting const& setting,
                             std::string const& where) {
    if (!divides_a_budget(law.law))
        throw InputError(
            "{}: '{}' is a law of form '{}' (chinchilla, data-constrained, overtraining, precision, "
            "moe-joint, isoflop, envelope and allocation have a compute optimum)",
            where, law.name, law.law.law);
    ScalingAnswer answer = answer_from(law);
    answer.chinchilla = in_size_and_tokens(law.law, setting, where);
    ScalingPoint best;
    std::vector<ScalingPoint> points;  // of the resamples
    if (answer.chinchilla) {
        best = compute_optimum(*answer.chinchilla, flops);
        answer.loss = best.loss;
        for (ChinchillaLaw const& one : resampled(law.law, setting))
            points.push_back(compute_optimum(one, flops));
    } else {
        best = divided(law.law, flops);
        for (std::size_t i = 0; i < law.law.resamples.size(); ++i)
            points.push_back(divided(law.law.resample(i), flops));
    }
    answer.parameters = best.parameters;
    answer.tokens = best.tokens;
    add_intervals(answer, points);
    require_usable(answer, where);
    add_distance(answer, law.law);
    return answer;
}

bool predicts_a_loss(FittedLaw const& law) {
    return has_chinchilla_form(law) || law.law == "moe-joint" || law.law == "kaplan" || loss_form(law) != nullptr;
}

ScalingAnswer loss_answer(PublishedLaw const& law, double parameters, double tokens, LawSetting const& setting,
                          std::string const& where) {
    if (!predicts_a_loss(law.law))
        throw InputError("{}: '{}' is a law of form '{}', which gives no loss", where, law.name, law.law.law);
    ScalingAnswer answer = answer_from(law);
    answer.parameters = parameters;
    answer.tokens = tokens;
    answer.chinchilla = in_size_and_tokens(law.law, setting, where);
    answer.loss = loss_by(law.law, parameters, tokens, setting, where);
    require_usable(answer, where);
    std::vector<double> losses;
    if (!law.law.resamples.empty() && has_chinchilla_form(law.law) && setting.unique_tokens == 0)
        for (ChinchillaLaw const& one : resampled(law.law, setting))
            losses.push_back(loss_of(one, parameters, tokens));
    else
        for (std::size_t i = 0; i < law.law.resamples.size(); ++i)
            losses.push_back(loss_by(law.law.resample(i), parameters, tokens, setting, where));
    answer.loss_interval = interval_of(std::move(losses));
    add_distance(answer, law.law);
    return answer;
}

double flops_of_loss(PublishedLaw const& law, double loss, LawSetting const& setting, std::string const& where) {
    auto const simple = in_size_and_tokens(law.law, setting, where);
    if (!simple || !divides_a_budget(law.law))
        throw InputError("{}: the law '{}' of form '{}' has no loss at its optimum (name one that has with --law)",
                         where, law.name, law.law.law);
    return flops_for_loss(*simple, loss, where.c_str());
}

}  // namespace sextant
