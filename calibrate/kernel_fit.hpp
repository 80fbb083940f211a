#pragma once

#include "calibrate/kernel_measurement.hpp"

#include <cstddef>
#include <vector>

namespace sextant {

struct KernelFitChoices {
    unsigned threads = 0;
    int starts = 2;
    std::size_t most_rows = 1500;    ///< that the constants are fitted to; more are thinned by hash
    bool with_residual = true;       ///< false: the constants alone, as for devices of several chips
    KernelFit const* kin = nullptr;  ///< a fit of like kernels, to whose constants these are drawn
    /// What ships of the kernel: these are drawn to its constants where there is no kin, and beyond the rows they are
    /// not trusted more. Of this very device (`refines`) its grids stay, and only what the rows say otherwise is added;
    /// and the fit has seen what it saw.
    KernelFit const* shipped = nullptr;
    bool refines = false;
    /// `shipped` is of the device's class: constants that no row is bound by stay its own, and beyond the rows it
    /// holds. With `refines` its grids are of the device's chip.
    bool of_class = false;
    /// Rows of other devices of the same chip: what the constants leave of attention there tells of what is left here.
    std::vector<KernelMeasurement> const* twins = nullptr;
};

/// Fits one kernel in one variant: constants (robust, with weak priors at the starts of `kernel_constants`), then the
/// residual grid on what they leave, then intervals from residuals of rows that the grid did not see (five folds) and
/// of those held out. The order of the rows decides nothing. @throws InputError for fewer
/// than 30 shapes (of products on a host 12, of memory kernels 3) besides those held out.
KernelFit fit_kernel(std::vector<KernelMeasurement> const& rows, KernelFitChoices const& choices);

/// Predicted seconds of a row by a fit; without the residual when `with_residual` is off.
double fitted_seconds(KernelMeasurement const& row, KernelFit const& fit);

/// log(measured / predicted) of each row by constants, and grids where the choices have them, that saw no row of its
/// device: what a device of the class can expect. Empty when the rows are of one device only.
std::vector<double> transfer_errors(std::vector<KernelMeasurement> const& rows, KernelFitChoices const& choices);

}  // namespace sextant
