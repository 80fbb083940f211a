#pragma once

#include "core/spec/residual_grid.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace sextant {

/// A measured point of a residual: where it lies on each of the grids, one after the other, and the logarithm of
/// measured / predicted.
struct ResidualPoint {
    std::array<double, 2 * ResidualGrid::most_axes> at{};
    double log_ratio = 0;
    bool of_twin = false;  ///< measured on another device of the same chip
};

struct ResidualSmoothing {
    double curvature = 0.1;  ///< weight of second differences, per unit of the axis
    double slope = 0.07;     ///< weight of first differences
    double size = 0.02;      ///< weight of the values themselves: what no point supports goes to zero
};

/// One of the grids whose sum explains the points.
struct ResidualLayer {
    std::vector<GridAxis> axes;
    ResidualSmoothing smoothing;
    std::size_t first = 0;  ///< of the coordinates of a point that lie on `axes`

    [[nodiscard]] std::span<double const> of(ResidualPoint const& point) const {
        return std::span(point.at).subspan(first, axes.size());
    }
};

/// Knots from the last one at or below the points to the first one at or above them.
/// @pre there are points
GridAxis trimmed_axis(GridAxis axis, std::size_t coordinate, std::span<ResidualPoint const> points);

/// The smooth grids whose sum explains the points, one per layer: minimises sum_i rho(point - sum of grids)^2 +
/// smoothing terms, rho by reweighting (pseudo-Huber beyond `robust_scale`). Knots outside of the points' range are
/// left out, so that a grid covers what was measured. Source: penalised tensor-product splines of degree one (Eilers
/// and Marx 2003); Eigen's sparse LDLT.
/// @throws InputError: no points, or knots of an axis that the points do not spread over at all.
std::vector<ResidualGrid> fit_residual(std::span<ResidualPoint const> points, std::vector<ResidualLayer> layers,
                                       double robust_scale);

}  // namespace sextant
