#pragma once

#include "calibrate/kernel_measurement.hpp"
#include "calibrate/residual_field.hpp"
#include "calibrate/residual_fit.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace sextant {

/// Where a row lies on the grids of its kernel, over the shape and, of products, over its waves, and the logarithm of
/// measured / predicted there.
ResidualPoint point_of(KernelMeasurement const& row, double log_ratio);

/// Lowest and highest coordinate of the points. @pre there are points
std::pair<double, double> range_of(std::vector<ResidualPoint> const& points, std::size_t coordinate);

/// Whose rows the points are. A row of one's own that stands alone, far from what the others say, is doubted whatever
/// the kernel; published tables have every shape next to others like it, and kernels that change at once.
enum class GridRowsOf : std::uint8_t { tables, own_machine };

/// The grids that a kernel gets: layers that are smoothed, or one layer that holds a field.
struct KernelGridPlan {
    std::vector<ResidualLayer> layers;
    std::optional<FieldScales> field;
    GridRowsOf rows_of = GridRowsOf::tables;
};
/// Attention bends smoothly and gets a field; libraries change the kernels of products at once, which smoothed layers
/// follow better.
bool has_field(KernelKind kind);
/// Over what the points spread over.
KernelGridPlan plan_grids(KernelKind kind, std::vector<ResidualPoint> const& points,
                          GridRowsOf rows_of = GridRowsOf::tables);

/// What `KernelFit` holds beside its constants.
struct KernelGrids {
    ResidualGrid residual, waves;
    std::size_t doubted = 0;  ///< points that the field does not follow
};
/// @throws InputError without points.
KernelGrids fit_kernel_grids(KernelKind kind, std::vector<ResidualPoint> const& points, KernelGridPlan const& plan);

/// The logarithm of what the grids make of a time at a point.
double grid_correction(ResidualPoint const& point, ResidualGrid const& residual, ResidualGrid const& waves);

/// A grid without correction over what the points cover, so that a fit without one knows its range too.
ResidualGrid empty_grid(KernelKind kind, std::vector<ResidualPoint> const& points);

}  // namespace sextant
