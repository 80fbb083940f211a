#include "cli/view/line_chart.hpp"

#include "cli/view/svg_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace sextant::cli {
namespace {

// All lengths in pixels.
constexpr double left = 64;
constexpr double top = 64;
constexpr double wide = 640;
constexpr double tall = 170;
constexpr double between = 62;
constexpr double bottom = 20;
constexpr double right = 24;
constexpr std::array colours{"#3a7ca5", "#d1495b", "#5b8e4d", "#8a6fb0"};

/// 1, 2 or 5 times a power of ten, so that about `count` steps reach `span`.
double round_step(double span, double count) {
    double const raw = span / count;
    double const power = std::pow(10, std::floor(std::log10(raw)));
    for (double const factor : {1.0, 2.0, 5.0})
        if (factor * power >= raw * (1 - 1e-9)) return factor * power;
    return 10 * power;
}

struct Horizontal {
    ChartScale scale;
    double low = 0, high = 1;
    [[nodiscard]] double x(double value) const {
        double const share = scale == ChartScale::linear ? (value - low) / (high - low)
                                                         : std::log(std::max(value, low) / low) / std::log(high / low);
        return left + wide * share;
    }
    [[nodiscard]] std::vector<double> ticks() const {
        std::vector<double> out;
        if (scale == ChartScale::linear) {
            double const step = round_step(high - low, 8);
            for (double v = std::ceil(low / step) * step; v <= high * (1 + 1e-9); v += step)
                out.push_back(v);
            return out;
        }
        for (double power = std::pow(10, std::floor(std::log10(low))); power <= high; power *= 10)
            for (double const factor : {1.0, 2.0, 5.0})
                if (factor * power >= low * (1 - 1e-9) && factor * power <= high * (1 + 1e-9))
                    out.push_back(factor * power);
        return out;
    }
};

Horizontal horizontal_of(LineChart const& chart) {
    double low = INFINITY;
    double high = -INFINITY;
    for (ChartPanel const& panel : chart.panels)
        for (ChartLine const& line : panel.lines)
            for (auto const& [x, y] : line.points) {
                if (chart.scale == ChartScale::logarithmic && x <= 0) continue;
                low = std::min(low, x);
                high = std::max(high, x);
            }
    if (!(low <= high)) return {chart.scale, 1, 2};
    if (chart.scale == ChartScale::linear) low = std::min(low, 0.0);
    if (chart.scale == ChartScale::logarithmic && high < 1.2 * low) return {chart.scale, low / 2, high * 2};
    return {chart.scale, low, high > low ? high : low + 1};
}

std::string panel_svg(ChartPanel const& panel, Horizontal const& axis, double y0) {
    double most = panel.top;
    if (most <= 0)
        for (ChartLine const& line : panel.lines)
            for (auto const& [x, y] : line.points)
                most = std::max(most, y);
    if (most <= 0) most = 1;
    double const step = round_step(most, 4);
    double const ceiling = std::ceil(most / step * (1 - 1e-9)) * step;
    auto const y_of = [&](double value) { return y0 + tall * (1 - std::clamp(value / ceiling, 0.0, 1.0)); };
    std::string grid;
    std::string labels;
    for (double value = 0; value <= ceiling * (1 + 1e-9); value += step) {
        grid += fmt::format("M{} {:.1f}h{}", left, y_of(value), wide);
        labels += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:g}</text>", left - 7, y_of(value) + 4,
                              value);
    }
    double last = -INFINITY;
    for (double const value : axis.ticks()) {
        double const x = axis.x(value);
        grid += fmt::format("M{:.1f} {}v{}", x, y0, tall);
        if (x - last < 34) continue;
        last = x;
        labels +=
            fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:g}</text>", x, y0 + tall + 16, value);
    }
    std::string out = fmt::format(
        "<path d=\"{}\" stroke=\"#e4e4ea\" fill=\"none\"/>\n<g font-size=\"11\" fill=\"#555\">{}</g>\n"
        "<text x=\"{}\" y=\"{}\" font-size=\"12\">{}</text>\n",
        grid, labels, left, y0 - 8, xml(panel.title));
    double legend = left + wide;
    for (std::size_t i = panel.lines.size(); i-- > 0;) {
        ChartLine const& line = panel.lines[i];
        char const* const colour = colours[i % colours.size()];
        std::string path;
        for (auto const& [x, y] : line.points)
            path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", axis.x(x), y_of(y));
        out += fmt::format("<path d=\"{}\" stroke=\"{}\" stroke-width=\"1.5\" fill=\"none\"/>\n", path, colour);
        out += fmt::format("<text x=\"{:.0f}\" y=\"{}\" font-size=\"12\" fill=\"{}\" text-anchor=\"end\">{}</text>\n",
                           legend, y0 - 8, colour, xml(line.name));
        legend -= 9 * static_cast<double>(line.name.size()) + 12;
    }
    return out;
}

}  // namespace

std::string line_chart_svg(LineChart const& chart) {
    Horizontal const axis = horizontal_of(chart);
    auto const panels = static_cast<double>(chart.panels.size());
    double const height = top + panels * (tall + between) - between + bottom + 34;
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:g}\" height=\"{1:g}\" viewBox=\"0 0 {0:g} {1:g}\" "
        "font-family=\"sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
        "<text x=\"{2}\" y=\"26\" font-size=\"15\">{3}</text>\n",
        left + wide + right, height, left, xml(chart.title));
    double y0 = top;
    for (ChartPanel const& panel : chart.panels) {
        out += panel_svg(panel, axis, y0);
        y0 += tall + between;
    }
    out += fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"12\" text-anchor=\"middle\">{}</text>\n</svg>\n",
                       left + wide / 2, height - 14, xml(chart.horizontal));
    return out;
}

}  // namespace sextant::cli
