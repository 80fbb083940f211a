#include "cli/scaling/loss_surface.hpp"

#include "cli/options/number_text.hpp"
#include "cost_models/scaling/chinchilla_law.hpp"

#include <algorithm>
#include <cmath>

namespace sextant::cli {
namespace {

constexpr int steps = 48;

std::vector<double> spaced(double low, double high, double room) {
    std::vector<double> out;
    double const from = std::log10(low) - room;
    double const to = std::log10(high) + room;
    for (int i = 0; i <= steps; ++i)
        out.push_back(std::pow(10, from + (to - from) * i / steps));
    return out;
}

}  // namespace

void SurfaceFrame::include(double parameters, double tokens) {
    if (!(std::isfinite(parameters) && std::isfinite(tokens) && parameters > 0 && tokens > 0)) return;
    n_low = std::min(n_low, parameters);
    n_high = std::max(n_high, parameters);
    d_low = std::min(d_low, tokens);
    d_high = std::max(d_high, tokens);
}

SurfaceChart loss_surface(SurfaceFrame const& frame, double room,
                          std::function<double(double, double)> const& loss_of) {
    SurfaceChart surface{.x = spaced(frame.n_low, frame.n_high, room),
                         .y = spaced(frame.d_low, frame.d_high, room),
                         .z = {},
                         .z_title = "loss",
                         .series = {},
                         .x_axis = {.title = "parameters", .scale = ChartAxis::Scale::logarithmic},
                         .y_axis = {.title = "tokens", .scale = ChartAxis::Scale::logarithmic}};
    for (double const d : surface.y) {
        surface.z.emplace_back();
        for (double const n : surface.x)
            surface.z.back().push_back(loss_of(n, d));
    }
    return surface;
}

PointSeries line_over(SurfaceChart const& surface, std::string name, Draw draw,
                      std::function<double(double)> const& tokens_of) {
    PointSeries line{.name = std::move(name), .draw = draw, .x = {}, .y = {}};
    for (double const n : surface.x) {
        double const d = tokens_of(n);
        if (!(d >= surface.y.front() && d <= surface.y.back())) continue;
        line.x.push_back(n);
        line.y.push_back(d);
    }
    return line;
}

PointSeries equal_compute(SurfaceChart const& surface, double flops) {
    PointSeries line = line_over(surface, power_text(flops) + " FLOP", Draw::dashed,
                                 [&](double n) { return flops / training_flops_per_parameter_token / n; });
    line.role = "quiet";
    return line;
}

}  // namespace sextant::cli
