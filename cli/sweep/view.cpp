#include "cli/sweep/view.hpp"

#include "cli/sweep/report_cells.hpp"
#include "core/quantity_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace sextant::cli {
namespace {

double number_in(std::string const& text) {
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

/// "iteration_time" where the values have their units.
std::string heading(std::string_view name) {
    for (std::string_view const suffix : {"_bytes_per_s", "_bytes"})
        if (name.ends_with(suffix)) return std::string(name.substr(0, name.size() - suffix.size()));
    if (name.ends_with("_s") && !name.ends_with("_per_s")) return std::string(name.substr(0, name.size() - 2));
    return std::string(name);
}

bool all_numbers(std::vector<std::string> const& values) {
    return std::all_of(values.begin(), values.end(),
                       [](std::string const& v) { return cell_from_text(v).kind == SweepCell::Kind::number; });
}

/// Text is on the left, everything else on the right.
Align alignment(SweepTable const& table, std::size_t column) {
    for (SweepRow const& row : table.rows)
        if (row.cells[column].kind == SweepCell::Kind::text) return Align::left;
    return Align::right;
}

}  // namespace

std::string figure_text(double value, std::string_view column) {
    if (!std::isfinite(value)) return "-";
    if (column.ends_with("bytes_per_s")) return human(BytesPerSecond::from_base(value));
    if (column.ends_with("_bytes") || column.ends_with(".bytes")) return human(Bytes::from_base(value));
    bool const rate = column.ends_with("_per_s");
    if (column.ends_with("_s") && !rate) return human(Seconds::from_base(value));
    if (std::abs(value) >= 1e4 && std::abs(value) < 1e15) return human_count(value);
    return fmt::format("{:.4g}", value);
}

std::vector<std::string> short_names(std::vector<std::string> const& columns, std::vector<SweepAxis> const& axes) {
    auto const tail = [](std::string const& path, std::size_t parts) {
        std::size_t at = path.size();
        for (; parts > 0 && at != std::string::npos; --parts)
            at = at == 0 ? std::string::npos : path.rfind('.', at - 1);
        return at == std::string::npos ? path : path.substr(at + 1);
    };
    // Of these the last part says little, and an index nothing.
    auto const vague = [](std::string const& name) {
        constexpr std::array<std::string_view, 5> words{"value", "mean", "low", "high", "count"};
        return std::find(words.begin(), words.end(), name) != words.end() ||
               (name.front() >= '0' && name.front() <= '9');
    };
    std::vector<std::string> names;
    for (std::string const& path : columns) {
        std::size_t parts = 1;
        auto const taken = [&] {
            std::string const mine = tail(path, parts);
            auto const same = [&](std::string const& other) { return other != path && tail(other, parts) == mine; };
            return mine != path &&
                   (vague(mine) || std::any_of(columns.begin(), columns.end(), same) ||
                    std::any_of(axes.begin(), axes.end(), [&](SweepAxis const& axis) { return axis.name == mine; }));
        };
        while (taken())
            ++parts;
        names.push_back(tail(path, parts));
    }
    return names;
}

Table sweep_rows(SweepTable const& table) {
    bool const all_done = std::all_of(table.rows.begin(), table.rows.end(),
                                      [](SweepRow const& row) { return row.status == PointStatus::done; });
    bool const reasons =
        std::any_of(table.rows.begin(), table.rows.end(), [](SweepRow const& row) { return !row.reason.empty(); });
    std::vector<Column> header;
    for (SweepAxis const& axis : table.axes)
        header.push_back({axis.name, all_numbers(axis.values) ? Align::right : Align::left});
    if (!all_done) header.push_back({"status"});
    std::vector<std::string> const names = short_names(table.columns, table.axes);
    for (std::size_t i = 0; i < names.size(); ++i)
        header.push_back({heading(names[i]), alignment(table, i)});
    if (reasons) header.push_back({"reason"});
    Table out(std::move(header));
    for (SweepRow const& row : table.rows) {
        std::vector<std::string> cells = table.settings(row.point);
        if (!all_done) cells.emplace_back(name_of(row.status));
        for (std::size_t i = 0; i < row.cells.size(); ++i) {
            SweepCell const& cell = row.cells[i];
            bool const number = cell.kind == SweepCell::Kind::number;
            cells.push_back(number ? figure_text(number_in(cell.text), table.columns[i]) : cell.text);
        }
        if (reasons) cells.push_back(row.reason);
        out.add_row(std::move(cells));
    }
    return out;
}

std::string sweep_text(SweepTable const& table) {
    std::string text = fmt::format("{}: {} of {} points\n\n", table.command, table.rows.size(), table.points);
    text += sweep_rows(table).text();
    if (!table.prices.empty()) text += "\n";
    for (std::string const& price : table.prices)
        text += wrapped(price);
    if (table.sensitivity) text += "\n" + sensitivity_text(*table.sensitivity);
    return text;
}

std::string sensitivity_text(Sensitivity const& s) {
    if (s.used == 0) return fmt::format("{}: no point has it, so nothing can be said of what moves it\n", s.metric);
    std::string text = fmt::format("{} over {} points: mean {}, standard deviation {}\n", s.metric, s.used,
                                   figure_text(s.mean, s.metric), figure_text(s.deviation, s.metric));
    if (s.used < s.points)
        text +=
            wrapped(fmt::format("{} points have none of it; an axis is judged by the pairs of others that differ in "
                                "it alone, and explains nothing of those without such a partner.",
                                s.points - s.used),
                    "");
    auto const figure = [&](std::optional<double> value, std::string const& at) {
        return value ? fmt::format("{} at {}", figure_text(*value, s.metric), at) : "-";
    };
    Table table({{"axis"},
                 {"pairs", Align::right},
                 {"least mean"},
                 {"most mean"},
                 {"alone", Align::right},
                 {"with others", Align::right},
                 {"elasticity", Align::right}});
    for (AxisEffect const& e : s.effects)
        table.add_row({e.axis, std::to_string(e.pairs), figure(e.least, e.least_at), figure(e.most, e.most_at),
                       fmt::format("{:.3f}", e.first_order), fmt::format("{:.3f}", e.total),
                       e.elasticity ? fmt::format("{:+.3f}", *e.elasticity) : "-"});
    text += "\n" + table.text();
    return text + "\n" +
           wrapped(
               "pairs: of points that differ in the axis alone. alone, with others: share of the variance that the "
               "axis explains by itself, and with every "
               "interaction it takes part in. elasticity: per cent that it changes by for one per cent of the axis.",
               "");
}

}  // namespace sextant::cli
