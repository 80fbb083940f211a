#include "cli/sweep/grid.hpp"

#include "core/error.hpp"
#include "core/nearest.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>

namespace sextant::cli {
namespace {

/// Takes a number off the front of `text`.
std::optional<double> take_number(std::string_view& text) {
    double value = 0;
    auto const [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || !std::isfinite(value)) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
    return value;
}

/// Whole numbers as such; others in the 12 digits that survive repeated steps.
std::string number_text(double value) {
    constexpr double exact = 9007199254740992.0;  // 2^53
    if (value == std::floor(value) && std::abs(value) < exact)
        return fmt::format("{}", static_cast<std::int64_t>(value));
    return fmt::format("{:.12g}", value);
}

/// "64..4096x2", "1..8", "1..8+2", "x0.5..4x2", "25..100x2 GB/s".
struct Range {
    bool factor = false;  ///< every value begins with an x
    double first = 0;
    double last = 0;
    char step_kind = '+';
    double step = 1;
    std::string unit;
};

[[noreturn]] void refuse_range(std::string_view text, std::string_view where, std::string_view why) {
    throw InputError("{}: '{}' {} (ranges are 1..8, 1..8+2 and 64..4096x2)", where, text, why);
}

/// Nothing when the text is no range.
std::optional<Range> range_from(std::string_view text, std::string_view where) {
    std::string_view rest = text;
    Range range;
    if (rest.starts_with('x')) {
        range.factor = true;
        rest.remove_prefix(1);
    }
    std::size_t const dots = rest.find("..");
    if (dots == std::string_view::npos || dots == 0) return std::nullopt;
    std::string_view before = rest.substr(0, dots);  // from_chars would take "1." of "1..8"
    auto const first = take_number(before);
    if (!first || !before.empty()) return std::nullopt;
    rest.remove_prefix(dots + 2);
    if (range.factor && rest.starts_with('x')) rest.remove_prefix(1);
    auto const last = take_number(rest);
    if (!last) refuse_range(text, where, "has no number after '..'");
    range.first = *first;
    range.last = *last;
    if (rest.starts_with('x') || rest.starts_with('+')) {
        range.step_kind = rest.front();
        rest.remove_prefix(1);
        auto const step = take_number(rest);
        if (!step) refuse_range(text, where, "has no number for its step");
        range.step = *step;
    }
    range.unit = std::string(trimmed(rest));
    return range;
}

/// `low` times `ratio` or plus `step` while it does not pass `last`, but for rounding.
std::vector<std::string> values_of(Range const& range, std::string_view text, std::string_view where) {
    bool const geometric = range.step_kind == 'x';
    if (range.last < range.first) refuse_range(text, where, "ends before it begins");
    if (geometric && !(range.step > 1)) refuse_range(text, where, "does not grow: its ratio must be above 1");
    if (geometric && !(range.first > 0)) refuse_range(text, where, "cannot grow from there: it must begin above 0");
    if (!geometric && !(range.step > 0)) refuse_range(text, where, "does not grow: its step must be above 0");
    constexpr double rounding = 1e-9;
    double const steps =
        geometric ? std::log(range.last / range.first) / std::log(range.step) : (range.last - range.first) / range.step;
    if (!(steps < static_cast<double>(most_values)))
        throw InputError("{}: '{}' has more than {} values (a larger step: 1..4096x2, 0..1000+100)", where, text,
                         most_values);
    std::vector<std::string> values;
    for (double i = 0; i <= std::floor(steps + rounding); ++i) {
        double const value = geometric ? range.first * std::pow(range.step, i) : range.first + range.step * i;
        values.push_back(fmt::format("{}{}{}{}", range.factor ? "x" : "", number_text(value),
                                     range.unit.empty() ? "" : " ", range.unit));
    }
    return values;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (std::size_t begin = 0; begin <= text.size();) {
        std::size_t const end = std::min(text.find(separator, begin), text.size());
        parts.push_back(trimmed(text.substr(begin, end - begin)));
        begin = end + 1;
    }
    return parts;
}

bool has_control_character(std::string_view text) {
    return std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

void refuse_duplicates(SweepAxis const& axis, std::string_view where) {
    std::set<std::string> seen;
    for (std::string const& value : axis.values)
        if (!seen.insert(value).second) throw InputError("{}: {}: '{}' is given twice", where, axis.name, value);
}

}  // namespace

SweepAxis parse_axis(std::string_view text, std::string_view where) {
    auto const equals = text.find('=');
    std::string_view name = trimmed(text.substr(0, equals));
    if (name.starts_with("--")) name.remove_prefix(2);
    if (equals == std::string_view::npos || name.empty() || name.starts_with('-'))
        throw InputError("{}: '{}' is no axis (NAME=VALUES, such as gpus=64..4096x2 or tp=1,2,4)", where, text);
    if (has_control_character(text)) throw InputError("{}: {}: has a control character", where, name);
    SweepAxis axis{.name = std::string(name), .values = {}};
    std::string_view const list = trimmed(text.substr(equals + 1));
    if (list.empty()) throw InputError("{}: {}: has no values (such as {}=1,2,4)", where, name, name);
    for (std::string_view const part : split(list, list.find(';') != std::string_view::npos ? ';' : ',')) {
        if (part.empty()) throw InputError("{}: {}: '{}' has an empty entry", where, name, list);
        if (auto const range = range_from(part, where)) {
            auto const values = values_of(*range, part, where);
            axis.values.insert(axis.values.end(), values.begin(), values.end());
        } else {
            axis.values.emplace_back(part);
        }
        if (axis.values.size() > most_values)
            throw InputError("{}: {}: has more than {} values", where, name, most_values);
    }
    refuse_duplicates(axis, where);
    return axis;
}

std::vector<std::vector<std::size_t>> axis_groups(std::vector<SweepAxis> const& axes,
                                                  std::vector<std::string> const& zipped, std::string_view where) {
    std::vector<std::string> names;
    for (SweepAxis const& axis : axes)
        names.push_back(axis.name);
    std::vector<std::optional<std::size_t>> zip_of(axes.size());
    for (std::size_t z = 0; z < zipped.size(); ++z) {
        if (zipped[z].find(',') == std::string::npos)
            throw InputError("{}: '{}' alone (two axes or more, such as gpus,global-batch)", where, zipped[z]);
        for (std::string_view const part : split(zipped[z], ',')) {
            auto const found = std::find(names.begin(), names.end(), part);
            if (found == names.end())
                throw InputError("{}: no axis '{}'{} (axes: {})", where, part, did_you_mean(part, names), join(names));
            auto& place = zip_of[static_cast<std::size_t>(found - names.begin())];
            if (place) throw InputError("{}: '{}' is named twice", where, part);
            place = z;
        }
    }
    std::vector<std::vector<std::size_t>> groups;
    std::vector<std::size_t> group_of_zip(zipped.size(), axes.size());
    for (std::size_t i = 0; i < axes.size(); ++i) {
        if (!zip_of[i]) {
            groups.push_back({i});
            continue;
        }
        std::size_t& at = group_of_zip[*zip_of[i]];
        if (at == axes.size()) {
            at = groups.size();
            groups.emplace_back();
        }
        groups[at].push_back(i);
        SweepAxis const& head = axes[groups[at].front()];
        if (axes[i].values.size() != head.values.size())
            throw InputError("{}: {} has {} values and {} has {} (axes that advance together need as many)", where,
                             head.name, head.values.size(), axes[i].name, axes[i].values.size());
    }
    return groups;
}

std::int64_t point_count(std::vector<SweepAxis> const& axes, std::vector<std::vector<std::size_t>> const& groups) {
    std::int64_t points = 1;
    for (auto const& group : groups) {
        auto const length = static_cast<std::int64_t>(axes[group.front()].values.size());
        if (points > most_points / length) throw InputError("--axis: the grid has more than {} points", most_points);
        points *= length;
    }
    return points;
}

std::vector<std::size_t> positions_at(std::vector<SweepAxis> const& axes,
                                      std::vector<std::vector<std::size_t>> const& groups, std::int64_t point) {
    std::vector<std::size_t> at(axes.size());
    for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
        auto const length = static_cast<std::int64_t>(axes[group->front()].values.size());
        for (std::size_t const axis : *group)
            at[axis] = static_cast<std::size_t>(point % length);
        point /= length;
    }
    return at;
}

}  // namespace sextant::cli
