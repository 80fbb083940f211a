#pragma once

#include "cli/command.hpp"
#include "core/spec/kernel_calibration.hpp"

#include <string>

namespace sextant::cli {

/// Where large shapes reach more than the stated peak: the rows may be of another device, or in another format.
void warn_of_peak(KernelFit const& fit, std::string const& name, CommandContext& context);

/// Where every call takes far longer than kernels of the shipped tables do, which follow one another: in a step they do
/// so as well, and the fit would count the wait for each of them.
/// @param shipped the same kernel as it ships
void warn_of_waits(KernelFit const& fit, KernelFit const& shipped, std::string const& name, CommandContext& context);

}  // namespace sextant::cli
