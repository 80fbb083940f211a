#pragma once

#include "core/spec/residual_grid.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace sextant {

/// A measured point of a residual: where, and the logarithm of measured / predicted.
struct ResidualPoint {
    std::array<double, ResidualGrid::most_axes> at{};
    double log_ratio = 0;
};

struct ResidualSmoothing {
    double curvature = 0.1;  ///< weight of second differences, per unit of the axis
    double slope = 0.07;     ///< weight of first differences
    double size = 0.02;      ///< weight of the values themselves: what no point supports goes to zero
    double robust_scale = 0.08;
    int rounds = 4;  ///< of reweighting
};

/// The smooth grid that explains the points: minimises sum_i rho(point - grid)^2 + smoothing terms, rho by reweighting
/// (pseudo-Huber). Knots outside of the points' range are left out, so that the grid covers what was measured.
/// Source: penalised tensor-product splines of degree one (Eilers and Marx 2003); Eigen's sparse LDLT.
/// @throws InputError: no points, or knots of an axis that the points do not spread over at all.
ResidualGrid fit_residual(std::span<ResidualPoint const> points, std::vector<GridAxis> axes,
                          ResidualSmoothing const& smoothing);

}  // namespace sextant
