#include "cli/sweep/sensitivity.hpp"

#include "cli/sweep/paired_values.hpp"
#include "cli/sweep/table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace sextant::cli {
namespace {

/// Sums of a figure over the points that share something.
struct Sums {
    double count = 0;
    double mean = 0;
    double squares = 0;  ///< of the deviations from the mean (Welford)

    void add(double value) {
        count += 1;
        double const before = value - mean;
        mean += before / count;
        squares += before * (value - mean);
    }
};

/// One dimension of the grid and how points lie along it.
struct Dimension {
    std::vector<std::size_t> const& group;
    std::size_t length;
    std::size_t stride;  ///< points between neighbours

    [[nodiscard]] std::size_t level(std::size_t point) const { return point / stride % length; }
    /// Points that differ in this dimension only have the same line.
    [[nodiscard]] std::size_t line(std::size_t point) const {
        return point / (stride * length) * stride + point % stride;
    }
    [[nodiscard]] std::size_t point(std::size_t line, std::size_t level) const {
        return line / stride * stride * length + level * stride + line % stride;
    }
};

/// The number that a value begins with, behind the x of a factor; nothing for names.
std::optional<double> leading_number(std::string const& text, std::string& unit) {
    std::size_t const begin = text.starts_with('x') ? 1 : 0;
    double value = 0;
    auto const [stop, error] = std::from_chars(text.data() + begin, text.data() + text.size(), value);
    if (error != std::errc{} || !(value > 0) || !std::isfinite(value)) return std::nullopt;
    unit = text.substr(0, begin) + std::string(stop, text.data() + text.size());
    return value;
}

/// Logarithms of an axis' values; empty when they are no positive numbers of one unit, or of several axes together.
std::vector<double> logarithms(std::vector<SweepAxis> const& axes, std::vector<std::size_t> const& group) {
    if (group.size() != 1) return {};
    std::vector<double> out;
    std::string first_unit;
    for (std::string const& text : axes[group.front()].values) {
        std::string unit;
        auto const value = leading_number(text, unit);
        if (out.empty()) first_unit = unit;
        if (!value || unit != first_unit) return {};
        out.push_back(std::log(*value));
    }
    return out;
}

std::optional<double> elasticity(Dimension const& dimension, std::vector<double> const& x,
                                 std::vector<double> const& values) {
    if (x.size() < 2) return std::nullopt;
    std::size_t const lines = values.size() / dimension.length;
    std::vector<Sums> mean_x(lines);
    std::vector<Sums> mean_y(lines);
    for (std::size_t point = 0; point < values.size(); ++point) {
        if (!std::isfinite(values[point])) continue;
        if (!(values[point] > 0)) return std::nullopt;
        mean_x[dimension.line(point)].add(x[dimension.level(point)]);
        mean_y[dimension.line(point)].add(std::log(values[point]));
    }
    double products = 0;
    double squares = 0;
    for (std::size_t point = 0; point < values.size(); ++point) {
        if (!std::isfinite(values[point])) continue;
        std::size_t const line = dimension.line(point);
        double const dx = x[dimension.level(point)] - mean_x[line].mean;
        products += dx * (std::log(values[point]) - mean_y[line].mean);
        squares += dx * dx;
    }
    if (!(squares > 0)) return std::nullopt;
    return products / squares;
}

std::string joined(std::vector<SweepAxis> const& axes, std::vector<std::size_t> const& group,
                   std::optional<std::size_t> level) {
    std::string out;
    for (std::size_t const axis : group)
        out += (out.empty() ? "" : "+") + (level ? axes[axis].values[*level] : axes[axis].name);
    return out;
}

PairedValues paired_values(Dimension const& dimension, std::vector<double> const& values) {
    PairedValues out(dimension.length);
    std::vector<double> figures(dimension.length);
    for (std::size_t line = 0; line < values.size() / dimension.length; ++line) {
        for (std::size_t level = 0; level < dimension.length; ++level)
            figures[level] = values[dimension.point(line, level)];
        out.add_line(figures);
    }
    return out;
}

AxisEffect effect_of(Dimension const& dimension, std::vector<SweepAxis> const& axes, std::vector<double> const& values,
                     Sums const& all) {
    PairedValues::Effects const found = paired_values(dimension, values).effects();
    AxisEffect effect{.axis = joined(axes, dimension.group, std::nullopt), .pairs = found.pairs};
    for (std::size_t level = 0; level < found.means.size(); ++level) {
        auto const& mean = found.means[level];
        if (!mean) continue;
        if (!effect.least || *mean < *effect.least) {
            effect.least = mean;
            effect.least_at = joined(axes, dimension.group, level);
        }
        if (!effect.most || *mean > *effect.most) {
            effect.most = mean;
            effect.most_at = joined(axes, dimension.group, level);
        }
    }
    if (all.squares > 0) {
        effect.first_order = found.explained / all.squares;
        effect.total = found.within / all.squares;
    }
    effect.elasticity = elasticity(dimension, logarithms(axes, dimension.group), values);
    return effect;
}

}  // namespace

Sensitivity sensitivity_of(std::string metric, std::vector<SweepAxis> const& axes,
                           std::vector<std::vector<std::size_t>> const& groups, std::vector<double> const& values) {
    Sensitivity out{.metric = std::move(metric), .effects = {}};
    Sums all;
    for (double const value : values)
        if (std::isfinite(value)) all.add(value);
    out.mean = all.mean;
    out.deviation = all.count > 0 ? std::sqrt(all.squares / all.count) : 0;
    out.used = static_cast<std::int64_t>(all.count);
    out.points = static_cast<std::int64_t>(values.size());
    if (all.count == 0) return out;
    std::size_t stride = values.size();
    for (auto const& group : groups) {
        std::size_t const length = axes[group.front()].values.size();
        stride /= length;
        out.effects.push_back(effect_of({group, length, stride}, axes, values, all));
    }
    std::stable_sort(out.effects.begin(), out.effects.end(),
                     [](AxisEffect const& a, AxisEffect const& b) { return a.total > b.total; });
    return out;
}

}  // namespace sextant::cli
