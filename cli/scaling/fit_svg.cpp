#include "cli/options/number_text.hpp"
#include "cli/scaling/fit.hpp"
#include "cli/view/line_chart.hpp"
#include "cli/view/svg_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace sextant::cli {
namespace {

// Lengths in pixels.
constexpr double left = 78;
constexpr double top = 64;
constexpr double plot_width = 560;
constexpr double plot_height = 420;
constexpr double bottom = 62;
constexpr double right = 24;
constexpr std::array colours{"#3a7ca5", "#d1495b", "#2f9a68", "#7a5bb8", "#ef8e2c", "#6b7280", "#17888f", "#b23a8e"};

struct Point {
    double x;
    double y;
};

/// One axis, logarithmic or not, with a little room at the ends.
struct Axis {
    double low;
    double high;
    bool logarithmic;
    [[nodiscard]] double share(double value) const {
        double const at = logarithmic ? std::log10(value) : value;
        return (at - low) / (high - low);
    }
};

Axis axis_over(std::vector<double> values, ChartScale scale) {
    bool const logarithmic = scale == ChartScale::logarithmic;
    if (logarithmic)
        for (double& v : values)
            v = std::log10(v);
    auto const [low, high] = std::minmax_element(values.begin(), values.end());
    double const room = std::max(0.04 * (*high - *low), 1e-9 + 1e-3 * std::abs(*high));
    return {*low - room, *high + room, logarithmic};
}

/// Ticks: powers of ten (and their 3) when logarithmic, round steps otherwise.
std::vector<double> ticks(Axis const& axis) {
    std::vector<double> out;
    if (axis.logarithmic) {
        bool const few = axis.high - axis.low < 3;
        for (int e = static_cast<int>(std::floor(axis.low)); e <= static_cast<int>(std::ceil(axis.high)); ++e)
            for (double const digit : {1.0, 3.0}) {
                if (digit > 1 && !few) continue;
                double const v = digit * std::pow(10, e);
                if (std::log10(v) >= axis.low && std::log10(v) <= axis.high) out.push_back(v);
            }
        return out;
    }
    double const raw = (axis.high - axis.low) / 6;
    double const power = std::pow(10, std::floor(std::log10(raw)));
    double const step = power * (raw / power < 2 ? 2 : raw / power < 5 ? 5 : 10);
    for (double v = std::ceil(axis.low / step) * step; v <= axis.high; v += step)
        out.push_back(v);
    return out;
}

class Picture {
public:
    Picture(Axis x, Axis y) : x_(x), y_(y) {}

    void frame(std::string const& title, std::string const& subtitle, char const* x_label, char const* y_label) {
        double const width = left + plot_width + right;
        double const height = top + plot_height + bottom;
        out_ += fmt::format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:g}\" height=\"{1:g}\" viewBox=\"0 0 {0:g} {1:g}\" "
            "font-family=\"sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
            width, height);
        out_ += fmt::format(
            "<text x=\"{}\" y=\"26\" font-size=\"16\">{}</text>\n<text x=\"{}\" y=\"46\" font-size=\"12\" "
            "fill=\"#555\">{}</text>\n",
            left, xml(title), left, xml(subtitle));
        for (double const v : ticks(x_))
            out_ += fmt::format(
                "<path d=\"M{0:.1f} {1}v{2}\" stroke=\"#e4e4ea\"/><text x=\"{0:.1f}\" y=\"{3}\" font-size=\"11\" "
                "fill=\"#555\" text-anchor=\"middle\">{4}</text>\n",
                px(v), top, plot_height, top + plot_height + 18,
                x_.logarithmic ? power_text(v) : fmt::format("{:g}", v));
        for (double const v : ticks(y_))
            out_ += fmt::format(
                "<path d=\"M{0} {1:.1f}h{2}\" stroke=\"#e4e4ea\"/><text x=\"{3}\" y=\"{4:.1f}\" font-size=\"11\" "
                "fill=\"#555\" text-anchor=\"end\">{5}</text>\n",
                left, py(v), plot_width, left - 7, py(v) + 4,
                y_.logarithmic ? power_text(v) : fmt::format("{:.4g}", v));
        out_ += fmt::format(
            "<text x=\"{:.0f}\" y=\"{:.0f}\" font-size=\"12\" text-anchor=\"middle\">{}</text>\n"
            "<text transform=\"translate(18 {:.0f}) rotate(-90)\" font-size=\"12\" text-anchor=\"middle\">{}</text>\n",
            left + plot_width / 2, top + plot_height + 44, x_label, top + plot_height / 2, y_label);
    }

    void dots(std::vector<Point> const& points, char const* colour, double size = 2.6) {
        for (Point const& p : points)
            if (inside(p))
                out_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\" fill-opacity=\"0.6\"/>\n",
                                    px(p.x), py(p.y), size, colour);
    }

    void line(std::vector<Point> const& points, char const* colour) {
        std::string path;
        bool drawing = false;
        for (Point const& p : points) {
            if (!inside(p)) {
                drawing = false;
                continue;
            }
            path += fmt::format("{}{:.1f} {:.1f}", drawing ? "L" : "M", px(p.x), py(p.y));
            drawing = true;
        }
        if (!path.empty())
            out_ += fmt::format("<path d=\"{}\" stroke=\"{}\" stroke-width=\"1.4\" fill=\"none\"/>\n", path, colour);
    }

    std::string done() { return std::move(out_) + "</svg>\n"; }

private:
    [[nodiscard]] bool inside(Point const& p) const {
        double const a = x_.share(p.x);
        double const b = y_.share(p.y);
        return a >= 0 && a <= 1 && b >= 0 && b <= 1;
    }
    [[nodiscard]] double px(double v) const { return left + plot_width * x_.share(v); }
    [[nodiscard]] double py(double v) const { return top + plot_height * (1 - y_.share(v)); }
    Axis x_;
    Axis y_;
    std::string out_;
};

/// The fitted parabola over the sizes of its rows.
std::vector<Point> parabola(std::vector<Point> const& rows, IsoflopVertex const& v, ParabolaOf of) {
    auto const [low, high] =
        std::minmax_element(rows.begin(), rows.end(), [](Point const& a, Point const& b) { return a.x < b.x; });
    std::vector<Point> out;
    constexpr int steps = 40;
    for (int i = 0; i <= steps; ++i) {
        double const x = low->x * std::pow(high->x / low->x, static_cast<double>(i) / steps);
        double const rise = v.curvature * std::pow(std::log(x / v.parameters), 2);
        out.push_back({x, of == ParabolaOf::loss ? v.loss + rise : v.loss * std::exp(rise)});
    }
    return out;
}

std::string file_part(std::string const& path) { return path.substr(path.find_last_of('/') + 1); }

std::string isoflop_svg(ScalingFitReport const& r) {
    auto const& sizes = r.table.column("parameters");
    auto const& losses = r.table.column("loss");
    Picture picture(axis_over(sizes, ChartScale::logarithmic), axis_over(losses, ChartScale::linear));
    picture.frame("IsoFLOP: " + file_part(r.table.name),
                  fmt::format("N* ~ C^{:.4f}; large dots are the vertices", r.isoflop->size.exponent), "parameters",
                  "loss");
    std::size_t colour = 0;
    for (IsoflopVertex const& v : r.isoflop->vertices) {
        if (!v.dropped.empty()) continue;
        std::vector<Point> points;
        for (std::size_t i = 0; i < sizes.size(); ++i)
            if (std::abs(std::log10(r.table.column("flops")[i] / v.flops)) <= 0.05)
                points.push_back({sizes[i], losses[i]});
        picture.dots(points, colours[colour % colours.size()]);
        picture.line(parabola(points, v, r.isoflop->of), colours[colour % colours.size()]);
        picture.dots({{v.parameters, v.loss}}, colours[colour % colours.size()], 6);
        ++colour;
    }
    return picture.done();
}

/// Predicted against measured, from the residuals.
std::string study_svg(ScalingFitReport const& r) {
    LawStudy const& study = *r.study;
    std::vector<double> const flops = flops_of_rows(study.problem);
    std::vector<double> predicted;
    for (std::size_t i = 0; i < study.problem.rows(); ++i)
        predicted.push_back(study.problem.objective.of_logarithms()
                                ? study.problem.measured[i] * std::exp(study.fit.residuals[i])
                                : study.problem.measured[i] + study.fit.residuals[i]);
    std::vector<double> both = study.problem.measured;
    both.insert(both.end(), predicted.begin(), predicted.end());
    char const* const output = study.problem.form->output_name;
    bool const over_compute = !flops.empty();
    auto const [lowest, highest] = std::minmax_element(both.begin(), both.end());
    // Over less a logarithmic axis has no ticks to read.
    ChartScale const scale = *highest > 5 * *lowest ? ChartScale::logarithmic : ChartScale::linear;
    Picture picture(over_compute ? axis_over(flops, ChartScale::logarithmic) : axis_over(both, scale),
                    axis_over(both, scale));
    picture.frame(fmt::format("{}: {}", r.law, file_part(r.table.name)),
                  over_compute ? "blue: measured, red: the fitted law" : "line: predicted equals measured",
                  over_compute ? "training compute, FLOPs" : "measured", over_compute ? output : "predicted");
    std::vector<Point> measured_points;
    std::vector<Point> fitted_points;
    for (std::size_t i = 0; i < study.problem.rows(); ++i) {
        double const x = over_compute ? flops[i] : study.problem.measured[i];
        if (over_compute) measured_points.push_back({x, study.problem.measured[i]});
        fitted_points.push_back({x, predicted[i]});
    }
    picture.dots(measured_points, colours[0]);
    picture.dots(fitted_points, colours[1], 1.6);
    if (!over_compute) {
        picture.line({{*lowest, *lowest}, {*highest, *highest}}, colours[5]);
    }
    return picture.done();
}

std::string envelope_svg(ScalingFitReport const& r) {
    Picture picture(axis_over(r.table.column("flops"), ChartScale::logarithmic),
                    axis_over(r.table.column("loss"), ChartScale::linear));
    picture.frame("Envelope: " + file_part(r.table.name),
                  fmt::format("N* ~ C^{:.4f}; red: the lowest curve at each compute", r.envelope->size.exponent),
                  "training compute, FLOPs", "loss");
    std::vector<Point> rows;
    for (std::size_t i = 0; i < r.table.rows(); ++i)
        rows.push_back({r.table.column("flops")[i], r.table.column("loss")[i]});
    picture.dots(rows, colours[0], 2);
    std::vector<Point> lowest;
    for (IsoflopRow const& p : r.envelope->points)
        lowest.push_back({p.flops, p.loss});
    picture.dots(lowest, colours[1], 2);
    return picture.done();
}

/// N* over compute.
std::string allocation_svg(ScalingFitReport const& r) {
    std::vector<double> flops = r.table.column("flops");
    std::vector<double> const& sizes = r.table.column("parameters");
    Picture picture(axis_over(flops, ChartScale::logarithmic), axis_over(sizes, ChartScale::logarithmic));
    PowerLaw const& size = r.allocation->first;
    picture.frame("Compute-optimal sizes: " + file_part(r.table.name), fmt::format("N* ~ C^{:.4f}", size.exponent),
                  "training compute, FLOPs", "parameters");
    std::vector<Point> points;
    for (std::size_t i = 0; i < flops.size(); ++i)
        points.push_back({flops[i], sizes[i]});
    picture.dots(points, colours[0]);
    std::sort(flops.begin(), flops.end());
    picture.line({{flops.front(), size(flops.front())}, {flops.back(), size(flops.back())}}, colours[1]);
    return picture.done();
}

/// B* over size.
std::string batch_svg(ScalingFitReport const& r) {
    std::vector<Point> points;
    std::vector<double> sizes;
    std::vector<double> batches;
    for (CriticalBatchOfSize const& s : r.batch->sizes) {
        points.push_back({s.parameters, s.batch_at_overhead});
        sizes.push_back(s.parameters);
        batches.push_back(s.batch_at_overhead);
    }
    Picture picture(axis_over(sizes, ChartScale::logarithmic), axis_over(batches, ChartScale::logarithmic));
    picture.frame("Critical batch: " + file_part(r.table.name),
                  fmt::format("B* ~ N^{:.4f}", r.batch->at_overhead.exponent), "size", "batch");
    picture.dots(points, colours[0], 4);
    std::vector<Point> line;
    for (double const n : sizes)
        line.push_back({n, r.batch->at_overhead(n)});
    picture.line(line, colours[1]);
    return picture.done();
}

/// Learning rates of all runs over compute, and the law through the near-optimal ones.
std::string tuning_svg(ScalingFitReport const& r) {
    std::vector<Point> points;
    std::vector<double> flops;
    for (std::size_t i = 0; i < r.table.rows(); ++i) {
        flops.push_back(6 * r.table.column("parameters")[i] * r.table.column("tokens")[i]);
        points.push_back({flops.back(), r.table.column("learning_rate")[i]});
    }
    Picture picture(axis_over(flops, ChartScale::logarithmic),
                    axis_over(r.table.column("learning_rate"), ChartScale::logarithmic));
    picture.frame("Learning rate: " + file_part(r.table.name),
                  fmt::format("lr ~ C^{:.4f}", r.tuning->lr_by_flops.exponent), "training compute, FLOPs",
                  "learning rate");
    picture.dots(points, colours[0]);
    std::sort(flops.begin(), flops.end());
    picture.line(
        {{flops.front(), r.tuning->lr_by_flops(flops.front())}, {flops.back(), r.tuning->lr_by_flops(flops.back())}},
        colours[1]);
    return picture.done();
}

}  // namespace

std::string scaling_fit_svg(ScalingFitReport const& r) {
    if (r.isoflop) return isoflop_svg(r);
    if (r.envelope) return envelope_svg(r);
    if (r.allocation) return allocation_svg(r);
    if (r.batch) return batch_svg(r);
    if (r.tuning) return tuning_svg(r);
    return study_svg(r);
}

}  // namespace sextant::cli
