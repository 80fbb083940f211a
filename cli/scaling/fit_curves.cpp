#include "cli/options/number_text.hpp"
#include "cli/scaling/fit.hpp"
#include "core/error.hpp"
#include "core/parallel_for.hpp"
#include "core/random_stream.hpp"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

namespace sextant::cli {
namespace {

/// Parameters of a fit to some of the rows.
using RowFit = std::function<std::vector<double>(std::vector<std::size_t> const& rows)>;

/// Positions of one draw.
using RowDraw = std::function<std::vector<std::size_t>(RandomStream random)>;

/// Rows drawn within their strata.
RowDraw within(std::vector<std::size_t> strata) {
    return [strata = std::move(strata)](RandomStream random) { return stratified_draw(strata, random); };
}

/// The fit to all rows, and to draws of them; a draw that cannot be fitted is left out.
void with_intervals(ScalingFitRequest const& request, ScalingFitReport& report, std::vector<std::string> const& names,
                    RowDraw const& draw, std::vector<double> const& values, RowFit const& fit) {
    std::vector<std::vector<double>> draws(static_cast<std::size_t>(request.resamples));
    parallel_for(request.resamples, request.threads, [&](std::int64_t i) {
        try {
            draws[static_cast<std::size_t>(i)] =
                fit(draw(resample_stream(request.seed, static_cast<std::uint64_t>(i))));
        } catch (InputError const&) {  // too few levels in this draw
        }
    });
    std::erase_if(draws, [](auto const& values_of_draw) { return values_of_draw.empty(); });
    for (std::size_t k = 0; k < names.size(); ++k) {
        ParameterInterval p{.name = names[k], .value = values[k]};
        std::vector<double> column;
        for (auto const& drawn : draws)
            column.push_back(drawn[k]);
        add_interval(p, std::move(column));
        report.parameters.push_back(std::move(p));
    }
    report.resamples = std::move(draws);
    report.rows_used = report.table.rows();
}

template <class Row>
std::vector<Row> picked(std::vector<Row> const& rows, std::vector<std::size_t> const& positions) {
    std::vector<Row> out;
    for (std::size_t const i : positions)
        out.push_back(rows[i]);
    return out;
}

std::vector<double> parameters_of(PowerLaw const& size, PowerLaw const& data) {
    return {size.coefficient, size.exponent, data.coefficient, data.exponent};
}

std::vector<std::string> const allocation_names{"N_coef", "N_exponent", "D_coef", "D_exponent"};

IsoflopOptions isoflop_options(ScalingFitRequest const& request) {
    IsoflopOptions options{.tolerance = request.budget_tolerance};
    if (!(options.tolerance > 0 && options.tolerance <= 1))
        throw InputError("--budget-tolerance: {} decades (above 0, at most 1)", options.tolerance);
    if (!request.budgets.empty() && request.budgets != "auto")
        options.budgets = counts_from(request.budgets, "--budgets");
    if (request.window != "all") options.window = count_from(request.window, "--window");
    if (request.parabola_of == "log-loss")
        options.of = ParabolaOf::log_loss;
    else if (request.parabola_of != "loss")
        throw InputError("--parabola-of: '{}' (loss or log-loss)", request.parabola_of);
    return options;
}

/// What a construction would find if a fitted surface were the truth: the same sizes and budgets, losses without noise.
void estimate_bias(ScalingFitRequest const& request, ScalingFitReport& report, std::vector<IsoflopRow> rows,
                   std::function<PowerLaw(std::vector<IsoflopRow> const&)> const& size_law) {
    LawProblem problem =
        law_problem(find_law_form("chinchilla", "--law"), fit_objective_from(request.objective, "--objective"));
    for (IsoflopRow const& row : rows) {
        problem.inputs.columns[0].push_back(std::log(row.parameters));
        problem.inputs.columns[1].push_back(std::log(row.tokens));
        problem.measured.push_back(row.loss);
    }
    problem.inputs.rows = rows.size();
    try {
        LawFit const surface = fit_law(problem, {.starts = request.starts, .threads = request.threads}, request.data);
        if (!surface.converged || !(surface.values[3] > 0 && surface.values[4] > 0)) return;
        for (IsoflopRow& row : rows)
            row.loss = law_value(*problem.form, surface.values, std::vector<double>{row.parameters, row.tokens});
        report.surface_size = size_law(rows);
        report.surface_exponent = surface.values[4] / (surface.values[3] + surface.values[4]);
    } catch (InputError const&) {  // no surface through these rows
    }
}

}  // namespace

void fit_isoflop_law(ScalingFitRequest const& request, ScalingFitReport& report) {
    report.formula =
        "N* = N_coef C^N_exponent, D* = D_coef C^D_exponent, from parabolas of the loss over ln N at each C";
    report.source = "Hoffmann et al., arXiv:2203.15556, approach 2";
    std::vector<IsoflopRow> const rows = isoflop_rows(report.table);
    IsoflopOptions options = isoflop_options(request);
    report.isoflop = fit_isoflop(rows, options, request.data);
    options.budgets.clear();
    for (IsoflopVertex const& v : report.isoflop->vertices)
        options.budgets.push_back(v.flops);
    std::vector<IsoflopRow> used;
    std::vector<std::size_t> strata;
    for (IsoflopRow const& row : rows)
        for (std::size_t b = 0; b < options.budgets.size(); ++b)
            if (std::abs(std::log10(row.flops / options.budgets[b])) <= options.tolerance) {
                used.push_back(row);
                strata.push_back(b);
                break;
            }
    with_intervals(request, report, allocation_names, within(strata),
                   parameters_of(report.isoflop->size, report.isoflop->data), [&](auto const& positions) {
                       IsoflopFit const fit = fit_isoflop(picked(used, positions), options, request.data);
                       return parameters_of(fit.size, fit.data);
                   });
    report.rows_used = report.isoflop->rows;
    for (IsoflopVertex const& v : report.isoflop->vertices)
        if (!v.dropped.empty())
            report.warnings.push_back(fmt::format("{} FLOPs does not count: {}", power_text(v.flops), v.dropped));
    if (MixedRuns const mixed = mixed_runs(used); mixed.groups > 0)
        report.warnings.push_back(fmt::format(
            "mixed experiments: {} rows share size and compute with others, and in {} such groups the losses "
            "differ, by up to {:.2g} % (keep one experiment with --where COLUMN=VALUE)",
            mixed.rows, mixed.groups, 100 * mixed.spread));
    report.assumptions.push_back(
        fmt::format("rows belong to a budget within {:g} decades; {}; parabola of the {}", options.tolerance,
                    options.window ? fmt::format("those within {:g} decades of the lowest count", *options.window)
                                   : "all of them count",
                    request.parabola_of == "loss" ? "loss" : "logarithm of the loss"));
    if (!request.quick)
        estimate_bias(request, report, used,
                      [&](auto const& exact) { return fit_isoflop(exact, options, request.data).size; });
}

void fit_envelope_law(ScalingFitRequest const& request, ScalingFitReport& report) {
    report.formula = "N* = N_coef C^N_exponent, D* = D_coef C^D_exponent, along the lowest training curve at each C";
    report.source = "Hoffmann et al., arXiv:2203.15556, approach 1";
    if (request.levels < 10 || request.levels > 100000) throw InputError("--levels: {} (10 to 100000)", request.levels);
    if (!(request.size_tolerance >= 0 && request.size_tolerance < 1))
        throw InputError("--size-tolerance: {} (from 0 to below 1)", request.size_tolerance);
    EnvelopeOptions const options{.levels = request.levels, .size_tolerance = request.size_tolerance};
    std::vector<IsoflopRow> const rows = isoflop_rows(report.table);
    report.envelope = fit_envelope(rows, options, request.data);
    // Whole curves: the rows of one run share its luck, and which sizes there are moves the exponent as well.
    std::vector<std::vector<std::size_t>> const curves = training_curves(rows, options.size_tolerance);
    auto const draw = [&curves](RandomStream random) {
        std::vector<std::size_t> positions;
        for (std::size_t i = 0; i < curves.size(); ++i) {
            auto const& curve =
                curves[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(curves.size())))];
            positions.insert(positions.end(), curve.begin(), curve.end());
        }
        return positions;
    };
    with_intervals(request, report, allocation_names, draw, parameters_of(report.envelope->size, report.envelope->data),
                   [&](auto const& positions) {
                       EnvelopeFit const fit = fit_envelope(picked(rows, positions), options, request.data);
                       return parameters_of(fit.size, fit.data);
                   });
    if (report.envelope->on_envelope < 4)
        report.warnings.push_back(
            fmt::format("{} models make the envelope: the exponent rests on few sizes", report.envelope->on_envelope));
    report.assumptions.emplace_back(
        "every row is a finished or constant-rate run: points from the middle of a decay do not belong here");
    if (!request.quick)
        estimate_bias(request, report, rows,
                      [&](auto const& exact) { return fit_envelope(exact, options, request.data).size; });
}

void fit_allocation_law(ScalingFitRequest const& request, ScalingFitReport& report) {
    report.formula = "N* = N_coef C^N_exponent, D* = D_coef C^D_exponent, through the optima of the rows";
    report.source = "Hoffmann et al., arXiv:2203.15556; weights as Porian et al., arXiv:2406.19146";
    LossTable const& table = report.table;
    std::vector<double> weights(table.rows(), 1);
    for (std::size_t i = 0; i < table.rows(); ++i) {
        if (table.has("weight")) weights[i] = table.column("weight")[i];
        if (table.has("sd")) weights[i] = 1 / (table.column("sd")[i] * table.column("sd")[i]);
    }
    std::vector<std::size_t> all(table.rows());
    std::iota(all.begin(), all.end(), std::size_t{0});
    auto const law = [&](char const* part, std::vector<std::size_t> const& positions) {
        return fit_power_law(picked(table.column("flops"), positions), picked(table.column(part), positions),
                             picked(weights, positions), request.data.c_str());
    };
    report.allocation = {law("parameters", all), law("tokens", all)};
    with_intervals(request, report, allocation_names, within(std::vector<std::size_t>(table.rows(), 0)),
                   parameters_of(report.allocation->first, report.allocation->second), [&](auto const& positions) {
                       return parameters_of(law("parameters", positions), law("tokens", positions));
                   });
    report.assumptions.push_back(table.has("sd")       ? "rows count by 1 / sd^2"
                                 : table.has("weight") ? "rows count by their weight"
                                                       : "all rows count alike (--sd, --weight)");
}

void fit_critical_batch_law(ScalingFitRequest const& request, ScalingFitReport& report) {
    report.formula = "S = S_min + E_min / B per size; B* = batch_coef N^batch_exponent at the overhead";
    report.source = "McCandlish et al., arXiv:1812.06162; Zhang et al., arXiv:2410.21676";
    if (!(request.overhead > 0 && request.overhead < 10))
        throw InputError("--overhead: {} (above 0, below 10)", request.overhead);
    if (!(request.linear_from > 0 && std::isfinite(request.linear_from)))
        throw InputError("--linear-from: {} (a batch above 0)", request.linear_from);
    CriticalBatchOptions const options{.overhead = request.overhead, .linear_from = request.linear_from};
    std::vector<BatchRow> rows;
    std::map<double, std::size_t> sizes;
    std::vector<std::size_t> strata;
    for (std::size_t i = 0; i < report.table.rows(); ++i) {
        rows.push_back({.parameters = report.table.column("parameters")[i],
                        .batch = report.table.column("batch")[i],
                        .steps = report.table.column("steps")[i]});
        strata.push_back(sizes.emplace(rows.back().parameters, sizes.size()).first->second);
    }
    auto const values = [](CriticalBatchFit const& fit) {
        return std::vector<double>{fit.at_overhead.coefficient, fit.at_overhead.exponent, fit.noise_scale.coefficient,
                                   fit.noise_scale.exponent};
    };
    report.batch = fit_critical_batch(rows, options, request.data);
    with_intervals(request, report, {"batch_coef", "batch_exponent", "noise_scale_coef", "noise_scale_exponent"},
                   within(strata), values(*report.batch), [&](auto const& positions) {
                       return values(fit_critical_batch(picked(rows, positions), options, request.data));
                   });
    report.assumptions.push_back(
        fmt::format("B* needs {:g} % more steps than linear scaling from batch {:g}; units are those of the data",
                    100 * options.overhead, options.linear_from));
}

void fit_lr_batch_law(ScalingFitRequest const& request, ScalingFitReport& report) {
    report.formula = "lr = lr_coef N^lr_N D^lr_D, batch = batch_coef D^batch_D; and both over C";
    report.source = "Li et al., arXiv:2503.04715 (Step law); DeepSeek LLM, arXiv:2401.02954";
    if (!(request.flat >= 0 && request.flat < 0.5))
        throw InputError("--flat: {} (a share from 0 to below 0.5)", request.flat);
    std::vector<TuningRow> rows;
    std::map<std::pair<double, double>, std::size_t> cells;
    std::vector<std::size_t> strata;
    for (std::size_t i = 0; i < report.table.rows(); ++i) {
        rows.push_back({.parameters = report.table.column("parameters")[i],
                        .tokens = report.table.column("tokens")[i],
                        .learning_rate = report.table.column("learning_rate")[i],
                        .batch = report.table.column("batch")[i],
                        .loss = report.table.column("loss")[i]});
        strata.push_back(
            cells.emplace(std::pair(rows.back().parameters, rows.back().tokens), cells.size()).first->second);
    }
    auto const values = [](TuningLaws const& l) {
        return std::vector<double>{l.lr_coefficient,
                                   l.lr_by_parameters,
                                   l.lr_by_tokens,
                                   l.batch_by_tokens.coefficient,
                                   l.batch_by_tokens.exponent,
                                   l.lr_by_flops.coefficient,
                                   l.lr_by_flops.exponent,
                                   l.batch_by_flops.coefficient,
                                   l.batch_by_flops.exponent};
    };
    report.tuning = fit_tuning_laws(rows, request.flat, request.data);
    with_intervals(request, report,
                   {"lr_coef", "lr_N", "lr_D", "batch_coef", "batch_D", "lr_C_coef", "lr_C", "batch_C_coef", "batch_C"},
                   within(strata), values(*report.tuning), [&](auto const& positions) {
                       return values(fit_tuning_laws(picked(rows, positions), request.flat, request.data));
                   });
    if (report.tuning->edges > 0)
        report.warnings.push_back(
            fmt::format("{} of {} (N, D) have their best run at the edge of the search: the optimum may lie outside",
                        report.tuning->edges, report.tuning->cells));
    report.assumptions.push_back(
        fmt::format("runs within {:g} % of the lowest loss of their N and D count alike", 100 * request.flat));
}

}  // namespace sextant::cli
