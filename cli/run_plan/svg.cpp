#include "cli/run_plan/view.hpp"
#include "cli/view/svg_text.hpp"
#include "planner/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sextant::cli {
namespace {

// All lengths in pixels.
constexpr double left = 74;
constexpr double top = 58;
constexpr double wide = 620;
constexpr double high = 380;
constexpr double bottom = 58;
constexpr double right = 26;

/// A logarithmic axis over whole decades.
struct Axis {
    double low = 0;
    double high = 1;
    [[nodiscard]] double share(double value) const { return (std::log10(value) - low) / (high - low); }
};

Axis axis_over(double least, double most) {
    Axis axis{std::floor(std::log10(least)), std::ceil(std::log10(most))};
    if (axis.high <= axis.low) axis.high = axis.low + 1;
    return axis;
}

struct Frame {
    Axis counts;
    Axis days;
    [[nodiscard]] double x(double accelerators) const { return left + wide * counts.share(accelerators); }
    [[nodiscard]] double y(double time) const { return top + high * (1 - days.share(time)); }
};

std::string grid(Frame const& frame) {
    std::string lines;
    std::string labels;
    for (int e = static_cast<int>(frame.counts.low); e <= static_cast<int>(frame.counts.high); ++e) {
        double const x = frame.x(std::pow(10.0, e));
        lines += fmt::format("M{:.1f} {}v{}", x, top, high);
        labels += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>", x, top + high + 18,
                              grouped_digits(std::llround(std::pow(10.0, e))));
    }
    for (int e = static_cast<int>(frame.days.low); e <= static_cast<int>(frame.days.high); ++e) {
        double const y = frame.y(std::pow(10.0, e));
        lines += fmt::format("M{} {:.1f}h{}", left, y, wide);
        labels += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:g}</text>", left - 7, y + 4,
                              std::pow(10.0, e));
    }
    return fmt::format("<path d=\"{}\" stroke=\"#e4e4ea\" fill=\"none\"/>\n<g font-size=\"11\" fill=\"#555\">{}</g>\n",
                       lines, labels);
}

}  // namespace

std::string curve_svg(ScalingCurve const& curve, std::string const& title) {
    std::vector<CurvePoint const*> points;
    for (CurvePoint const& point : curve.points)
        if (point.run) points.push_back(&point);
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:g}\" height=\"{1:g}\" viewBox=\"0 0 {0:g} {1:g}\" "
        "font-family=\"sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
        "<text x=\"{2}\" y=\"24\" font-size=\"16\">{3}</text>\n",
        left + wide + right, top + high + bottom, left, xml(title));
    if (points.empty())
        return out +
               fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"13\">no number of accelerators fits</text>\n</svg>\n",
                           left, top + high / 2);
    auto const day_of = [](CurvePoint const* p) { return p->run->wall.in(units::day); };
    double most = 0;
    double least = day_of(points.front());
    for (CurvePoint const* p : points) {
        most = std::max(most, day_of(p));
        least = std::min(least, day_of(p));
    }
    auto const first = static_cast<double>(points.front()->accelerators);
    auto const last = static_cast<double>(points.back()->accelerators);
    double const perfect = day_of(points.front()) * first / last;
    Frame const frame{axis_over(first, last), axis_over(std::min(least, perfect), most)};
    out += grid(frame);
    out += fmt::format("<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" stroke=\"#8a8a94\" stroke-dasharray=\"4 4\"/>\n",
                       frame.x(first), frame.y(day_of(points.front())), frame.x(last), frame.y(perfect));
    std::string line;
    std::string dots;
    for (CurvePoint const* p : points) {
        double const x = frame.x(static_cast<double>(p->accelerators));
        double const y = frame.y(day_of(p));
        line += fmt::format("{}{:.1f} {:.1f}", line.empty() ? "M" : "L", x, y);
        dots +=
            fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"/><text x=\"{:.1f}\" y=\"{:.1f}\">{:.0f} %</text>",
                        x, y, x + 6, y - 7, 100 * p->efficiency);
    }
    out += fmt::format("<path d=\"{}\" stroke=\"#3a7ca5\" stroke-width=\"2\" fill=\"none\"/>\n", line);
    out += fmt::format("<g fill=\"#3a7ca5\" font-size=\"11\">{}</g>\n", dots);
    out += fmt::format(
        "<text x=\"{}\" y=\"43\" font-size=\"12\" fill=\"#555\">days of wall clock; figures: efficiency; dashed: "
        "perfect scaling</text>\n<text x=\"{:.0f}\" y=\"{:.0f}\" font-size=\"12\" "
        "text-anchor=\"middle\">accelerators</text>\n</svg>\n",
        left, left + wide / 2, top + high + 42);
    return out;
}

}  // namespace sextant::cli
