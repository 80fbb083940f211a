#include "cli/validate/view.hpp"

#include "cli/validate/row_words.hpp"
#include "cli/view/table.hpp"
#include "core/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace sextant::cli {
namespace {

std::string number(double value) { return fmt::format("{:.1f}", value); }

Column right(char const* name) { return {name, Align::right}; }

std::string inside_text(SourceScore const& s) {
    auto const inside = inside_interval_pct(s);
    return inside ? fmt::format("{:.0f}", *inside) : "";
}

void add_statistics(std::vector<std::string>& cells, ErrorStatistics const& s) {
    cells.push_back(fmt::format("{}", s.n));
    for (double const value : {s.median_ape_pct, s.mape_pct, s.p90_ape_pct, s.bias_pct})
        cells.push_back(s.n > 0 ? number(value) : "");
}

void add_row(Table& table, SourceScore const& s) {
    std::vector<std::string> cells{s.source, fmt::format("{}", s.n), fmt::format("{}", s.skipped)};
    add_statistics(cells, s.time);
    add_statistics(cells, s.memory);
    bool const tells = s.oom.n > 0;
    cells.push_back(tells ? fmt::format("{}", s.oom.n) : "");
    cells.push_back(tells ? number(s.oom.accuracy_pct()) : "");
    cells.push_back(tells ? fmt::format("{}", s.oom.missed) : "");
    cells.push_back(tells ? fmt::format("{}", s.oom.false_alarms) : "");
    table.add_row(std::move(cells));
}

Table train_table(Validation const& v) {
    Table table({{"source"},
                 right("rows"),
                 right("skipped"),
                 right("time n"),
                 right("med %"),
                 right("mean %"),
                 right("p90 %"),
                 right("bias %"),
                 right("mem n"),
                 right("med %"),
                 right("mean %"),
                 right("p90 %"),
                 right("bias %"),
                 right("fit n"),
                 right("right %"),
                 right("missed"),
                 right("false")});
    for (SourceScore const& source : v.sources)
        add_row(table, source);
    add_row(table, v.overall);
    return table;
}

/// An empty table: these columns, then those of the three times.
Table served_columns(std::vector<Column> columns) {
    for (char const* name : {"ttft n", "med %", "p90 %", "bias %", "tpot n", "med %", "p90 %", "bias %", "tok/s n",
                             "med %", "p90 %", "bias %", "inside %"})
        columns.push_back(right(name));
    return Table(std::move(columns));
}

void add_served(Table& table, std::vector<std::string> cells, SourceScore const& s) {
    for (ErrorStatistics const& e : s.served) {
        cells.push_back(fmt::format("{}", e.n));
        for (double const value : {e.median_ape_pct, e.p90_ape_pct, e.bias_pct})
            cells.push_back(e.n > 0 ? number(value) : "");
    }
    cells.push_back(inside_text(s));
    table.add_row(std::move(cells));
}

Table served_table(Validation const& v) {
    Table table = served_columns({{"source"}, right("rows"), right("skipped")});
    auto const add = [&](SourceScore const& s) {
        add_served(table, {s.source, fmt::format("{}", s.n), fmt::format("{}", s.skipped)}, s);
    };
    for (SourceScore const& source : v.sources)
        add(source);
    add(v.overall);
    return table;
}

/// A web address without what all of them begin with, its middle left out where it is longer than `width`.
std::string short_source(std::string source, std::size_t width) {
    for (std::string_view const prefix : {"https://", "http://", "github.com/"})
        if (source.starts_with(prefix)) source.erase(0, prefix.size());
    if (source.size() <= width) return source;
    std::size_t const half = (width - 3) / 2;
    return source.substr(0, half) + "..." + source.substr(source.size() - (width - 3 - half));
}

enum class Names { whole, shortened };

Table time_table(Validation const& v, Names names) {
    Table table({{"source"},
                 right("rows"),
                 right("skipped"),
                 right("scored"),
                 right("med %"),
                 right("mean %"),
                 right("p90 %"),
                 right("bias %"),
                 right("inside %")});
    auto const add = [&](SourceScore const& s) {
        std::vector<std::string> cells{names == Names::whole ? s.source : short_source(s.source, 56),
                                       fmt::format("{}", s.n), fmt::format("{}", s.skipped)};
        add_statistics(cells, s.time);
        cells.push_back(inside_text(s));
        table.add_row(std::move(cells));
    };
    for (SourceScore const& source : v.sources)
        add(source);
    add(v.overall);
    return table;
}

Table served_groups(Validation const& v, std::string const& by) {
    Table table = served_columns({{by.c_str()}, right("rows")});
    for (auto const& [group, score] : v.groups)
        if (group.by == by) add_served(table, {group.name, fmt::format("{}", score.n)}, score);
    return table;
}

Table group_table(Validation const& v, std::string const& by) {
    if (v.kind == ValidationKind::serving) return served_groups(v, by);
    Table table({{by},
                 right("rows"),
                 right("scored"),
                 right("med %"),
                 right("mean %"),
                 right("p90 %"),
                 right("bias %"),
                 right("inside %")});
    for (auto const& [group, score] : v.groups) {
        if (group.by != by) continue;
        std::vector<std::string> cells{group.name, fmt::format("{}", score.n)};
        add_statistics(cells, score.time);
        cells.push_back(inside_text(score));
        table.add_row(std::move(cells));
    }
    return table;
}

/// In the order of `groups`, each once.
std::vector<std::string> groupings(Validation const& v) {
    std::vector<std::string> names;
    for (auto const& [group, score] : v.groups)
        if (names.empty() || names.back() != group.by) names.push_back(group.by);
    return names;
}

struct Reason {
    std::size_t count;
    std::string text;
};

std::vector<Reason> by_count(ReasonCounts const& counts) {
    std::vector<Reason> reasons;
    for (auto const& [text, count] : counts)
        reasons.push_back({count, text});
    std::stable_sort(reasons.begin(), reasons.end(),
                     [](Reason const& a, Reason const& b) { return a.count > b.count; });
    return reasons;
}

struct ReasonKind {
    char const* title;
    ReasonCounts SourceScore::*counts;
};

constexpr ReasonKind kinds[] = {
    {"not expressed", &SourceScore::skip_reasons},
    {"time not scored", &SourceScore::time_reasons},
    {"memory not scored", &SourceScore::memory_reasons},
    {"assumed", &SourceScore::assumptions},
};

Table reason_table(Validation const& v) {
    Table table({{"source"}, {"what"}, {"rows", Align::right}, {"reason"}});
    for (SourceScore const& source : v.sources)
        for (auto const& kind : kinds)
            for (auto const& reason : by_count(source.*kind.counts))
                table.add_row({source.source, kind.title, fmt::format("{}", reason.count), reason.text});
    return table;
}

Table score_table(Validation const& v, Names names) {
    switch (v.kind) {
        case ValidationKind::train: return train_table(v);
        case ValidationKind::serving: return served_table(v);
        default: return time_table(v, names);
    }
}

std::string csv(Validation const& v) {
    bool const is_train = v.kind == ValidationKind::train;
    bool const is_serving = v.kind == ValidationKind::serving;
    std::string out = "source,n,skipped,time_n,time_mape_pct,time_median_ape_pct,time_p90_ape_pct,time_bias_pct";
    if (is_train)
        out +=
            ",memory_n,memory_mape_pct,memory_median_ape_pct,memory_p90_ape_pct,memory_bias_pct,oom_n,oom_accuracy_pct,"
            "oom_missed,oom_false_alarms";
    for (std::string_view const name : served_names)
        if (is_serving) out += fmt::format(",{0}_n,{0}_mape_pct,{0}_median_ape_pct,{0}_p90_ape_pct,{0}_bias_pct", name);
    out += '\n';
    auto const add = [&](SourceScore const& s) {
        std::vector<std::string> cells{s.source, fmt::format("{}", s.n), fmt::format("{}", s.skipped)};
        auto const add_errors = [&](ErrorStatistics const& e) {
            cells.push_back(fmt::format("{}", e.n));
            for (double const value : {e.mape_pct, e.median_ape_pct, e.p90_ape_pct, e.bias_pct})
                cells.push_back(e.n > 0 ? fmt::format("{:.3f}", value) : "");
        };
        add_errors(s.time);
        for (ErrorStatistics const& e : s.served)
            if (is_serving) add_errors(e);
        if (is_train) {
            add_errors(s.memory);
            cells.push_back(fmt::format("{}", s.oom.n));
            cells.push_back(s.oom.n > 0 ? fmt::format("{:.3f}", s.oom.accuracy_pct()) : "");
            cells.push_back(fmt::format("{}", s.oom.missed));
            cells.push_back(fmt::format("{}", s.oom.false_alarms));
        }
        out += csv_line(cells);
    };
    for (SourceScore const& source : v.sources)
        add(source);
    add(v.overall);
    return out;
}

/// How well the layouts of one question are ordered; empty where none was asked for.
std::string ranking_line(Validation const& v) {
    if (v.ranking.questions == 0) return "";
    return fmt::format(
        "Order of layouts measured for one model, machine and batch (rank correlation, {} questions, {} rows): median "
        "{:.2f}, 10 % quantile {:.2f}.",
        v.ranking.questions, v.ranking.rows, v.ranking.median, v.ranking.low);
}

/// The rows that were predicted worst, with what may be the cause.
Table worst_table(Validation const& v, Names names) {
    Table table({{"row"}, {"what"}, right("measured"), right("predicted"), right("error %"), {"split"}, {"reason"}});
    for (WorstRow const& row : v.worst)
        table.add_row({names == Names::whole ? row.where : short_source(row.where, 40), row.what, measured_words(row),
                       predicted_words(row), fmt::format("{:+.0f}", row.error_pct()), row.split, row.reason});
    table.leave_out_if_empty("split");  // of kernels alone
    table.leave_out_if_empty("reason");
    return table;
}

std::string markdown(Validation const& v) {
    std::string out = validation_introduction(v.kind) + "\n## Scores\n\n";
    if (v.interrupted) out += interruption_note(v) + "\n\n";
    out += score_table(v, Names::whole).markdown();
    for (std::string const& by : groupings(v))
        out += fmt::format("\n## Scores by {}\n\n{}", by, group_table(v, by).markdown());
    if (auto const line = ranking_line(v); !line.empty()) out += "\n## Ranking of layouts\n\n" + line + "\n";
    if (!v.worst.empty())
        out += "\n## The ten rows that are off by the largest factors\n\n" + worst_table(v, Names::whole).markdown();
    return out + "\n## What was left out, and what was assumed\n\n" + reason_table(v).markdown();
}

std::string text(Validation const& v) {
    std::string out = v.interrupted ? interruption_note(v) + "\n\n" : "";
    out += score_table(v, Names::shortened).text();
    constexpr std::size_t shown_groups = 24;
    for (std::string const& by : groupings(v)) {
        Table const table = group_table(v, by);
        if (table.row_count() <= shown_groups)
            out += "\n" + table.text();
        else
            out += fmt::format("\nScores by {} ({} of them): with --format markdown or json.\n", by, table.row_count());
    }
    out += "\n" +
           wrapped(
               "Errors are (predicted - measured) / measured: median, mean and 90 % quantile of absolute values, "
               "median of signed ones.",
               "") +
           "\n" + wrapped(interval_note(v.kind), "");
    if (auto const line = ranking_line(v); !line.empty()) out += "\n" + wrapped(line, "");
    if (!v.worst.empty()) out += "\nOff by the largest factors:\n\n" + worst_table(v, Names::shortened).text();
    constexpr std::size_t shown = 12;
    for (auto const& kind : kinds) {
        auto const reasons = by_count(v.overall.*kind.counts);
        if (reasons.empty()) continue;
        out += fmt::format("\n{}:\n", kind.title);
        for (std::size_t i = 0; i < std::min(shown, reasons.size()); ++i)
            out += fmt::format("  {:5}  {}\n", reasons[i].count, reasons[i].text);
        if (reasons.size() > shown)
            out += fmt::format("         and {} more reasons (all with --format markdown or json)\n",
                               reasons.size() - shown);
    }
    return out;
}

}  // namespace

std::string interruption_note(Validation const& v) {
    return fmt::format("Interrupted after {} rows: the scores are of these alone.", v.overall.n);
}

std::optional<double> inside_interval_pct(SourceScore const& score) {
    if (score.time.n == 0) return std::nullopt;
    return 100 * static_cast<double>(score.inside_interval) / static_cast<double>(score.time.n);
}

std::string validation_report(Validation const& validation, Format format) {
    switch (format) {
        case Format::json: return validation_json(validation);
        case Format::csv: return csv(validation);
        case Format::markdown: return markdown(validation);
        default: return text(validation);
    }
}

}  // namespace sextant::cli
