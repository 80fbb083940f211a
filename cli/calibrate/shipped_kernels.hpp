#pragma once

#include "calibrate/kernel_fit.hpp"
#include "cli/command.hpp"

#include <functional>
#include <string>

namespace sextant::cli {

/// Says what ships of one kernel on a device, or of its class.
using ShippedFits = std::function<void(KernelKind kind, std::string const& variant, KernelFitChoices& out)>;

/// Those of the device itself, of the class whose kernels it runs (`kernel_class`) and of any device, the first that
/// has the kernel.
ShippedFits shipped_fits(AcceleratorProfile const& device);

/// What the device's shipped calibration says of kernels that the rows do not have, or too few of; and its sources,
/// whose rows these fits and refined ones have seen.
void keep_others(KernelCalibration& own, AcceleratorProfile const& device, CommandContext& context);

}  // namespace sextant::cli
