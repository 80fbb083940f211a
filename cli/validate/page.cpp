#include "cli/validate/page.hpp"

#include "cli/page/page_cells.hpp"
#include "cli/validate/page_blocks.hpp"
#include "cli/validate/view.hpp"
#include "cli/view/percent_text.hpp"

#include <algorithm>

namespace sextant::cli {
namespace {

/// A line per figure.
Chart errors_by_figure(ValidationPoints const& points) {
    std::vector<ErrorLine> lines;
    for (ValidationPoints::Figure const& figure : points.figures()) {
        lines.push_back({.name = figure.name, .errors_pct = {}});
        for (auto const& [group, list] : figure.groups)
            for (ValidationPoints::Point const& p : list)
                lines.back().errors_pct.push_back(p.error_pct());
    }
    return error_chart(lines);
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
    PageTable table{.title = "Scores by source",
                    .note = fmt::format("{} {}", error_note, interval_note(v.kind)),
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
        page.blocks.push_back(against_measured(figure, fmt::format("Predicted against measured {}", figure.name)));
    if (!points.figures().empty()) page.blocks.push_back(errors_by_figure(points));
    page.blocks.push_back(source_table(v));
    if (!v.groups.empty()) page.blocks.push_back(group_table(v));
    if (!v.worst.empty()) page.blocks.push_back(worst_page_table(v.worst));
    if (PageTable reasons = reason_table(v); !reasons.rows.empty()) page.blocks.push_back(std::move(reasons));
    return html_page(page);
}

}  // namespace sextant::cli
