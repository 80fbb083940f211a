#pragma once

#include "cost_models/serving/serving_case.hpp"
#include "planner/serving/serving_support.hpp"

#include <string>

namespace sextant::cli {

/// The text {"tpot", "ttft", "unsupported"}: intervals as factors on the predicted times, and what no measurement
/// supports.
std::string support_json(ServingSupport const& support);

/// The text of what estimates and plans say alike of a deployment's plan: how tokens get to experts, number formats and
/// batches.
std::string formats_json(ServingCase const& what);

}  // namespace sextant::cli
