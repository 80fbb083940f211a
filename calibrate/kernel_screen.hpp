#pragma once

#include "calibrate/kernel_measurement.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace sextant {

/// Drops rows that say exactly what another says (source, shape, format, cache and time): a file that is given twice is
/// no new evidence. Returns how many.
std::size_t drop_repeats(std::vector<KernelMeasurement>& rows);

/// Drops rows of one's own device that cannot be of it, and says how many for which reason: those that `why_too_fast`
/// names, and kernels that its own calibration has off by more than four times from what that says. @throws InputError
/// when that is most of the rows, or when most large ones of a kernel reach less than 0.2 % of what the device can do:
/// their unit is wrong, or the device.
std::map<std::string, std::size_t> drop_impossible(std::vector<KernelMeasurement>& rows);

/// Shapes of a kernel that were measured more than once, and by how much the times of one differ: the longest over the
/// shortest, less one, in the median over these shapes.
struct RepeatSpread {
    std::string kernel;  ///< "gemm bf16"
    std::size_t shapes = 0;
    double median_pct = 0;
};

/// Kernels of one device whose repeats differ by more than 15 % (assumed: runs of one library differ by less): two
/// libraries, or two devices, which a fit would take the middle of.
std::vector<RepeatSpread> contradicting_repeats(std::vector<KernelMeasurement> const& rows);

}  // namespace sextant
