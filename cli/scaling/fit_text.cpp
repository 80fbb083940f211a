// chinchilla: L = E + A N^-alpha + B D^-beta
//   Hoffmann et al., arXiv:2203.15556, approach 3
// data       runs.csv, 240 rows (5 left out by --where)
// objective  huber:0.001, 0.00101827402 summed over the rows; 9 of 10 starts agree
//
// parameter  value   80 %           95 %           std. error  profile 95 %
// ---------  ------  -------------  -------------  ----------  --------------
// A          477.8   329 .. 647     286 .. 744          124.5  301 .. 731
#include "cli/options/number_text.hpp"
#include "cli/scaling/fit.hpp"
#include "core/quantile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sextant::cli {
namespace {

constexpr double beyond_all = 1e30;

std::string number(double value) {
    if (!std::isfinite(value) || std::abs(value) > beyond_all) return "unbounded";
    double const size = std::abs(value);
    if (size >= 1e6 || (size > 0 && size < 1e-3)) return fmt::format("{:.4g}", value);
    return fmt::format("{:.5g}", value);
}

/// The same for a parameter of a law.
std::string number(LawForm const* form, std::string_view parameter, double value) {
    return number(form == nullptr ? value : shown_value(*form, parameter, value));
}

/// Both ends above what saturates are one word.
std::string range(std::string const& low, std::string const& high) {
    return low == high && low == "unbounded" ? low : fmt::format("{} .. {}", low, high);
}

std::string range(LawForm const* form, std::string_view parameter, std::optional<ResampleInterval> const& interval) {
    if (!interval) return "-";
    return range(number(form, parameter, interval->low), number(form, parameter, interval->high));
}

std::string profile(LawForm const* form, ParameterInterval const& p) {
    if (!p.profile) return p.fitted ? "-" : "not fitted";
    return range(p.profile->open_below ? "open" : number(form, p.name, p.profile->low),
                 p.profile->open_above ? "open" : number(form, p.name, p.profile->high));
}

/// How far the rows lie from the law.
std::string distances(LawStudy const& study) {
    std::vector<double> percent;
    for (std::size_t i = 0; i < study.fit.residuals.size(); ++i)
        percent.push_back(100 * std::abs(study.problem.objective.of_logarithms()
                                             ? std::expm1(study.fit.residuals[i])
                                             : study.fit.residuals[i] / study.problem.measured[i]));
    std::sort(percent.begin(), percent.end());
    return fmt::format("median {:.3g} %, 90 % of the rows within {:.3g} %", quantile(percent, 0.5),
                       quantile(percent, 0.9));
}

std::string head(ScalingFitReport const& r) {
    std::string out = fmt::format("{}: {}\n  {}\n\n", r.law, r.formula, r.source);
    std::string rows = fmt::format("{}, {} rows", r.table.name, r.rows_used);
    if (r.table.left_out > 0) rows += fmt::format(", {} left out by --where", r.table.left_out);
    if (!r.table.missing.empty()) rows += fmt::format(", {} without a value", r.table.missing.size());
    std::string columns;
    for (auto const& [part, column] : r.columns)
        columns += fmt::format("{}{} = {}", columns.empty() ? "" : ", ", part, column);
    std::vector<std::pair<std::string, std::string>> pairs{{"data", rows}, {"columns", columns}};
    if (r.study)
        pairs.emplace_back("objective", fmt::format("{}, {:.12g} summed over the rows; {} of {} starts agree",
                                                    name_of(r.study->problem.objective), r.study->fit.objective,
                                                    r.study->fit.agreeing, r.study->fit.starts));
    if (!r.resamples.empty())
        pairs.emplace_back("intervals", fmt::format("{} bootstrap resamples", r.resamples.size()));
    if (r.study) pairs.emplace_back("distances", distances(*r.study));
    return out + aligned_pairs(pairs);
}

enum class Profiles : std::uint8_t { shown, none };

/// @param form whose parameters they are; null for other quantities.
Table intervals(char const* what, std::vector<ParameterInterval> const& values, LawForm const* form,
                Profiles profiles) {
    std::vector<Column> columns{{what}, {"value", Align::right}, {"80 %"}, {"95 %"}, {"std. error", Align::right}};
    if (profiles == Profiles::shown) columns.push_back({"profile 95 %"});
    Table table(columns);
    for (ParameterInterval const& p : values) {
        std::vector<std::string> cells{p.name, number(form, p.name, p.value), range(form, p.name, p.at_80),
                                       range(form, p.name, p.at_95),
                                       p.at_80 ? number(form, p.name, p.standard_error) : "-"};
        if (profiles == Profiles::shown) cells.push_back(profile(form, p));
        table.add_row(cells);
    }
    return table;
}

std::string basins(LawStudy const& study) {
    if (study.fit.others.empty()) return {};
    std::vector<Column> columns{{"other minima within 1 %"}, {"starts", Align::right}};
    for (LawParameter const& p : study.problem.form->parameters)
        columns.push_back({p.name, Align::right});
    Table table(columns);
    for (LawBasin const& b : study.fit.others) {
        std::vector<std::string> cells{
            fmt::format("{:.10g} (+{:.2g} %)", b.objective, 100 * (b.objective / study.fit.objective - 1)),
            fmt::format("{}", b.starts)};
        for (std::size_t k = 0; k < b.values.size(); ++k)
            cells.push_back(number(study.problem.form, study.problem.form->parameters[k].name, b.values[k]));
        table.add_row(cells);
    }
    return "\n" + table.text();
}

std::string sensitivity(LawStudy const& study, std::string const& quantity) {
    if (study.objectives.empty()) return {};
    std::vector<Column> columns{{"same rows, by objective"}};
    for (LawParameter const& p : study.problem.form->parameters)
        columns.push_back({p.name, Align::right});
    columns.push_back({quantity, Align::right});
    Table table(columns);
    for (ObjectiveRow const& o : study.objectives) {
        std::vector<std::string> cells{name_of(o.objective) + (o.fit.converged ? "" : " (did not converge)")};
        for (std::size_t k = 0; k < o.fit.values.size(); ++k)
            cells.push_back(o.fit.converged
                                ? number(study.problem.form, study.problem.form->parameters[k].name, o.fit.values[k])
                                : "-");
        cells.push_back(o.fit.converged ? number(o.quantity) : "-");
        table.add_row(cells);
    }
    return "\n" + table.text();
}

std::string influence(ScalingFitReport const& r, std::string const& quantity) {
    if (r.study->influence.empty()) return {};
    Table table({{"without the row of line", Align::right}, {"its residual", Align::right}, {quantity, Align::right}});
    for (InfluenceRow const& row : r.study->influence)
        table.add_row(
            {fmt::format("{}", r.table.lines[row.row]), fmt::format("{:+.4f}", row.residual), number(row.quantity)});
    return "\n" + table.text();
}

std::string back_tests(LawStudy const& study, std::string const& quantity) {
    if (study.back_tests.empty()) return {};
    Table table({{"fitted below"},
                 {"rows", Align::right},
                 {"judged", Align::right},
                 {"median error %", Align::right},
                 {"bias %", Align::right},
                 {quantity, Align::right}});
    for (BackTest const& t : study.back_tests)
        table.add_row({power_text(t.cut), fmt::format("{}", t.fitted), fmt::format("{}", t.judged),
                       fmt::format("{:.2f}", t.median_error_pct), fmt::format("{:+.2f}", t.bias_pct),
                       number(t.quantity)});
    return "\n" + table.text();
}

std::string study_text(ScalingFitReport const& r) {
    LawStudy const& study = *r.study;
    std::string out;
    if (!r.quantities.empty()) {
        std::string const at = study.flops > 0 ? fmt::format("at {} FLOPs", power_text(study.flops)) : "follows";
        out += "\n" + intervals(at.c_str(), r.quantities, nullptr, Profiles::none).text();
    }
    std::string const first = r.quantities.empty() ? "" : r.quantities.front().name;
    return out + basins(study) + sensitivity(study, first) + influence(r, first) + back_tests(study, first);
}

std::string isoflop_text(ScalingFitReport const& r) {
    Table table({{"budget"},
                 {"rows", Align::right},
                 {"N*", Align::right},
                 {"D*", Align::right},
                 {"loss", Align::right},
                 {"note"}});
    for (IsoflopVertex const& v : r.isoflop->vertices)
        table.add_row({power_text(v.flops), fmt::format("{}", v.rows), v.dropped.empty() ? number(v.parameters) : "-",
                       v.dropped.empty() ? number(v.tokens) : "-", v.dropped.empty() ? number(v.loss) : "-",
                       v.dropped});
    return "\n" + table.text() + fmt::format("\nR2 of ln N* over ln C: {:.5f}\n", r.isoflop->size.r2);
}

std::string bias_text(ScalingFitReport const& r) {
    return wrapped(
        fmt::format("Bias: the same {} over a Chinchilla surface fitted to these rows {} {:.4f} where the "
                    "surface has {:.4f}.",
                    r.isoflop ? "parabolas" : "envelope", r.isoflop ? "find" : "finds", r.surface_size->exponent,
                    r.surface_exponent));
}

std::string batch_text(CriticalBatchFit const& fit) {
    Table table({{"size", Align::right},
                 {"rows", Align::right},
                 {"S_min", Align::right},
                 {"E_min", Align::right},
                 {"E_min / S_min", Align::right},
                 {"B* at overhead", Align::right}});
    for (CriticalBatchOfSize const& s : fit.sizes)
        table.add_row({number(s.parameters), fmt::format("{}", s.rows), number(s.least_steps), number(s.least_samples),
                       number(s.least_samples / s.least_steps), number(s.batch_at_overhead)});
    return "\n" + table.text();
}

}  // namespace

Table scaling_fit_table(ScalingFitReport const& r) {
    Table table({{"name"},
                 {"value", Align::right},
                 {"low_80", Align::right},
                 {"high_80", Align::right},
                 {"low_95", Align::right},
                 {"high_95", Align::right},
                 {"standard_error", Align::right}});
    auto const add = [&](ParameterInterval const& p) {
        auto const end = [](std::optional<ResampleInterval> const& i, bool low) {
            return i ? fmt::format("{:.10g}", low ? i->low : i->high) : std::string();
        };
        table.add_row({p.name, fmt::format("{:.10g}", p.value), end(p.at_80, true), end(p.at_80, false),
                       end(p.at_95, true), end(p.at_95, false),
                       p.at_80 ? fmt::format("{:.6g}", p.standard_error) : std::string()});
    };
    for (ParameterInterval const& p : r.parameters)
        add(p);
    for (ParameterInterval const& p : r.quantities)
        add(p);
    return table;
}

std::string scaling_fit_text(ScalingFitReport const& r) {
    std::string out = head(r) + "\n" +
                      intervals("parameter", r.parameters, r.study ? r.study->problem.form : nullptr,
                                r.study ? Profiles::shown : Profiles::none)
                          .text();
    if (r.study) out += study_text(r);
    if (r.isoflop) out += isoflop_text(r);
    if (r.allocation) out += fmt::format("\nR2 of ln N* over ln C: {:.5f}\n", r.allocation->first.r2);
    if (r.envelope)
        out += fmt::format("\n{} training curves, {} of them lowest somewhere, {} levels of compute\n",
                           r.envelope->models, r.envelope->on_envelope, r.envelope->points.size());
    if (r.surface_size) out += bias_text(r);
    if (r.batch) out += batch_text(*r.batch);
    if (r.tuning)
        out += fmt::format("\n{} different (N, D), {} runs near their optimum\n", r.tuning->cells, r.tuning->rows);
    if (!r.assumptions.empty()) {
        out += "\nassumed\n";
        for (std::string const& text : r.assumptions)
            out += "  " + wrapped(text, "    ", 96);
    }
    if (!r.warnings.empty()) {
        out += "\nwarnings\n";
        for (std::string const& text : r.warnings)
            out += "  " + wrapped(text, "    ", 96);
    }
    return out;
}

}  // namespace sextant::cli
