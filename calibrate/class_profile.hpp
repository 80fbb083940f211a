#pragma once

#include "calibrate/kernel_measurement.hpp"
#include "core/spec/kernel_calibration.hpp"

#include <vector>

namespace sextant {

/// What the profiles of the devices of these rows say, the median over the devices.
ClassProfile class_profile(std::vector<KernelMeasurement> const& rows);

}  // namespace sextant
