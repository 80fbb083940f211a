#include "calibrate/scaling/law_fit.hpp"

#include "core/error.hpp"
#include "core/parallel_for.hpp"
#include "core/quantile.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace sextant {
namespace {

constexpr double agrees_within = 1e-8;
constexpr double exact_fit = 1e-20;  // of each row: rows without noise leave only rounding
constexpr double basin_within = 1e-2;
constexpr double same_ratio = 0.1;    // natural logarithms: tokens within a tenth of a line over the sizes
constexpr double same_within = 1e-3;  // of an unknown, relative to its size or absolute below one

bool varies(std::vector<double> const& values) {
    auto const [low, high] = std::minmax_element(values.begin(), values.end());
    return *high - *low > 1e-9 * std::max(1.0, std::abs(*high));
}

/// Inputs that may be the same in every row: a base law or a decay is still told by the others.
bool may_be_constant(std::string_view input) { return input == "unique_tokens"; }

/// Tokens per parameter.
double median_ratio(LawProblem const& problem) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < problem.rows(); ++i)
        ratios.push_back(problem.inputs.columns[1][i] - problem.inputs.columns[0][i]);
    std::sort(ratios.begin(), ratios.end());
    return std::exp(quantile(ratios, 0.5));
}

/// Whether N and D go together in all rows: with a line of slope s in the logarithms, the terms A N^-alpha and
/// B D^-beta = B' N^-(s beta) can change places, so no such rows tell A from B. Held coefficients or exponents may.
bool terms_change_places(LawProblem const& problem) {
    std::string_view const form = problem.form->name;
    auto const design = size_token_design(problem);
    if ((form != "chinchilla" && form != "overtraining") || !design) return false;
    for (std::size_t k = 0; k < problem.fixed.size(); ++k)
        if (problem.fixed[k] && std::string_view(problem.form->parameters[k].name) != "E") return false;
    return design->correlation > 0 && design->scatter < same_ratio;
}

void check(LawProblem const& problem, UnknownMap const& map, std::string const& where) {
    if (problem.rows() == 0) throw InputError("{}: no usable rows", where);
    if (problem.rows() < map.free())
        throw InputError("{}: {} rows for {} parameters of the law '{}' (fix some with --fix NAME=VALUE, or give more)",
                         where, problem.rows(), map.free(), problem.form->name);
    for (double const value : problem.measured)
        if (!(std::isfinite(value) && value > 0))
            throw InputError("{}: a {} of {} (it must be positive)", where, problem.form->output_name, value);
    if (map.free() == 0) return;
    if (!varies(problem.measured))
        throw InputError("{}: the {} is {} in every row, nothing can be fitted to it", where, problem.form->output_name,
                         problem.measured.front());
    for (std::size_t c = 0; c < problem.inputs.columns.size(); ++c)
        if (!may_be_constant(problem.form->inputs[c]) && !varies(problem.inputs.columns[c]) &&
            !std::isinf(problem.inputs.columns[c].front()))
            throw InputError("{}: {} is {:.6g} in every row, so the law '{}' cannot be told from these rows", where,
                             problem.form->inputs[c], std::exp(problem.inputs.columns[c].front()), problem.form->name);
    if (terms_change_places(problem))
        throw InputError(
            "{}: tokens follow from parameters in these rows (median D/N {:.4g}), so the law '{}' cannot be told from "
            "them (give rows with other D at the same N, or fit the loss alone with --law compute)",
            where, median_ratio(problem), problem.form->name);
}

bool same_place(std::vector<double> const& a, std::vector<double> const& b) {
    for (std::size_t k = 0; k < a.size(); ++k)
        if (std::abs(a[k] - b[k]) > same_within * std::max(1.0, std::abs(a[k]))) return false;
    return true;
}

LawFit best_of(LawProblem const& problem, std::vector<LawMinimum> minima) {
    std::stable_sort(minima.begin(), minima.end(), [](LawMinimum const& a, LawMinimum const& b) {
        return std::pair(!std::isfinite(a.objective), a.objective) <
               std::pair(!std::isfinite(b.objective), b.objective);
    });
    LawEvaluator evaluate(problem);
    double const left_by_rounding = exact_fit * static_cast<double>(problem.rows());
    // Of equally low places one that has converged.
    std::size_t first = 0;
    while (first + 1 < minima.size() && !minima[first].converged &&
           minima[first + 1].objective <= minima[0].objective * (1 + agrees_within) + left_by_rounding)
        ++first;
    if (!minima[first].converged) first = 0;
    LawMinimum const& best = minima[first];
    LawFit fit{.values = evaluate.map().values(best.unknowns),
               .unknowns = best.unknowns,
               .objective = best.objective,
               .converged = best.converged,
               .remaining = best.remaining,
               .starts = static_cast<int>(minima.size())};
    std::vector<LawMinimum const*> places;
    for (LawMinimum const& m : minima) {
        if (m.objective <= best.objective * (1 + agrees_within) + left_by_rounding) {
            ++fit.agreeing;
            continue;
        }
        if (!(m.objective <= best.objective * (1 + basin_within)) || !m.converged ||
            same_place(m.unknowns, best.unknowns))
            continue;
        auto const known = std::find_if(places.begin(), places.end(),
                                        [&](LawMinimum const* p) { return same_place(p->unknowns, m.unknowns); });
        if (known != places.end()) {
            ++fit.others[static_cast<std::size_t>(known - places.begin())].starts;
            continue;
        }
        places.push_back(&m);
        fit.others.push_back({.values = evaluate.map().values(m.unknowns), .objective = m.objective, .starts = 1});
    }
    evaluate(fit.unknowns, {});
    fit.residuals.assign(evaluate.residuals().begin(), evaluate.residuals().end());
    return fit;
}

}  // namespace

LawFit fit_law(LawProblem const& problem, LawFitOptions const& options, std::string const& where) {
    check(problem, UnknownMap(problem), where);
    std::vector<std::vector<double>> const starts =
        screen_starts(problem, static_cast<std::size_t>(std::max(1, options.starts)));
    std::vector<LawMinimum> minima(starts.size());
    parallel_for(static_cast<std::int64_t>(starts.size()), options.threads, [&](std::int64_t i) {
        auto const at = static_cast<std::size_t>(i);
        minima[at] = minimise_law(problem, starts[at]);
    });
    return best_of(problem, std::move(minima));
}

LawFit refit_law(LawProblem const& problem, LawFit const& from) {
    UnknownMap const map(problem);
    std::vector<LawMinimum> minima{minimise_law(problem, map.unknowns(from.values))};
    for (LawBasin const& other : from.others)
        minima.push_back(minimise_law(problem, map.unknowns(other.values)));
    return best_of(problem, std::move(minima));
}

}  // namespace sextant
