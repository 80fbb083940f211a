#pragma once

#include "calibrate/kernel_measurement.hpp"
#include "calibrate/residual_fit.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sextant {

/// What a fit of a device's own rows keeps of the calibration that ships for it.

/// The logarithm of what the grids of `shipped` make of a row's time.
double shipped_correction(KernelMeasurement const& row, KernelFit const& shipped);

/// Points without correction over the range of the shipped grids, where no row is within an octave: there the shipped
/// fit stays as it is. `like`: one of the rows.
std::vector<ResidualPoint> anchors(KernelFit const& shipped, KernelMeasurement const& like,
                                   std::vector<ResidualPoint> const& points);

/// The grid over what the points cover, and nothing from an octave beyond them on. `first`: of the coordinates of a
/// point that lie on its axes.
ResidualGrid faded(ResidualGrid const& grid, std::size_t first, std::vector<ResidualPoint> const& points);

/// The cells of a fit: where the points lie on the residual's axes, of one cell no more than two.
std::vector<std::uint32_t> cells_of(std::vector<ResidualPoint> const& points, std::size_t axes);

/// The rows in another order, the first of every cell, then the second, and so on: those of shapes that are rare among
/// one's own come early. @pre they are in one order
std::vector<KernelMeasurement const*> spread_over_cells(std::vector<KernelMeasurement const*> rows);

/// Within the range of the shipped grids the fit is trusted no more than they are; what large shapes reach is theirs
/// where the rows have none.
void keep_shipped_doubt(KernelFit& fit, KernelFit const& shipped);

/// Of the device itself: what is near none of its rows is trusted as what ships, doubted by as much as the rows
/// contradict it in the median.
void doubt_shipped_apart(KernelFit& fit, KernelFit const& shipped, std::vector<KernelMeasurement const*> const& rows);

/// Times of twice the longest row and more, and of half the shortest and less, are trusted no more than `outside`.
void keep_class_beyond(KernelFit& fit, std::vector<KernelMeasurement const*> const& rows);

/// A correction that is the sum of two over the same coordinates, over the range of both.
ResidualGrid sum_of(ResidualGrid const& a, ResidualGrid const& b);

}  // namespace sextant
