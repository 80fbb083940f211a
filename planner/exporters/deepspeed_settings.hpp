#pragma once

#include "planner/exporters/launch_plan.hpp"

#include <string>

namespace sextant {

/// ds_config.json of a plan that has been translated.
std::string deepspeed_config(LaunchPlan const& launch, ParallelPlan const& plan);

}  // namespace sextant
