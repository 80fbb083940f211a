#include "cli/validate/page.hpp"

#include "cli/page/page_cells.hpp"
#include "cli/validate/plots.hpp"
#include "cli/validate/view.hpp"
#include "cli/view/percent_text.hpp"
#include "core/quantity_text.hpp"

#include <algorithm>

namespace sextant::cli {
namespace {

/// Points of one chart: a browser draws these at once, and more of them only cover each other.
constexpr std::size_t most_points = 6000;
constexpr std::size_t most_groups = 9;

double error_pct(ValidationPoints::Point const& p) { return 100 * (p.predicted - p.measured) / p.measured; }

Chart against_measured(ValidationPoints::Figure const& figure) {
    std::size_t const all = figure.size();
    std::size_t const stride = (all + most_points - 1) / most_points;
    PointChart chart{.series = {},
                     .x = {.title = fmt::format("measured {}, {}", figure.name, figure.unit),
                           .scale = ChartAxis::Scale::logarithmic},
                     .y = {.title = fmt::format("predicted {}, {}", figure.name, figure.unit),
                           .scale = ChartAxis::Scale::logarithmic},
                     .same_scale = true};
    double low = 1e300;
    double high = 0;
    std::size_t place = 0;
    for (auto const& [group, points] : figure.groups) {
        bool const own = chart.series.size() < most_groups || figure.groups.size() == most_groups;
        if (own) chart.series.push_back({.name = group.name, .draw = Draw::markers, .x = {}, .y = {}});
        PointSeries& series = chart.series.back();
        if (!own) series.name = "others";
        for (ValidationPoints::Point const& p : points) {
            low = std::min({low, p.measured, p.predicted});
            high = std::max({high, p.measured, p.predicted});
            if (place++ % stride != 0) continue;
            series.x.push_back(p.measured);
            series.y.push_back(p.predicted);
            series.labels.push_back(fmt::format("{} ({})", p.label, signed_percent(error_pct(p) / 100, 0)));
        }
    }
    auto const line = [&](char const* name, Draw draw, double factor) {
        chart.series.push_back(
            {.name = name, .draw = draw, .x = {low, high}, .y = {factor * low, factor * high}, .role = "quiet"});
    };
    line("equal", Draw::line, 1);
    line("25 % above", Draw::dotted, 1.25);
    line("25 % below", Draw::dotted, 0.75);
    std::string note = fmt::format("{} rows", all);
    if (stride > 1) note += fmt::format(", every {}th drawn", stride);
    return {.title = fmt::format("Predicted against measured {}", figure.name),
            .note = note + ". Lines: equal, and a quarter above and below.",
            .body = std::move(chart)};
}

/// Share of the rows whose error is at most so large, a line per figure.
Chart error_chart(ValidationPoints const& points) {
    PointChart chart{.series = {},
                     .x = {.title = "error up to, %", .scale = ChartAxis::Scale::logarithmic},
                     .y = {.title = "share of the rows, %", .from_zero = true},
                     .marks = {{.across = ChartMark::Across::y, .at = 50, .label = "median"}}};
    for (ValidationPoints::Figure const& figure : points.figures()) {
        std::vector<double> errors;
        for (auto const& [group, list] : figure.groups)
            for (ValidationPoints::Point const& p : list)
                errors.push_back(std::max(0.01, std::abs(error_pct(p))));
        std::sort(errors.begin(), errors.end());
        PointSeries line{.name = figure.name, .draw = Draw::line, .x = {}, .y = {}};
        constexpr std::size_t steps = 200;
        for (std::size_t i = 0; i <= steps; ++i) {
            line.x.push_back(errors[i * (errors.size() - 1) / steps]);
            line.y.push_back(100 * static_cast<double>(i) / steps);
        }
        chart.series.push_back(std::move(line));
    }
    return {.title = "How large the errors are",
            .note = "Absolute errors, in per cent of what was measured.",
            .body = std::move(chart)};
}

struct ScoredFigure {
    std::string name;
    ErrorStatistics const& errors;
};

std::vector<ScoredFigure> scored(ValidationKind kind, SourceScore const& s) {
    if (kind == ValidationKind::serving) {
        std::vector<ScoredFigure> list;
        for (std::size_t i = 0; i < served_names.size(); ++i)
            list.push_back({std::string(served_names[i]), s.served[i]});
        return list;
    }
    if (kind == ValidationKind::train) return {{"time", s.time}, {"memory", s.memory}};
    return {{"time", s.time}};
}

std::vector<PageColumn> score_columns(ValidationKind kind, std::string const& first) {
    std::vector<PageColumn> columns{{first, Align::left}, {"rows"}, {"skipped"}};
    for (ScoredFigure const& figure : scored(kind, SourceScore{}))
        for (char const* name : {"n", "med %", "p90 %", "bias %"})
            columns.push_back({figure.name + " " + name});
    columns.push_back({"inside %", Align::right, PageColumn::Choice::none, "measured inside the 80 % interval"});
    if (kind == ValidationKind::train)
        for (char const* name : {"fit n", "fit right %"})
            columns.push_back({name});
    return columns;
}

std::vector<PageCell> score_row(ValidationKind kind, std::string const& name, SourceScore const& s) {
    std::vector<PageCell> cells{
        {name}, count_cell(static_cast<std::int64_t>(s.n)), count_cell(static_cast<std::int64_t>(s.skipped))};
    for (ScoredFigure const& figure : scored(kind, s)) {
        cells.push_back(count_cell(static_cast<std::int64_t>(figure.errors.n)));
        for (double const value : {figure.errors.median_ape_pct, figure.errors.p90_ape_pct, figure.errors.bias_pct})
            cells.push_back(figure.errors.n > 0 ? number_cell("{:.1f}", value) : PageCell{"-"});
    }
    auto const inside = inside_interval_pct(s);
    cells.push_back(inside ? number_cell("{:.0f}", *inside) : PageCell{"-"});
    if (kind == ValidationKind::train) {
        cells.push_back(count_cell(static_cast<std::int64_t>(s.oom.n)));
        cells.push_back(s.oom.n > 0 ? number_cell("{:.1f}", s.oom.accuracy_pct()) : PageCell{"-"});
    }
    return cells;
}

PageTable source_table(Validation const& v) {
    PageTable table{
        .title = "Scores by source",
        .note =
            "Errors are (predicted - measured) / measured in per cent: median and 90 % quantile of absolute "
            "values; bias is the median of signed ones. " +
            interval_note(v.kind),
        .columns = score_columns(v.kind, "source")};
    for (SourceScore const& s : v.sources)
        table.rows.push_back(score_row(v.kind, s.source, s));
    table.rows.push_back(score_row(v.kind, "all", v.overall));
    return table;
}

PageTable group_table(Validation const& v) {
    PageTable table{.title = "Scores by group", .note = {}, .columns = score_columns(v.kind, "group")};
    table.columns.insert(table.columns.begin(), {"by", Align::left, PageColumn::Choice::list});
    for (auto const& [group, score] : v.groups) {
        std::vector<PageCell> cells = score_row(v.kind, group.name, score);
        cells.insert(cells.begin(), PageCell{group.by});
        table.rows.push_back(std::move(cells));
    }
    return table;
}

PageTable worst_table(Validation const& v) {
    PageTable table{.title = "Rows that are off by the largest factors",
                    .note = {},
                    .columns = {{"row", Align::left},
                                {"what", Align::left},
                                {"measured"},
                                {"predicted"},
                                {"error %"},
                                {"split", Align::left},
                                {"reason", Align::left}}};
    for (WorstRow const& row : v.worst)
        table.rows.push_back({{row.where},
                              {row.what},
                              {human(row.measured), row.measured.base()},
                              {human(row.predicted), row.predicted.base()},
                              number_cell("{:+.0f}", row.error_pct()),
                              {row.split},
                              {row.reason}});
    return table;
}

PageTable reason_table(Validation const& v) {
    struct Kind {
        char const* title;
        ReasonCounts SourceScore::*counts;
    };
    constexpr Kind kinds[] = {{"not expressed", &SourceScore::skip_reasons},
                              {"time not scored", &SourceScore::time_reasons},
                              {"memory not scored", &SourceScore::memory_reasons},
                              {"assumed", &SourceScore::assumptions}};
    PageTable table{.title = "What was left out, and what was assumed",
                    .note = {},
                    .columns = {{"source", Align::left, PageColumn::Choice::list},
                                {"what", Align::left, PageColumn::Choice::list},
                                {"rows"},
                                {"reason", Align::left}}};
    for (SourceScore const& source : v.sources)
        for (Kind const& kind : kinds)
            for (auto const& [reason, count] : source.*kind.counts)
                table.rows.push_back(
                    {{source.source}, {kind.title}, count_cell(static_cast<std::int64_t>(count)), {reason}});
    std::stable_sort(table.rows.begin(), table.rows.end(),
                     [](auto const& a, auto const& b) { return a[2].value > b[2].value; });
    return table;
}

char const* title_of(ValidationKind kind) {
    switch (kind) {
        case ValidationKind::train: return "Training steps, predicted and measured";
        case ValidationKind::kernels: return "Kernels, predicted and measured";
        case ValidationKind::collectives: return "Collectives, predicted and measured";
        case ValidationKind::serving: return "Serving, predicted and measured";
    }
    return "Predicted and measured";
}

void add_answer(Page& page, Validation const& v) {
    SourceScore const& all = v.overall;
    auto const figures = scored(v.kind, all);
    ErrorStatistics const& first = figures.front().errors;
    page.verdict = first.n > 0 ? fmt::format("The median error of {} is {:.1f} %, over {} rows.", figures.front().name,
                                             first.median_ape_pct, first.n)
                               : "No row is scored.";
    if (v.interrupted) page.verdict += " " + interruption_note(v);
    page.tone = first.n > 0 ? Tone::plain : Tone::bad;
    for (ScoredFigure const& figure : figures)
        if (figure.errors.n > 0)
            page.figures.push_back({figure.name + ", median error",
                                    fmt::format("{:.1f} %", figure.errors.median_ape_pct),
                                    fmt::format("90 % within {:.1f} %, bias {}, {} rows", figure.errors.p90_ape_pct,
                                                signed_percent(figure.errors.bias_pct / 100), figure.errors.n)});
    if (auto const inside = inside_interval_pct(all))
        page.figures.push_back({"inside the 80 % interval", fmt::format("{:.0f} %", *inside), "of the measured rows"});
    if (all.oom.n > 0)
        page.figures.push_back(
            {"fits or not", fmt::format("{:.1f} % right", all.oom.accuracy_pct()),
             fmt::format("{} missed, {} false alarms of {}", all.oom.missed, all.oom.false_alarms, all.oom.n)});
    page.figures.push_back({"rows", fmt::format("{}", all.n), fmt::format("{} not expressed", all.skipped)});
}

}  // namespace

std::string validation_page(Validation const& v, ValidationPoints const& points) {
    Page page{.command = fmt::format("sextant validate {}", name_of(v.kind)), .title = title_of(v.kind)};
    add_answer(page, v);
    for (ValidationPoints::Figure const& figure : points.figures())
        page.blocks.push_back(against_measured(figure));
    if (!points.figures().empty()) page.blocks.push_back(error_chart(points));
    page.blocks.push_back(source_table(v));
    if (!v.groups.empty()) page.blocks.push_back(group_table(v));
    if (!v.worst.empty()) page.blocks.push_back(worst_table(v));
    if (PageTable reasons = reason_table(v); !reasons.rows.empty()) page.blocks.push_back(std::move(reasons));
    return html_page(page);
}

}  // namespace sextant::cli
