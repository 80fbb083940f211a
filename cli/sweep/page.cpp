#include "cli/sweep/page.hpp"

#include "cli/page/page_cells.hpp"
#include "cli/sweep/output.hpp"
#include "cli/sweep/view.hpp"
#include "core/quantity_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

namespace sextant::cli {
namespace {

constexpr std::size_t most_rows = 5000;
constexpr std::size_t most_charts = 4;
constexpr std::size_t most_lines = 9;

std::optional<double> number_in(std::string const& text) {
    double value = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
    return value;
}

bool all_positive_numbers(SweepAxis const& axis) {
    return std::all_of(axis.values.begin(), axis.values.end(), [](std::string const& value) {
        auto const number = number_in(value);
        return number && *number > 0;
    });
}

/// The last part of each column's path, where it tells it from the others: "mfu" of "candidates.0.report.mfu".
std::vector<std::string> titles_of(std::vector<std::string> const& columns) {
    auto const last = [](std::string const& path) { return path.substr(path.rfind('.') + 1); };
    std::vector<std::string> out;
    for (std::string const& path : columns) {
        auto const same = std::count_if(columns.begin(), columns.end(),
                                        [&](std::string const& other) { return last(other) == last(path); });
        out.push_back(same > 1 || number_in(last(path)) ? path : last(path));
    }
    return out;
}

/// What the charts show: figures that differ between points, the one of the sensitivity first.
std::vector<std::size_t> drawn_columns(SweepTable const& table) {
    std::vector<std::size_t> columns;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        std::set<double> values;
        for (SweepRow const& row : table.rows)
            if (double const value = figure_in(row.cells[i]); std::isfinite(value)) values.insert(value);
        if (values.size() > 1) columns.push_back(i);
    }
    if (table.sensitivity)
        std::stable_partition(columns.begin(), columns.end(),
                              [&](std::size_t i) { return table.columns[i] == table.sensitivity->metric; });
    if (columns.size() > most_charts) columns.resize(most_charts);
    return columns;
}

/// The axis along which figures are drawn: the one with most numbers, else with most values. Nothing without axes.
std::optional<std::size_t> axis_across(SweepTable const& table) {
    std::optional<std::size_t> best;
    auto const rank = [&](std::size_t i) {
        return std::pair(all_positive_numbers(table.axes[i]), table.axes[i].values.size());
    };
    for (std::size_t i = 0; i < table.axes.size(); ++i)
        if (table.axes[i].values.size() > 1 && (!best || rank(i) > rank(*best))) best = i;
    return best;
}

/// "tp 4, cluster h100-sxm": the settings of a point beside one axis.
std::string others_of(SweepTable const& table, std::vector<std::string> const& settings, std::size_t across) {
    std::string text;
    for (std::size_t i = 0; i < table.axes.size(); ++i)
        if (i != across && table.axes[i].values.size() > 1)
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", table.axes[i].name, settings[i]);
    return text.empty() ? "all points" : text;
}

/// What a point is called: its settings, and what became of it where that is no answer.
std::string point_label(std::string const& settings, SweepRow const& row) {
    if (row.status == PointStatus::done) return settings;
    return fmt::format("{} ({})", settings, row.reason.empty() ? name_of(row.status) : row.reason);
}

/// What values of a column are drawn in: charts write 1e9 as B, which bytes are not to be taken for.
struct Scale {
    double factor = 1;
    std::string title;
};
Scale scale_of(std::string_view column, std::string const& name) {
    if (column.ends_with("bytes_per_s")) return {1e-9, name + ", GB/s"};
    if (column.ends_with("bytes")) return {1e-9, name + ", GB"};
    return {1, name};
}

/// A figure over one axis, a line for each setting of the others.
Chart lines_over(SweepTable const& table, std::size_t across, std::size_t column, std::string const& name) {
    Scale const scale = scale_of(table.columns[column], name);
    std::map<std::string, PointSeries> lines;
    std::vector<std::string> order;
    bool positive = true;
    double least = INFINITY;
    double most = 0;
    for (SweepRow const& row : table.rows) {
        double const value = figure_in(row.cells[column]);
        std::vector<std::string> const settings = table.settings(row.point);
        auto const x = number_in(settings[across]);
        if (!std::isfinite(value) || !x) continue;
        std::string const key = others_of(table, settings, across);
        if (!lines.contains(key)) order.push_back(key);
        PointSeries& line = lines[key];
        line.name = key;
        line.draw = Draw::both;
        line.x.push_back(*x);
        line.y.push_back(scale.factor * value);
        line.labels.push_back(point_label(key, row));
        positive = positive && value > 0;
        least = std::min(least, value);
        most = std::max(most, value);
    }
    bool const wide = positive && most > 5 * least;
    PointChart chart{
        .series = {},
        .x = {.title = table.axes[across].name, .scale = ChartAxis::Scale::logarithmic},
        .y = {.title = scale.title, .scale = wide ? ChartAxis::Scale::logarithmic : ChartAxis::Scale::linear}};
    for (std::string const& key : order)
        if (chart.series.size() < most_lines) chart.series.push_back(std::move(lines[key]));
    std::string note = fmt::format("Over {}.", table.axes[across].name);
    if (order.size() > most_lines)
        note += fmt::format(" The first {} of {} settings of the other axes.", most_lines, order.size());
    return {.title = name, .note = note, .body = std::move(chart)};
}

/// A figure as bars, one per point.
Chart bars_over(SweepTable const& table, std::size_t across, std::size_t column, std::string const& name) {
    constexpr std::size_t most_bars = 40;
    Scale const scale = scale_of(table.columns[column], name);
    BarChart chart{
        .categories = {}, .series = {{.name = name, .role = "compute", .values = {}}}, .x = {.title = scale.title}};
    for (SweepRow const& row : table.rows) {
        double const value = figure_in(row.cells[column]);
        if (!std::isfinite(value) || chart.categories.size() == most_bars) continue;
        std::vector<std::string> const settings = table.settings(row.point);
        std::string const others = others_of(table, settings, across);
        chart.categories.push_back(others == "all points" ? settings[across] : settings[across] + ", " + others);
        chart.series[0].values.push_back(scale.factor * value);
    }
    return {
        .title = name, .note = fmt::format("The first {} points.", chart.categories.size()), .body = std::move(chart)};
}

Chart sensitivity_chart(Sensitivity const& s) {
    BarChart chart{.categories = {},
                   .series = {{.name = "alone", .role = "compute", .values = {}},
                              {.name = "with others", .role = "attention", .values = {}}},
                   .x = {.title = "share of the variance, %", .from_zero = true}};
    for (AxisEffect const& effect : s.effects) {
        chart.categories.push_back(effect.axis);
        chart.series[0].values.push_back(100 * effect.first_order);
        chart.series[1].values.push_back(100 * std::max(0.0, effect.total - effect.first_order));
    }
    return {.title = fmt::format("What moves {} most", s.metric),
            .note = "The share of its variance that an axis explains alone, and what it adds together with others.",
            .body = std::move(chart)};
}

PageTable effect_table(Sensitivity const& s) {
    auto const figure = [](fmt::string_view digits, std::optional<double> value) {
        return value ? number_cell(digits, *value) : PageCell{"-"};
    };
    PageTable table{
        .title = fmt::format("Sensitivity of {}", s.metric),
        .note = fmt::format("Over {} points: mean {:.4g}, standard deviation {:.4g}.", s.used, s.mean, s.deviation),
        .columns = {{"axis", Align::left},
                    {"pairs"},
                    {"least"},
                    {"at"},
                    {"most"},
                    {"at"},
                    {"alone"},
                    {"with others"},
                    {"elasticity"}}};
    for (AxisEffect const& e : s.effects)
        table.rows.push_back({{e.axis},
                              count_cell(e.pairs),
                              figure("{:.4g}", e.least),
                              {e.least_at},
                              figure("{:.4g}", e.most),
                              {e.most_at},
                              number_cell("{:.3g}", e.first_order),
                              number_cell("{:.3g}", e.total),
                              figure("{:.3g}", e.elasticity)});
    return table;
}

PageCell cell_of(SweepCell const& cell) {
    if (cell.kind == SweepCell::Kind::empty) return {"-"};
    if (cell.kind != SweepCell::Kind::number) return {cell.text};
    double const value = figure_in(cell);
    return std::abs(value) < 1e6 ? number_cell("{:.5g}", value) : number_cell("{:.4g}", value);
}

PageTable point_table(SweepTable const& table, std::vector<std::string> const& names) {
    using Choice = PageColumn::Choice;
    PageTable out{.title = "Points",
                  .note = table.rows.size() > most_rows
                              ? fmt::format("The first {} of {}; --format csv has all.", most_rows, table.rows.size())
                              : std::string("SI units, by the ending of a column's name."),
                  .columns = {}};
    for (SweepAxis const& axis : table.axes)
        out.columns.push_back({axis.name, all_positive_numbers(axis) ? Align::right : Align::left, Choice::list});
    bool const all_done = std::all_of(table.rows.begin(), table.rows.end(),
                                      [](SweepRow const& row) { return row.status == PointStatus::done; });
    bool const reasons =
        std::any_of(table.rows.begin(), table.rows.end(), [](SweepRow const& row) { return !row.reason.empty(); });
    for (std::size_t i = 0; i < names.size(); ++i)
        out.columns.push_back({names[i], Align::right, Choice::none, table.columns[i]});
    if (!all_done) out.columns.push_back({"status", Align::left, Choice::list});
    if (reasons) out.columns.push_back({"reason", Align::left});
    for (SweepRow const& row : table.rows) {
        if (out.rows.size() == most_rows) break;
        std::vector<PageCell> cells;
        for (std::string& setting : table.settings(row.point)) {
            auto const number = number_in(setting);
            cells.push_back({std::move(setting), number});
        }
        for (std::size_t i = 0; i < names.size(); ++i)
            cells.push_back(i < row.cells.size() ? cell_of(row.cells[i]) : PageCell{"-"});
        if (!all_done) cells.push_back({name_of(row.status)});
        if (reasons) cells.push_back({row.reason});
        out.rows.push_back(std::move(cells));
    }
    return out;
}

void add_answer(Page& page, SweepTable const& table, std::vector<std::string> const& names,
                std::vector<std::size_t> const& drawn) {
    auto const with = [&](PointStatus status) {
        return std::count_if(table.rows.begin(), table.rows.end(),
                             [&](SweepRow const& row) { return row.status == status; });
    };
    page.verdict = fmt::format("{} of {} points", table.rows.size(), table.points);
    if (auto const no = with(PointStatus::answer_is_no); no > 0)
        page.verdict += fmt::format("; the answer of {} is no", no);
    if (auto const failed = with(PointStatus::failed); failed > 0) {
        page.verdict += fmt::format("; {} failed", failed);
        page.tone = Tone::warning;
    }
    if (table.sensitivity && !table.sensitivity->effects.empty())
        page.verdict +=
            fmt::format("; {} moves {} most", table.sensitivity->effects.front().axis, table.sensitivity->metric);
    page.verdict += ".";
    for (std::size_t const column : drawn) {
        SweepRow const* least = nullptr;
        SweepRow const* most = nullptr;
        for (SweepRow const& row : table.rows) {
            double const value = figure_in(row.cells[column]);
            if (!std::isfinite(value)) continue;
            if (least == nullptr || value < figure_in(least->cells[column])) least = &row;
            if (most == nullptr || value > figure_in(most->cells[column])) most = &row;
        }
        auto const where = [&](SweepRow const& row) {
            return others_of(table, table.settings(row.point), table.axes.size());
        };
        page.figures.push_back(
            {names[column],
             fmt::format("{} to {}", figure_text(figure_in(least->cells[column]), table.columns[column]),
                         figure_text(figure_in(most->cells[column]), table.columns[column])),
             fmt::format("least at {}; most at {}", where(*least), where(*most))});
    }
}

}  // namespace

std::string sweep_page(SweepTable const& table) {
    std::vector<std::string> const names = titles_of(table.columns);
    std::vector<std::size_t> const drawn = drawn_columns(table);
    Page page{.command = "sextant sweep", .title = "sextant " + table.command};
    for (SweepAxis const& axis : table.axes) {
        std::string values;
        for (std::size_t i = 0; i < std::min<std::size_t>(axis.values.size(), 12); ++i)
            values += (i > 0 ? ", " : "") + axis.values[i];
        page.lines.push_back(fmt::format("{}: {}{}", axis.name, values, axis.values.size() > 12 ? ", ..." : ""));
    }
    add_answer(page, table, names, drawn);
    if (auto const across = axis_across(table))
        for (std::size_t const column : drawn)
            page.blocks.push_back(all_positive_numbers(table.axes[*across])
                                      ? lines_over(table, *across, column, names[column])
                                      : bars_over(table, *across, column, names[column]));
    if (table.sensitivity) {
        page.blocks.push_back(sensitivity_chart(*table.sensitivity));
        page.blocks.push_back(effect_table(*table.sensitivity));
    }
    page.blocks.push_back(point_table(table, names));
    if (!table.prices.empty()) page.blocks.push_back(PageList{"Prices", table.prices});
    return html_page(page);
}

}  // namespace sextant::cli
