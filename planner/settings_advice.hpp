#pragma once

#include "planner/report.hpp"

#include <optional>
#include <string>

namespace sextant {

/// Settings of a plan that its degrees leave open, others than it has.
struct SettingsAdvice {
    std::string options;  ///< "--recompute none --sequence-parallel"
    StepEstimate estimate;
};

/// Of micro-batch, recompute, ZeRO, sequence parallelism and the loss, what makes a plan that does not fit fit, as fast
/// as that goes, or of the first four one that fits faster by 2 % and more and fit all the same; nothing where none
/// does. What fewer changes reach within 1.5 % is taken. Degrees, schedule and offload stay.
std::optional<SettingsAdvice> better_settings(StepReport const& report, ClosedForm& form);

}  // namespace sextant
