#pragma once

#include "cli/page/page.hpp"
#include "cli/scaling/fit.hpp"

#include <vector>

namespace sextant::cli {

/// The charts of a fit, by what was fitted: predicted against measured, the loss surface with the rows, parabolas,
/// the envelope, optima over compute, critical batches, learning rates.
std::vector<Chart> scaling_fit_charts(ScalingFitReport const& report);

}  // namespace sextant::cli
