#include "cli/calibrate/report.hpp"
#include "cli/page/page_cells.hpp"
#include "cli/validate/page_blocks.hpp"
#include "cli/view/percent_text.hpp"

#include <algorithm>
#include <utility>

namespace sextant::cli {
namespace {

PageCell rows_cell(std::size_t rows) { return count_cell(static_cast<std::int64_t>(rows)); }

/// What the file was fitted by and to.
std::vector<std::string> origin(CalibrationReport const& report) {
    std::vector<std::string> lines{fmt::format("{}, format {}", name_in(report.file), format_of(report.file))};
    if (auto const* kernels = std::get_if<KernelCalibration>(&report.file)) {
        lines.push_back("fitted by: " + kernels->command);
    } else if (auto const* network = std::get_if<NetworkCalibration>(&report.file)) {
        lines.push_back("fitted by: " + network->provenance.command);
        lines.push_back(fmt::format("{} runs, {} rows; held out: {}", network->provenance.runs,
                                    network->provenance.rows, network->provenance.method));
    }
    return lines;
}

/// The answer: errors over all rows that were given, else what the file says of itself.
void add_answer(Page& page, CalibrationReport const& report) {
    if (report.groups.empty()) {
        page.verdict = report.held_out.empty() ? "The file says nothing of rows that were held out."
                                               : "What the file says of rows that were held out; --rows scores others.";
        std::int64_t fitted = 0;
        std::int64_t held_out = 0;
        for (HeldOutLine const& line : report.held_out) {
            fitted += line.fitted_rows;
            held_out += line.rows;
        }
        if (fitted > 0) page.figures.push_back({"rows fitted", fmt::format("{}", fitted)});
        page.figures.push_back({"rows held out", fmt::format("{}", held_out)});
        page.figures.push_back({"constants", fmt::format("{}", constants_of(report.file).size())});
        return;
    }
    std::vector<RowSplit> const splits = splits_of(report);
    SplitErrors const& all = report.groups.front();
    if (splits.empty()) {
        page.verdict = "No row is scored.";
        page.tone = Tone::bad;
    } else {
        ErrorStatistics const& first = all.*splits.front().errors;
        page.verdict = fmt::format("The median error is {:.1f} %, over {} {}.", first.median_ape_pct, first.n,
                                   report.histogram_of);
    }
    for (RowSplit const& split : splits) {
        ErrorStatistics const& e = all.*split.errors;
        page.figures.push_back({fmt::format("{}, median error", split.name), fmt::format("{:.1f} %", e.median_ape_pct),
                                fmt::format("90 % within {:.1f} %, bias {}, {} rows", e.p90_ape_pct,
                                            signed_percent(e.bias_pct / 100), e.n)});
    }
    SourceScore const& rows = report.validation.overall;
    page.figures.push_back({"rows", fmt::format("{}", rows.n), fmt::format("{} scored on time", rows.time.n)});
}

std::vector<ErrorLine> errors_by_split(CalibrationPoints const& points) {
    std::vector<ErrorLine> lines;
    for (auto const& [split, list] : points.by_split.groups) {
        lines.push_back({.name = split.name, .errors_pct = {}});
        for (ValidationPoints::Point const& p : list)
            lines.back().errors_pct.push_back(p.error_pct());
    }
    return lines;
}

Chart histogram_chart(CalibrationReport const& report) {
    BarChart chart{.categories = {}, .series = {{.name = "rows", .role = "", .values = {}}}, .x = {.title = "rows"}};
    for (ErrorBin const& bin : report.histogram) {
        chart.categories.push_back(bin_name(bin));
        chart.series.front().values.push_back(static_cast<double>(bin.rows));
    }
    return {.title = "Signed errors",
            .note = fmt::format("Of {}; above zero the prediction is too slow.", report.histogram_of),
            .body = std::move(chart)};
}

void add_charts(Page& page, CalibrationReport const& report) {
    if (report.points.by_kind.groups.empty()) return;
    if (report.points.by_split.groups.size() > 1)
        page.blocks.emplace_back(
            against_measured(report.points.by_split, "Predicted against measured, by what the fit saw"));
    page.blocks.emplace_back(
        against_measured(report.points.by_kind, "Predicted against measured, by what the rows are"));
    page.blocks.emplace_back(error_chart(errors_by_split(report.points)));
    page.blocks.emplace_back(histogram_chart(report));
}

/// All groupings in one table; the list above it chooses one: op, op and format, predicted time, source.
PageTable group_table(CalibrationReport const& report) {
    PageTable table{.title = "Errors by op, format, size and source",
                    .note = error_note,
                    .columns = {{"by", Align::left, PageColumn::Choice::list}, {"group", Align::left}}};
    std::vector<RowSplit> const splits = splits_of(report);
    for (RowSplit const& split : splits)
        for (char const* figure : {"n", "med %", "mean %", "p90 %", "bias %"})
            table.columns.push_back({fmt::format("{} {}", split.name, figure)});
    for (SplitErrors const& group : report.groups) {
        std::vector<PageCell> cells{{group.by.empty() ? "all" : group.by}, {group.name}};
        for (RowSplit const& split : splits) {
            ErrorStatistics const& e = group.*split.errors;
            cells.push_back(rows_cell(e.n));
            for (double const value : {e.median_ape_pct, e.mape_pct, e.p90_ape_pct})
                cells.push_back(e.n > 0 ? number_cell("{:.1f}", value) : PageCell{"-"});
            cells.push_back(e.n > 0 ? number_cell("{:+.1f}", e.bias_pct) : PageCell{"-"});
        }
        table.rows.push_back(std::move(cells));
    }
    return table;
}

PageTable held_out_table(CalibrationReport const& report) {
    PageTable table{
        .title = "Rows that were held out, as the file says",
        .note = "Absolute errors in per cent: median and 95 % quantile; bias is the median of signed ones.",
        .columns = {{"fit", Align::left},
                    {"rows fitted"},
                    {"held out"},
                    {"median %"},
                    {"p95 %"},
                    {"bias %"},
                    {"low", Align::right, PageColumn::Choice::none, "80 % interval, as factors on the time"},
                    {"high"},
                    {"beyond the rows", Align::right, PageColumn::Choice::none,
                     "80 % interval of shapes and times that the rows do not reach"}}};
    for (HeldOutLine const& line : report.held_out) {
        bool const known = line.rows > 0 && line.p95_pct > 0;
        auto const error = [&](fmt::string_view digits, double value) {
            return known ? number_cell(digits, value) : PageCell{"-"};
        };
        table.rows.push_back(
            {{line.part},
             line.fitted_rows > 0 ? count_cell(line.fitted_rows) : PageCell{"-"},
             count_cell(line.rows),
             error("{:.1f}", line.median_pct),
             error("{:.1f}", line.p95_pct),
             error("{:+.1f}", line.bias_pct),
             number_cell("{:.2f}", line.low),
             number_cell("{:.2f}", line.high),
             {line.beyond ? fmt::format("{:.2f} to {:.2f}", line.beyond->low, line.beyond->high) : std::string("-")}});
    }
    return table;
}

PageTable unscored_table(CalibrationReport const& report) {
    PageTable table{.title = "Not scored", .note = {}, .columns = {{"rows"}, {"reason", Align::left}}};
    SourceScore const& all = report.validation.overall;
    for (auto const* const counts : {&all.skip_reasons, &all.time_reasons})
        for (auto const& [reason, count] : *counts)
            table.rows.push_back({rows_cell(count), {reason}});
    return table;
}

PageTable constant_table(CalibrationReport const& report) {
    PageTable table{
        .title = "Constants",
        .note =
            "The spread is one standard deviation of the constant's logarithm; without one the rows did "
            "not identify it: others about this value fit them as well, or it stands at a bound.",
        .columns = {{"fit", Align::left, PageColumn::Choice::list}, {"constant", Align::left}, {"value"}, {"spread"}}};
    for (CalibrationConstant const& c : constants_of(report.file))
        table.rows.push_back(
            {{c.part}, {c.key}, {c.text, c.value}, c.spread ? number_cell("{:.3g}", *c.spread) : PageCell{"-"}});
    return table;
}

}  // namespace

std::string calibration_page(CalibrationReport const& report) {
    Page page{.command = "sextant calibrate report", .title = title_in(report.file), .lines = origin(report)};
    add_answer(page, report);
    add_charts(page, report);
    if (!report.groups.empty() && report.validation.overall.time.n > 0) page.blocks.emplace_back(group_table(report));
    if (!report.validation.worst.empty()) page.blocks.emplace_back(worst_page_table(report.validation.worst));
    if (PageTable table = unscored_table(report); !table.rows.empty()) page.blocks.emplace_back(std::move(table));
    if (!report.held_out.empty()) page.blocks.emplace_back(held_out_table(report));
    if (!report.unidentified.empty())
        page.blocks.emplace_back(PageList{"Not identified by the rows", report.unidentified});
    page.blocks.emplace_back(constant_table(report));
    if (auto const* kernels = std::get_if<KernelCalibration>(&report.file))
        page.blocks.emplace_back(PageList{"Rows of", kernels->sources});
    return html_page(page);
}

}  // namespace sextant::cli
