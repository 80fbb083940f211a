#pragma once

#include "calibrate/residual_fit.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace sextant {

/// What a residual is taken for that bends smoothly: a Gaussian process with the Matern 3/2 kernel and noise.
struct FieldScales {
    std::array<double, ResidualGrid::most_axes> lengths{};  ///< of each coordinate, over which points tell of another
    double variance = 0;                                    ///< of the residual
    double noise = 0;                                       ///< variance of one point beside it
    double twins = 0;                                       ///< correlation with the field of a twin
};

/// The scales under which the points are likeliest, about weak priors (lengths: `usual`, a factor of e either way).
/// Of many points an even selection decides. The same points give the same scales, in any order that they come in.
/// Source: Rasmussen and Williams 2006, ch. 5; Ceres's GradientProblemSolver.
/// @throws InputError: no points. @pre at most `ResidualGrid::most_axes` lengths, one for each first coordinate
FieldScales find_scales(std::span<ResidualPoint const> points, std::span<double const> usual);

/// The points with what sticks out cut to five times what is usual (the median deviation from the median, at least 2 %,
/// both times 1.48): for scales that one point in error does not decide.
std::vector<ResidualPoint> levelled(std::vector<ResidualPoint> points);

/// The points without those that are off by more than `most_usual` times what is usual from what all the others say of
/// them: the farthest goes first, and what the rest say is asked anew. Usual is the larger of two: the median error of
/// leave-one-out predictions, and what the process expects there, as far as it is right about the others (both times
/// 1.48, as of a normal distribution). Assumed: beyond 15 times it is no kernel that changes. Fewer than 20 points are
/// kept. Source: leave-one-out predictions of Rasmussen and Williams 2006, eq. 5.12.
/// @pre `scales` of as many first coordinates as `axes`
std::vector<ResidualPoint> without_outliers(std::span<ResidualPoint const> points, FieldScales const& scales,
                                            std::size_t axes, double most_usual = 15);

/// The process's mean at the crossings of the knots, given the points; knots outside of the points' range are left out,
/// and where no point is near, the mean is zero. Source: ibid., ch. 2; Eigen's LLT.
/// @throws InputError: no points.
ResidualGrid field_grid(std::span<ResidualPoint const> points, std::vector<GridAxis> axes, FieldScales const& scales);

}  // namespace sextant
