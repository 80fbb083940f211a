#pragma once

#include "cli/page/chart.hpp"

#include <functional>

namespace sextant::cli {

/// Where a surface is drawn: from the least to the most of N and D, with room beside them.
struct SurfaceFrame {
    double n_low = 1e300;
    double n_high = 0;
    double d_low = 1e300;
    double d_high = 0;
    /// Grows until the point lies inside.
    void include(double parameters, double tokens);
};

/// Losses over N and D (both logarithmic) as a surface without lines on it.
/// @param room decades beside the frame. @param loss_of may return what is not finite: a gap.
SurfaceChart loss_surface(SurfaceFrame const& frame, double room,
                          std::function<double(double parameters, double tokens)> const& loss_of);

/// The line of equal compute 6 N D = `flops` over the surface.
PointSeries equal_compute(SurfaceChart const& surface, double flops);

/// D over N as a line across the surface; points outside are left out.
PointSeries line_over(SurfaceChart const& surface, std::string name, Draw draw,
                      std::function<double(double parameters)> const& tokens_of);

}  // namespace sextant::cli
