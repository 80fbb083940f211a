#include "cli/calibrate/train_scores.hpp"

#include "core/csv.hpp"
#include "core/json/text_file.hpp"
#include "core/quantile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sextant::cli {
namespace {

/// Predicted against measured, in per cent either way.
std::vector<double> absolute_pct(std::vector<double> const& log_errors) {
    std::vector<double> absolute;
    for (double const e : log_errors)
        absolute.push_back(100 * std::abs(std::exp(e) - 1));
    return absolute;
}

std::vector<double> all_of(std::map<std::string, std::vector<double>> const& by_source) {
    std::vector<double> out;
    for (auto const& [source, errors] : by_source)
        out.insert(out.end(), errors.begin(), errors.end());
    return out;
}

/// Median, 90 % quantile and bias in per cent of predicted against measured.
std::vector<std::string> error_cells(std::vector<double> const& log_errors) {
    std::vector<double> const absolute = absolute_pct(log_errors);
    return {fmt::format("{}", log_errors.size()), fmt::format("{:.1f}", quantile_of(absolute, 0.5)),
            fmt::format("{:.1f}", quantile_of(absolute, 0.9)),
            fmt::format("{:+.1f}", 100 * (std::exp(quantile_of(log_errors, 0.5)) - 1))};
}

std::string seconds_cell(double seconds) { return fmt::format("{:.6g}", seconds); }

}  // namespace

std::string interval_kind(StepMeasurement const& row, std::string const& family) {
    return row.has_experts ? experts_kind : row.waits_for_host ? waiting_kind : family;
}

void TrainScores::add(std::string const& family, StepMeasurement const& row, double error) {
    if (std::string const kind = interval_kind(row, ""); !kind.empty()) return of_kind[kind].push_back(error);
    of_family[family].push_back(error);
    of_all.push_back(error);
}

void RowsFile::add(std::string const& framework, LeftOutStep const& step, double fitted) {
    lines_ += csv_line({framework, step.row->source, step.row->where, seconds_cell(step.row->seconds),
                        seconds_cell(fitted), seconds_cell(step.predicted)});
}

void RowsFile::add_fitted(std::string const& framework, StepMeasurement const& row, double fitted) {
    lines_ += csv_line({framework, row.source, row.where, seconds_cell(row.seconds), seconds_cell(fitted), ""});
}

void RowsFile::write(std::string const& file) const {
    write_text_file(file, csv_line({"framework", "source_id", "row", "measured_s", "fitted_s", "left_out_s"}) + lines_);
}

double inside_intervals(TrainScores const& scores, std::map<std::string, FrameworkProfile> const& profiles,
                        std::map<std::string, StepInterval> const& of_kind) {
    auto const is_inside = [&](std::pair<std::string, double> const& row) {
        auto const kind = of_kind.find(row.first);
        StepInterval const& interval = kind != of_kind.end() ? kind->second : profiles.at(row.first).interval;
        double const ratio = std::exp(-row.second);  // measured of predicted
        return interval.low <= ratio && ratio <= interval.high;
    };
    auto const count = std::count_if(scores.alone.begin(), scores.alone.end(), is_inside);
    return 100 * static_cast<double>(count) / static_cast<double>(scores.alone.size());
}

StepInterval interval_of_errors(std::vector<double> const& log_errors) {
    return {.low = std::min(0.98, std::exp(-quantile_of(log_errors, 0.9))),
            .high = std::max(1.02, std::exp(-quantile_of(log_errors, 0.1))),
            .rows = static_cast<std::int64_t>(log_errors.size())};
}

StepInterval widened(StepInterval const& before, std::vector<double> const& log_errors) {
    if (log_errors.empty()) return before;
    StepInterval const own = interval_of_errors(log_errors);
    return {
        .low = std::min(before.low, own.low), .high = std::max(before.high, own.high), .rows = before.rows + own.rows};
}

std::string misfit(TrainScores const& scores) {
    constexpr double large = 15;  // per cent; assumed
    constexpr double worse = 2;
    double const before = quantile_of(absolute_pct(scores.before), 0.5);
    double const fitted = quantile_of(absolute_pct(all_of(scores.fitted)), 0.5);
    if (fitted > large)
        return fmt::format(
            "the fit still misses the steps by {:.0f} % in the median (are model, gpu, degrees and batch those of the "
            "runs, and iter_time_s of whole steps?)",
            fitted);
    if (fitted > before + worse)
        return fmt::format(
            "the steps are met less well than before the fit ({:.1f} -> {:.1f} %): a few of them contradict the others",
            before, fitted);
    return "";
}

Table score_table(TrainScores const& scores) {
    Table table({{"source"},
                 {"rows", Align::right},
                 {"fitted: median %", Align::right},
                 {"p90 %", Align::right},
                 {"bias %", Align::right},
                 {"left out: median %", Align::right},
                 {"p90 %", Align::right},
                 {"bias %", Align::right}});
    auto const add = [&](std::string const& name, std::vector<double> const& own, std::vector<double> const& left_out) {
        auto cells = error_cells(own);
        auto const left = left_out.empty() ? std::vector<std::string>(4, "-") : error_cells(left_out);
        cells.insert(cells.begin(), name);
        cells.insert(cells.end(), left.begin() + 1, left.end());
        table.add_row(cells);
    };
    for (auto const& [source, own] : scores.fitted) {
        auto const left = scores.left_out.find(source);
        add(source, own, left != scores.left_out.end() ? left->second : std::vector<double>());
    }
    if (!scores.before.empty()) add("overall, before", scores.before, {});
    add("overall", all_of(scores.fitted), scores.all);
    return table;
}

}  // namespace sextant::cli
