#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sextant::cli {

/// How one dimension of a grid moves a figure.
struct AxisEffect {
    std::string axis;  ///< its name; of axes that advance together "tp+gpus"
    /// Mean of the figure over all points with one value of the axis, for the value where it is least and most.
    double least = 0;
    double most = 0;
    std::string least_at;  ///< the axis' value there
    std::string most_at;
    /// Var(E[y | axis]) / Var(y): the share of the variance that this axis explains alone (first-order Sobol index on
    /// the grid, every point alike).
    double first_order = 0;
    /// E[Var(y | all other axes)] / Var(y): with all interactions that it takes part in (total Sobol index).
    double total = 0;
    /// d ln y / d ln x, least squares within points that differ in this axis only; absent: the axis is no positive
    /// number, or the figure is not positive.
    std::optional<double> elasticity{};
};

/// Which axis moves the answer most.
struct Sensitivity {
    std::string metric;  ///< a column
    double mean = 0;
    double deviation = 0;   ///< standard deviation over the points
    std::int64_t used = 0;  ///< points that have the figure
    std::int64_t points = 0;
    std::vector<AxisEffect> effects;  ///< greatest total first
};

}  // namespace sextant::cli
