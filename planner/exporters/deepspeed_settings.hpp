#pragma once

#include "planner/exporters/launch_plan.hpp"

#include <string>

namespace sextant {

/// ZeRO stage of a plan that has been translated. Only ZeRO offloads the optimizer, so one rank that shares with none,
/// whose normal form has no ZeRO, keeps the stage that was asked for, and at least the first.
int deepspeed_stage(LaunchPlan const& launch, ParallelPlan const& plan);

/// ds_config.json of a plan that has been translated.
std::string deepspeed_config(LaunchPlan const& launch, ParallelPlan const& plan);

}  // namespace sextant
