#pragma once

#include "planner/report.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sextant {

/// Another recompute policy, of what it usually is of; only `full` can be of some layers (0: all).
void set_recompute(ParallelPlan& plan, Recompute policy, std::int64_t layers);
/// "--recompute none", "--zero 1": an option for each setting in which plans of one layout differ.
std::vector<std::string> options_between(ParallelPlan const& from, ParallelPlan const& to);

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
