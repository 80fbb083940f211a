#pragma once

#include "planner/report.hpp"

#include <string>
#include <vector>

namespace sextant {

/// A step that ran, beside what is predicted of its plan: how far apart they are, whether the 80 % interval holds that,
/// and what, each alone, would make the prediction as long: products that much slower, a share of the links' bandwidth,
/// time outside of the step, other settings than the plan's. Settings that make up less than a quarter of the
/// difference are left out. @param measured seconds of one step, positive
std::vector<std::string> measured_gap(StepReport const& report, ClosedForm& form, Seconds measured);

}  // namespace sextant
