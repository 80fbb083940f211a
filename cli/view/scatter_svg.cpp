#include "cli/view/scatter_svg.hpp"

#include "cli/view/svg_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>

namespace sextant::cli {
namespace {

// All lengths in pixels.
constexpr double left = 78;
constexpr double top = 64;
constexpr double side = 480;
constexpr double bottom = 62;
constexpr double right = 24;
constexpr double legend_line = 16;
constexpr std::array colours{"#d1495b", "#3a7ca5", "#7a5bb8", "#2f9a68", "#ef8e2c", "#6b7280"};

/// As much as fits over the picture: the end of a reference says more than its middle.
std::string shortened(std::string const& title) {
    constexpr std::size_t most = 54;
    if (title.size() <= most) return title;
    constexpr std::size_t kept = most / 2 - 1;
    return title.substr(0, kept) + "..." + title.substr(title.size() - kept);
}

std::string decade_text(int exponent) {
    constexpr std::array units{"ns", "us", "ms", "s"};
    int const unit = std::clamp((exponent + 9) / 3 - (exponent + 9 < 0 ? 1 : 0), 0, 3);
    double const value = std::pow(10.0, exponent + 9 - 3 * unit);
    return fmt::format("{:g} {}", value, units[static_cast<std::size_t>(unit)]);
}

/// The decades that hold every point, at least one.
struct Axis {
    int low = 0;
    int high = 1;
    [[nodiscard]] double at(double seconds) const { return side * (std::log10(seconds) - low) / (high - low); }
    [[nodiscard]] double x(double seconds) const { return left + at(seconds); }
    [[nodiscard]] double y(double seconds) const { return top + side - at(seconds); }
};

Axis axis_of(Scatter const& scatter) {
    double low = std::numeric_limits<double>::infinity();
    double high = 0;
    for (ScatterSeries const& series : scatter.series)
        for (auto const& [measured, predicted] : series.points) {
            low = std::min({low, measured, predicted});
            high = std::max({high, measured, predicted});
        }
    if (!(high > 0)) return {-6, -3};
    Axis axis{static_cast<int>(std::floor(std::log10(low))), static_cast<int>(std::ceil(std::log10(high)))};
    if (axis.high <= axis.low) axis.high = axis.low + 1;
    return axis;
}

std::string frame(Axis const& axis) {
    std::string grid;
    std::string labels;
    for (int e = axis.low; e <= axis.high; ++e) {
        double const t = std::pow(10.0, e);
        grid += fmt::format("M{0:.1f} {1}v{2}M{3} {4:.1f}h{2}", axis.x(t), top, side, left, axis.y(t));
        labels += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>", axis.x(t),
                              top + side + 18, decade_text(e));
        labels += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", left - 7, axis.y(t) + 4,
                              decade_text(e));
    }
    return fmt::format("<path d=\"{}\" stroke=\"#e4e4ea\" fill=\"none\"/>\n<g font-size=\"11\" fill=\"#555\">{}</g>\n",
                       grid, labels);
}

/// A line on which predicted is `factor` times measured, cut off at the frame.
std::string factor_line(Axis const& axis, double factor, char const* style) {
    double const low = std::pow(10.0, axis.low);
    double const high = std::pow(10.0, axis.high);
    double const from = factor < 1 ? low / factor : low;
    double const to = factor > 1 ? high / factor : high;
    return fmt::format("<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" {}/>\n", axis.x(from), axis.y(from * factor),
                       axis.x(to), axis.y(to * factor), style);
}

std::string dots(Axis const& axis, ScatterSeries const& series, char const* colour) {
    std::set<std::pair<std::int64_t, std::int64_t>> places;
    for (auto const& [measured, predicted] : series.points)
        places.emplace(std::llround(2 * axis.x(measured)), std::llround(2 * axis.y(predicted)));
    std::string path;
    for (auto const& [x, y] : places)
        path += fmt::format("M{:g} {:g}h0", static_cast<double>(x) / 2, static_cast<double>(y) / 2);
    return fmt::format(
        "<path d=\"{}\" stroke=\"{}\" stroke-width=\"3.2\" stroke-linecap=\"round\" stroke-opacity=\"0.55\"/>\n", path,
        colour);
}

}  // namespace

std::string scatter_svg(Scatter const& scatter) {
    Axis const axis = axis_of(scatter);
    double const width = left + side + right;
    double const height = top + side + bottom + legend_line * static_cast<double>(scatter.series.size());
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:g}\" height=\"{1:g}\" viewBox=\"0 0 {0:g} {1:g}\" "
        "font-family=\"sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        width, height);
    out += fmt::format("<text x=\"{}\" y=\"26\" font-size=\"16\">{}</text>\n", left, xml(shortened(scatter.title)));
    out +=
        fmt::format("<text x=\"{}\" y=\"46\" font-size=\"12\" fill=\"#555\">{}</text>\n", left, xml(scatter.subtitle));
    out += frame(axis);
    for (double const factor : {0.8, 1.25})
        out += factor_line(axis, factor, "stroke=\"#b5b5bf\" stroke-dasharray=\"4 4\" fill=\"none\"");
    out += factor_line(axis, 1, "stroke=\"#8a8a94\" fill=\"none\"");
    // The last series is usually the small one that matters; it is drawn over the others.
    for (std::size_t i = scatter.series.size(); i > 0; --i)
        out += dots(axis, scatter.series[i - 1], colours[(i - 1) % colours.size()]);
    out += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" font-size=\"12\" text-anchor=\"middle\">measured</text>\n",
                       left + side / 2, top + side + 40);
    out += fmt::format(
        "<text transform=\"translate(18 {:.0f}) rotate(-90)\" font-size=\"12\" "
        "text-anchor=\"middle\">predicted</text>\n",
        top + side / 2);
    for (std::size_t i = 0; i < scatter.series.size(); ++i) {
        double const y = top + side + bottom + legend_line * static_cast<double>(i);
        out += fmt::format(
            "<circle cx=\"{}\" cy=\"{:g}\" r=\"4\" fill=\"{}\"/><text x=\"{}\" y=\"{:g}\" font-size=\"12\">{} "
            "({})</text>\n",
            left + 5, y - 4, colours[i % colours.size()], left + 16, y, xml(scatter.series[i].name),
            scatter.series[i].points.size());
    }
    return out + "</svg>\n";
}

std::string file_name_of(std::string const& text) {
    std::string out;
    for (char const c : text) {
        bool const plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
        if (plain)
            out += c;
        else if (!out.empty() && out.back() != '_')
            out += '_';
    }
    while (!out.empty() && (out.front() == '.' || out.front() == '_'))
        out.erase(0, 1);
    constexpr std::size_t longest = 100;
    if (out.size() > longest) out = out.substr(0, longest / 2) + "__" + out.substr(out.size() - longest / 2);
    return out.empty() ? "plot" : out;
}

}  // namespace sextant::cli
