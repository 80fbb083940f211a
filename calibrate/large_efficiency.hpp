#pragma once

#include "calibrate/kernel_measurement.hpp"

#include <vector>

namespace sextant {

/// Fraction of peak of the shapes that are bound by compute without doubt; 0 when there are none.
/// @throws InputError when they, or five products of any size, are faster than the device of the rows can be: the rows
/// are of another one.
double large_efficiency(std::vector<KernelMeasurement const*> const& rows);

}  // namespace sextant
