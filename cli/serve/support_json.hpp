#pragma once

#include "planner/serving/serving_support.hpp"

#include <string>

namespace sextant::cli {

/// The text {"tpot", "ttft", "unsupported"}: intervals as factors on the predicted times, and what no measurement
/// supports.
std::string support_json(ServingSupport const& support);

}  // namespace sextant::cli
