#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sextant::cli {

/// How one dimension of a grid moves a figure.
struct AxisEffect {
    std::string axis;        ///< its name; of axes that advance together "tp+gpus"
    std::int64_t pairs = 0;  ///< of points that differ in it alone
    /// The figure at the value of the axis where it is least and most, with the other axes alike (`PairedValues`); no
    /// figure without a pair.
    std::optional<double> least{};
    std::optional<double> most{};
    std::string least_at{};  ///< the axis' value there
    std::string most_at{};
    /// Share of the variance that the axis explains alone: on a whole grid Var(E[y | axis]) / Var(y), the first-order
    /// Sobol index, every point alike; where points are missing, what its effects explain of points that differ in it
    /// alone.
    double first_order = 0;
    /// E[Var(y | all other axes)] / Var(y): with all interactions that it takes part in (total Sobol index). Points
    /// without another one to compare with have no such variance.
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

struct SweepAxis;

/// Of a figure over the points of a grid; what is no finite number (a failed point) is left out, and points are
/// compared with those that differ in one axis alone.
/// @param values one per point.
/// Source: first-order and total indices as Saltelli et al., Comput. Phys. Commun. 181(2), 2010, eq. 2 and 4, with sums
/// over the grid for the expectations.
Sensitivity sensitivity_of(std::string metric, std::vector<SweepAxis> const& axes,
                           std::vector<std::vector<std::size_t>> const& groups, std::vector<double> const& values);

}  // namespace sextant::cli
