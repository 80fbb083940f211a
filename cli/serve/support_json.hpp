#pragma once

#include "cost_models/serving/serving_case.hpp"
#include "planner/serving/serving_support.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace sextant::cli {

/// The text {"tpot", "ttft", "unsupported"}: intervals as factors on the predicted times, and what no measurement
/// supports.
std::string support_json(ServingSupport const& support);

/// Adds to the object of a deployment's plan how tokens get to experts, its number formats and its batches.
void add_formats(nlohmann::ordered_json& plan, ServingCase const& what);

}  // namespace sextant::cli
