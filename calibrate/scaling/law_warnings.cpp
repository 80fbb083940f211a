#include "calibrate/scaling/law_study.hpp"

#include "core/quantile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

constexpr double unidentified_spread = 1;  // natural logarithms: a factor of e either way
constexpr double together = 0.99;          // correlation of ln N and ln D
constexpr double least_exponent = 0.01;
constexpr double most_exponent = 3;
constexpr double objectives_differ = 1.25;
constexpr double far_extrapolation = 100;
constexpr double outlier_at = 12;  // times the median of |residual|

using Warnings = std::vector<std::string>;

void warn_of_rows(LawStudy const& study, Warnings& out) {
    std::size_t const free = study.fit.unknowns.size();
    if (study.problem.rows() <= 2 * free)
        out.push_back(
            fmt::format("{} rows for {} parameters: a fit through nearly every point; its intervals say too little",
                        study.problem.rows(), free));
    std::vector<double> sizes;
    for (double const r : study.fit.residuals)
        sizes.push_back(std::abs(r));
    std::sort(sizes.begin(), sizes.end());
    double const limit = outlier_at * quantile(sizes, 0.5);
    auto const count = std::count_if(sizes.begin(), sizes.end(), [limit](double r) { return r > limit; });
    if (count > 0 && study.problem.rows() > 3 * free && limit > 1e-9)
        out.push_back(
            fmt::format("{} row{} lie{} more than {:g} times the median distance from the law; compare the objectives",
                        count, count == 1 ? "" : "s", count == 1 ? "s" : "", outlier_at));
}

void warn_of_parameters(LawStudy const& study, Warnings& out) {
    LawForm const& form = *study.problem.form;
    UnknownMap const map(study.problem);
    std::vector<double> const spreads = curvature_spreads(study.problem, study.fit);
    for (std::size_t k = 0; k < form.parameters.size(); ++k) {
        auto const unknown = map.unknown_of(k);
        if (!unknown || study.problem.equals[k] != k) continue;
        LawParameter const& parameter = form.parameters[k];
        double const value = study.fit.values[k];
        bool const logarithmic = parameter.scale == LawScale::logarithmic;
        bool open = logarithmic && spreads[*unknown] > unidentified_spread;
        if (k < study.parameters.size() && study.parameters[k].profile)
            open = open || study.parameters[k].profile->open_below || study.parameters[k].profile->open_above;
        std::string_view const name = parameter.name;
        if (open && (name == "E" || name == "Linf"))
            out.push_back(fmt::format(
                "{} is not identified by these rows: {:.4g} is where the curve was bent, not an entropy", name, value));
        else if (open)
            out.push_back(
                fmt::format("{} is not identified by these rows ({:.4g}; its interval has no end)", name, value));
        bool const exponent = !logarithmic && parameter.role == LawRole::shape;
        if (exponent && (value < least_exponent || value > most_exponent))
            out.push_back(fmt::format("{} is {:.3g}, at the edge of what the law means ({:g} to {:g})", name, value,
                                      least_exponent, most_exponent));
    }
}

void warn_of_design(LawStudy const& study, Warnings& out) {
    auto const design = size_token_design(study.problem);
    if (!design || std::abs(design->correlation) <= together) return;
    if (design->correlation > 0)
        out.push_back(
            fmt::format("parameters and tokens move together (correlation {:.4f}): how a budget divides between them "
                        "rests on little (vary D at the same N, or fit the loss alone with --law compute)",
                        design->correlation));
    else
        out.push_back(
            fmt::format("parameters and tokens move against each other (correlation {:.4f}), so the rows are of about "
                        "one compute level: how the optimum grows with compute rests on little (add rows of another)",
                        design->correlation));
}

void warn_of_basins(LawStudy const& study, Warnings& out) {
    LawFit const& fit = study.fit;
    if (fit.starts > 2 && fit.agreeing < 2)
        out.push_back(fmt::format("only {} of {} starts came to the lowest objective: try --starts {}", fit.agreeing,
                                  fit.starts, 10 * fit.starts));
    for (LawBasin const& other : fit.others)
        out.push_back(fmt::format("another minimum is {:.2g} % higher, at quite different parameters (see basins)",
                                  100 * (other.objective / fit.objective - 1)));
}

void warn_of_resamples(LawStudy const& study, Warnings& out) {
    Bootstrap const& bootstrap = study.bootstrap;
    auto const add = [&](int count, char const* what) {
        if (count > 0) out.push_back(fmt::format("{} of {} resamples {}", count, bootstrap.drawn(), what));
    };
    add(bootstrap.failed, "had no solution and are not in the intervals");
    add(bootstrap.too_few, "drew fewer different rows than there are parameters and are not in the intervals");
    if (!bootstrap.enough())
        out.push_back(
            "more than a fifth of the resamples are lost, so there are no bootstrap intervals: what is left of few "
            "rows "
            "holds nearly all of them (more rows, or --fix NAME=VALUE)");
}

/// The choice of objective is a choice of answer.
void warn_of_objectives(LawStudy const& study, Warnings& out) {
    double low = INFINITY;
    double high = 0;
    for (ObjectiveRow const& row : study.objectives) {
        if (!row.fit.converged) continue;
        low = std::min(low, row.quantity);
        high = std::max(high, row.quantity);
    }
    if (high > objectives_differ * low && low > 0)
        out.push_back(fmt::format("the choice of objective alone moves {} from {:.3g} to {:.3g}",
                                  study.quantities.empty() ? "the answer" : study.quantities.front().name, low, high));
}

void warn_of_extrapolation(LawStudy const& study, Warnings& out) {
    std::vector<double> const flops = flops_of_rows(study.problem);
    if (flops.empty()) return;
    double const most = *std::max_element(flops.begin(), flops.end());
    if (study.flops > far_extrapolation * most)
        out.push_back(fmt::format("{:.3g} FLOPs is {:.0f} times the largest run that was fitted", study.flops,
                                  study.flops / most));
}

}  // namespace

std::vector<std::string> law_warnings(LawStudy const& study) {
    Warnings out;
    if (study.fit.unknowns.empty()) return out;
    warn_of_rows(study, out);
    warn_of_parameters(study, out);
    warn_of_design(study, out);
    warn_of_basins(study, out);
    warn_of_resamples(study, out);
    warn_of_objectives(study, out);
    warn_of_extrapolation(study, out);
    return out;
}

}  // namespace sextant
