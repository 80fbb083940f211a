#pragma once

#include "core/spec/hardware_profile.hpp"
#include "core/spec/kernel_calibration.hpp"

#include <memory>
#include <string_view>

namespace sextant {

/// The shipped calibration of this name ("h100-sxm", "class-hopper", "class-any"), or null. Read once, then kept.
std::shared_ptr<KernelCalibration const> shipped_kernel_calibration(std::string_view name);

/// Gives the profile the kernels fitted on this very device, else those of its generation, else those of any device.
void attach_kernels(AcceleratorProfile& profile);

}  // namespace sextant
