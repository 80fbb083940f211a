#include "calibrate/scaling/law_study.hpp"

#include "core/error.hpp"
#include "core/quantile.hpp"
#include "cost_models/scaling/chinchilla_law.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sextant {
namespace {

constexpr double look_ahead = 10;         // times the largest input
constexpr double most_below_floor = 0.1;  // of the rows

std::string_view form_of(LawProblem const& problem) { return problem.form->name; }

ChinchillaLaw chinchilla(std::span<double const> p) {
    return {.A = p[0], .B = p[1], .E = p[2], .alpha = p[3], .beta = p[4]};
}

double largest(std::vector<double> const& column) { return std::exp(*std::max_element(column.begin(), column.end())); }

std::vector<LawQuantity> chinchilla_quantities(double flops) {
    auto const at = [flops](std::span<double const> p) { return compute_optimum(chinchilla(p), flops); };
    return {{"tokens_per_parameter", [at](auto p) { return at(p).tokens / at(p).parameters; }},
            {"optimal_parameters", [at](auto p) { return at(p).parameters; }},
            {"optimal_tokens", [at](auto p) { return at(p).tokens; }},
            {"optimal_loss", [at](auto p) { return at(p).loss; }},
            {"N_exponent", [](auto p) { return p[4] / (p[3] + p[4]); }}};
}

/// Tokens that D tokens over `epochs` passes are worth, in unique ones.
LawQuantity worth_of(double epochs) {
    return {fmt::format("effective_epochs_of_{:g}", epochs),
            [epochs](auto p) { return 1 - p[5] * std::expm1(-(epochs - 1) / p[5]); }};
}

void add_intervals(LawStudy& study, bool with_profile) {
    LawForm const& form = *study.problem.form;
    std::vector<std::vector<double>> const resamples =
        study.bootstrap.enough() ? study.bootstrap.values : std::vector<std::vector<double>>();
    for (std::size_t k = 0; k < form.parameters.size(); ++k) {
        ParameterInterval p{.name = form.parameters[k].name, .value = study.fit.values[k]};
        p.fitted = !study.problem.fixed[k] && study.problem.equals[k] == k;
        if (!study.problem.fixed[k]) {
            std::vector<double> values;
            for (auto const& resample : resamples)
                values.push_back(resample[k]);
            add_interval(p, std::move(values));
        }
        if (p.fitted && with_profile && study.problem.objective.kind != ObjectiveKind::lad)
            p.profile = profile_interval(study.problem, study.fit, k, 0.95);
        study.parameters.push_back(std::move(p));
    }
    for (LawQuantity const& quantity : law_quantities(study.problem, study.flops)) {
        ParameterInterval q{.name = quantity.name, .value = quantity.value(study.fit.values)};
        std::vector<double> values;
        for (auto const& resample : resamples)
            values.push_back(quantity.value(resample));
        add_interval(q, std::move(values));
        study.quantities.push_back(std::move(q));
    }
}

double first_quantity(LawStudy const& study, std::vector<double> const& values) {
    return law_quantities(study.problem, study.flops).front().value(values);
}

void compare_objectives(LawStudy& study, LawFitOptions const& options, std::string const& where) {
    for (char const* text : {"huber:1e-3", "lad", "huber:1e-2", "lsq-log", "lsq-raw"}) {
        LawProblem other = study.problem;
        other.objective = fit_objective_from(text, "objective");
        LawFit fit = fit_law(other, options, where);
        double const quantity = first_quantity(study, fit.values);
        study.objectives.push_back({.objective = other.objective, .fit = std::move(fit), .quantity = quantity});
    }
}

LawProblem subset(LawProblem const& problem, std::vector<int> const& kept) { return resampled(problem, kept); }

/// Refits without each of the rows whose pull on the parameters, in units of their spread, is largest.
void find_influence(LawStudy& study) {
    constexpr std::size_t tried = 12;
    constexpr std::size_t shown = 5;
    LawEvaluator evaluate(study.problem);
    std::size_t const count = study.fit.unknowns.size();
    std::vector<double> gradient(count);
    evaluate(study.fit.unknowns, gradient);
    std::vector<double> const spreads = curvature_spreads(study.problem, study.fit);
    std::vector<std::pair<double, std::size_t>> pulls;
    for (std::size_t i = 0; i < study.problem.rows(); ++i) {
        double pull = 0;
        for (std::size_t k = 0; k < count; ++k)
            pull += std::pow(evaluate.jacobian()[i * count + k] * spreads[k], 2);
        double const slope = study.problem.objective.slope(evaluate.residuals()[i]);
        pulls.emplace_back(std::sqrt(pull) * std::abs(slope), i);
    }
    std::size_t const most = std::min(tried, pulls.size());
    std::partial_sort(pulls.begin(), pulls.begin() + static_cast<std::ptrdiff_t>(most), pulls.end(), std::greater<>());
    double const with = first_quantity(study, study.fit.values);
    for (std::size_t k = 0; k < most; ++k) {
        std::vector<int> kept(study.problem.rows(), 1);
        kept[pulls[k].second] = 0;
        LawFit const without = refit_law(subset(study.problem, kept), study.fit);
        study.influence.push_back({.row = pulls[k].second,
                                   .residual = study.fit.residuals[pulls[k].second],
                                   .quantity = first_quantity(study, without.values)});
    }
    std::stable_sort(study.influence.begin(), study.influence.end(), [with](auto const& a, auto const& b) {
        return std::abs(std::log(a.quantity / with)) > std::abs(std::log(b.quantity / with));
    });
    if (study.influence.size() > shown) study.influence.resize(shown);
}

BackTest back_test(LawStudy const& study, std::vector<double> const& flops, double cut, LawFitOptions const& options,
                   std::string const& where) {
    std::vector<int> below(flops.size());
    for (std::size_t i = 0; i < flops.size(); ++i)
        below[i] = flops[i] < cut ? 1 : 0;
    LawProblem const early = subset(study.problem, below);
    LawFit const fit = fit_law(early, options, where);
    LawEvaluator all(study.problem);
    all(all.map().unknowns(fit.values), {});
    std::vector<double> errors;
    std::vector<double> signed_errors;
    for (std::size_t i = 0; i < flops.size(); ++i) {
        if (below[i] != 0) continue;
        double const r = all.residuals()[i];
        double const relative = study.problem.objective.of_logarithms() ? std::expm1(r) : r / study.problem.measured[i];
        errors.push_back(100 * std::abs(relative));
        signed_errors.push_back(100 * relative);
    }
    std::sort(errors.begin(), errors.end());
    std::sort(signed_errors.begin(), signed_errors.end());
    return {.cut = cut,
            .fitted = early.rows(),
            .judged = errors.size(),
            .median_error_pct = quantile(errors, 0.5),
            .bias_pct = quantile(signed_errors, 0.5),
            .quantity = first_quantity(study, fit.values)};
}

void run_back_tests(LawStudy& study, std::vector<double> cuts, LawFitOptions const& options, std::string const& where) {
    std::vector<double> const flops = flops_of_rows(study.problem);
    if (flops.empty()) return;
    auto const [low, high] = std::minmax_element(flops.begin(), flops.end());
    if (cuts.empty())
        for (double cut = std::pow(10, std::ceil(std::log10(*low))); cut < *high; cut *= 10)
            cuts.push_back(cut);
    for (double const cut : cuts) {
        auto const below =
            static_cast<std::size_t>(std::count_if(flops.begin(), flops.end(), [cut](double c) { return c < cut; }));
        if (below < 2 * study.fit.unknowns.size() || flops.size() - below < 3) continue;
        try {
            study.back_tests.push_back(back_test(study, flops, cut, options, where));
        } catch (InputError const&) {  // the early rows alone do not carry the law
        }
    }
}

void refuse_rows_below_floor(LawStudy const& study, std::string const& where) {
    std::size_t floor = study.problem.form->parameters.size();
    for (std::size_t k = 0; k < floor; ++k) {
        std::string_view const name = study.problem.form->parameters[k].name;
        if (name == "E" || name == "Linf") floor = k;
    }
    if (floor == study.problem.form->parameters.size()) return;
    auto const below = std::count_if(study.problem.measured.begin(), study.problem.measured.end(),
                                     [&](double loss) { return loss < study.fit.values[floor]; });
    if (static_cast<double>(below) > most_below_floor * static_cast<double>(study.problem.rows()))
        throw InputError(
            "{}: {} of {} rows have a loss below the {} {} of {:.4g} (the law '{}' does not describe them)", where,
            below, study.problem.rows(), study.problem.fixed[floor] ? "given" : "fitted",
            study.problem.form->parameters[floor].name, study.fit.values[floor], study.problem.form->name);
}

}  // namespace

void add_interval(ParameterInterval& out, std::vector<double> values) {
    std::erase_if(values, [](double v) { return !std::isfinite(v); });
    if (values.size() < 20) return;
    out.at_80 = resample_interval(values, 0.8);
    out.at_95 = resample_interval(values, 0.95);
    std::sort(values.begin(), values.end());
    out.median = quantile(values, 0.5);
    double const mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    double sum = 0;
    for (double const v : values)
        sum += (v - mean) * (v - mean);
    out.standard_error = std::sqrt(sum / static_cast<double>(values.size() - 1));
}

std::vector<double> flops_of_rows(LawProblem const& problem) {
    std::vector<double> out;
    auto const& inputs = problem.form->inputs;
    if (std::string_view(inputs[0]) == "flops")
        for (double const c : problem.inputs.columns[0])
            out.push_back(std::exp(c));
    else if (inputs.size() > 1 && std::string_view(inputs[1]) == "tokens")
        for (std::size_t i = 0; i < problem.rows(); ++i)
            out.push_back(training_flops_per_parameter_token *
                          std::exp(problem.inputs.columns[0][i] + problem.inputs.columns[1][i]));
    return out;
}

std::vector<LawQuantity> law_quantities(LawProblem const& problem, double flops) {
    std::string_view const form = form_of(problem);
    if (form == "chinchilla") return chinchilla_quantities(flops);
    LawForm const* law = problem.form;
    auto const output_at = [law](std::string name, std::vector<double> inputs) {
        return LawQuantity{std::move(name),
                           [law, inputs](std::span<double const> p) { return law_value(*law, p, inputs); }};
    };
    if (form == "compute") return {output_at("loss_at_flops", {flops})};
    if (form == "overtraining") {
        auto const at = [&](double ratio) {
            double const n = std::sqrt(flops / (training_flops_per_parameter_token * ratio));
            return output_at(fmt::format("loss_at_{:g}_tokens_per_parameter", ratio), {n, ratio * n});
        };
        return {at(20), at(320)};
    }
    if (form == "data-constrained") return {worth_of(4), worth_of(16), worth_of(40)};
    if (form == "batch-steps") return {{"noise_scale", [](auto p) { return p[1] / p[0]; }}};
    std::vector<double> inputs;
    for (std::size_t c = 0; c < problem.inputs.columns.size(); ++c) {
        std::string_view const name = law->inputs[c];
        bool const grows = name == "parameters" || name == "tokens";
        inputs.push_back((grows ? look_ahead : 1) * largest(problem.inputs.columns[c]));
    }
    return {output_at(fmt::format("{}_at_ten_times_the_largest", law->output_name), inputs)};
}

LawStudy study_law(LawProblem problem, LawStudyOptions const& options, std::string const& where) {
    LawStudy study;
    study.problem = std::move(problem);
    study.fit = fit_law(study.problem, options.fit, where);
    std::vector<double> const flops = flops_of_rows(study.problem);
    study.flops = options.flops;
    if (study.flops <= 0 && !flops.empty()) study.flops = look_ahead * *std::max_element(flops.begin(), flops.end());
    if (!study.fit.converged) {
        study.warnings = law_warnings(study);
        return study;
    }
    refuse_rows_below_floor(study, where);
    if (options.bootstrap.resamples > 0 && study.problem.rows() > study.fit.unknowns.size())
        study.bootstrap = bootstrap_law(study.problem, study.fit, options.bootstrap);
    add_intervals(study, options.profile && study.problem.rows() > study.fit.unknowns.size());
    if (options.diagnostics && study.problem.rows() > study.fit.unknowns.size()) {
        compare_objectives(study, options.fit, where);
        find_influence(study);
        run_back_tests(study, options.cuts, options.fit, where);
    }
    study.warnings = law_warnings(study);
    return study;
}

}  // namespace sextant
