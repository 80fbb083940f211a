#include "cli/calibrate/report.hpp"
#include "cli/validate/plots.hpp"
#include "cli/validate/row_words.hpp"
#include "cli/view/rows_csv.hpp"
#include "cli/view/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sextant::cli {
namespace {

Column right(char const* name) { return {name, Align::right}; }

std::string percent(double value) { return fmt::format("{:.1f}", value); }

Table held_out_table(CalibrationReport const& report) {
    Table table({{"fit"},
                 right("rows fitted"),
                 right("held out"),
                 right("median %"),
                 right("p95 %"),
                 right("bias %"),
                 right("80 % interval"),
                 right("beyond the rows")});
    auto const interval = [](double low, double high) { return fmt::format("{:.2f} to {:.2f}", low, high); };
    for (HeldOutLine const& line : report.held_out) {
        bool const known = line.rows > 0 && line.p95_pct > 0;
        table.add_row({line.part, line.fitted_rows > 0 ? fmt::to_string(line.fitted_rows) : "",
                       fmt::to_string(line.rows), known ? percent(line.median_pct) : "",
                       known ? percent(line.p95_pct) : "", known ? fmt::format("{:+.1f}", line.bias_pct) : "",
                       interval(line.low, line.high),
                       line.beyond ? interval(line.beyond->low, line.beyond->high) : ""});
    }
    return table;
}

void add_errors(std::vector<std::string>& cells, ErrorStatistics const& e) {
    cells.push_back(e.n > 0 ? fmt::to_string(e.n) : "");
    for (double const value : {e.median_ape_pct, e.p90_ape_pct})
        cells.push_back(e.n > 0 ? percent(value) : "");
    cells.push_back(e.n > 0 ? fmt::format("{:+.1f}", e.bias_pct) : "");
}

/// Held-out, fitted and other rows side by side, those that there are.
Table group_table(CalibrationReport const& report, std::string const& by) {
    std::vector<RowSplit> const splits = splits_of(report);
    std::vector<Column> columns{{by.empty() ? "rows" : by}};
    for (RowSplit const& split : splits)
        for (char const* figure : {"", " med %", " p90 %", " bias %"})
            columns.push_back({std::string(split.name) + figure, Align::right});
    Table table(std::move(columns));
    for (SplitErrors const& group : report.groups) {
        if (group.by != by) continue;
        std::vector<std::string> cells{group.name};
        for (RowSplit const& split : splits)
            add_errors(cells, group.*split.errors);
        table.add_row(std::move(cells));
    }
    return table;
}

std::vector<std::string> groupings(CalibrationReport const& report) {
    std::vector<std::string> out;
    for (SplitErrors const& group : report.groups)
        if (std::find(out.begin(), out.end(), group.by) == out.end()) out.push_back(group.by);
    return out;
}

/// A line per bin, the longest 50 characters.
std::string histogram_text(CalibrationReport const& report) {
    std::size_t most = 1, all = 0;
    for (ErrorBin const& bin : report.histogram) {
        most = std::max(most, bin.rows);
        all += bin.rows;
    }
    std::string out;
    for (ErrorBin const& bin : report.histogram) {
        auto const width =
            static_cast<std::size_t>(std::ceil(50.0 * static_cast<double>(bin.rows) / static_cast<double>(most)));
        out += fmt::format("{:>14}  {:6} {:5.1f} %  {}", bin_name(bin), bin.rows,
                           all > 0 ? 100.0 * static_cast<double>(bin.rows) / static_cast<double>(all) : 0.0,
                           std::string(width, '#'));
        out.erase(out.find_last_not_of(' ') + 1);
        out += '\n';
    }
    return out;
}

Table worst_table(CalibrationReport const& report) {
    Table table({{"row"}, {"what"}, right("measured"), right("predicted"), right("error %"), {"split"}, {"reason"}});
    for (WorstRow const& row : report.validation.worst)
        table.add_row({row.where, row.what, measured_words(row), predicted_words(row),
                       fmt::format("{:+.0f}", row.error_pct()), row.split, row.reason});
    return table;
}

/// Rows without a score, and why.
Table unscored_table(CalibrationReport const& report) {
    Table table({right("rows"), {"reason"}});
    SourceScore const& all = report.validation.overall;
    for (auto const* const counts : {&all.skip_reasons, &all.time_reasons})
        for (auto const& [reason, count] : *counts)
            table.add_row({fmt::to_string(count), reason});
    return table;
}

bool has_unscored(CalibrationReport const& report) {
    SourceScore const& all = report.validation.overall;
    return !all.skip_reasons.empty() || !all.time_reasons.empty();
}

std::string head(CalibrationReport const& report) {
    std::string out = fmt::format("{} ({}, {})\n", title_in(report.file), name_in(report.file), format_of(report.file));
    if (auto const* kernels = std::get_if<KernelCalibration>(&report.file)) {
        out += fmt::format("fitted by: {}\n", kernels->command);
        for (std::string const& source : kernels->sources)
            out += fmt::format("rows of: {}\n", source);
    } else if (auto const* network = std::get_if<NetworkCalibration>(&report.file)) {
        out += fmt::format("fitted by: {}\nheld out: {}\n{} runs, {} rows\n", network->provenance.command,
                           network->provenance.method, network->provenance.runs, network->provenance.rows);
    }
    return out;
}

std::string text(CalibrationReport const& report) {
    std::string out = head(report);
    if (!report.held_out.empty()) out += "\n" + held_out_table(report).text();
    if (!report.unidentified.empty()) {
        out += "\nNot identified by the rows (others about these values fit them as well, or they stand at a bound):\n";
        for (std::string const& line : report.unidentified)
            out += wrapped("  " + line, "    ");
    }
    if (report.groups.empty()) return out;
    if (has_unscored(report)) out += "\nNot scored:\n\n" + unscored_table(report).text();
    if (report.validation.overall.time.n == 0) return out;
    for (std::string const& by : groupings(report))
        out += "\n" + group_table(report, by).text();
    out += fmt::format("\nErrors of {}, (predicted - measured) / measured:\n\n{}", report.histogram_of,
                       histogram_text(report));
    if (!report.validation.worst.empty()) out += "\nOff by the largest factors:\n\n" + worst_table(report).text();
    return out;
}

std::string markdown(CalibrationReport const& report) {
    std::string out = fmt::format("# {}\n\n`{}`, format `{}`.\n", title_in(report.file), name_in(report.file),
                                  format_of(report.file));
    if (!report.held_out.empty()) out += "\n## Rows that were held out\n\n" + held_out_table(report).markdown();
    if (!report.unidentified.empty()) {
        out += "\n## Not identified by the rows\n\n";
        for (std::string const& line : report.unidentified)
            out += "- " + line + "\n";
    }
    if (report.groups.empty()) return out;
    if (has_unscored(report)) out += "\n## Not scored\n\n" + unscored_table(report).markdown();
    if (report.validation.overall.time.n == 0) return out;
    for (std::string const& by : groupings(report))
        out += fmt::format("\n## {}\n\n{}", by.empty() ? "Scores" : "By " + by, group_table(report, by).markdown());
    out += fmt::format("\n## Errors of {}\n\n```\n{}```\n", report.histogram_of, histogram_text(report));
    if (!report.validation.worst.empty()) out += "\n## Off by the largest factors\n\n" + worst_table(report).markdown();
    return out;
}

/// A row for each group and split that has rows.
std::string groups_csv(CalibrationReport const& report) {
    Table table({{"by"},
                 {"group"},
                 {"split"},
                 right("n"),
                 right("median_ape_pct"),
                 right("mape_pct"),
                 right("p90_ape_pct"),
                 right("bias_pct")});
    for (SplitErrors const& group : report.groups)
        for (RowSplit const& split : splits_of(report)) {
            ErrorStatistics const& e = group.*split.errors;
            if (e.n == 0) continue;
            std::vector<std::string> cells{group.by, group.name, split.name, fmt::to_string(e.n)};
            for (double const value : {e.median_ape_pct, e.mape_pct, e.p90_ape_pct, e.bias_pct})
                cells.push_back(fmt::format("{}", value));
            table.add_row(std::move(cells));
        }
    return table.csv();
}

}  // namespace

std::string bin_name(ErrorBin const& bin) {
    if (std::isinf(bin.low_pct)) return fmt::format("below {:+g} %", bin.high_pct);
    if (std::isinf(bin.high_pct)) return fmt::format("from {:+g} %", bin.low_pct);
    return fmt::format("{:+g} to {:+g} %", bin.low_pct, bin.high_pct);
}

std::vector<RowSplit> splits_of(CalibrationReport const& report) {
    std::vector<RowSplit> splits;
    for (RowSplit const split : {RowSplit{"held out", &SplitErrors::held_out}, RowSplit{"fitted", &SplitErrors::fitted},
                                 RowSplit{"other", &SplitErrors::other}})
        if ((report.groups.front().*split.errors).n > 0) splits.push_back(split);
    return splits;
}

std::string calibration_report(CalibrationReport const& report, Format format) {
    switch (format) {
        case Format::json: return calibration_report_json(report);
        case Format::csv:
            return report.groups.empty() ? rows_csv(calibration_report_json(report), "held_out") : groups_csv(report);
        case Format::markdown: return markdown(report);
        case Format::html: return calibration_page(report);
        case Format::text: break;
    }
    return text(report);
}

}  // namespace sextant::cli
