#pragma once

#include "planner/serving/serving_support.hpp"

#include <string>

namespace sextant::cli {

/// The text {"low", "high", "rows", "unsupported"}: factors on a predicted time, and what no measurement supports.
std::string support_json(ServingSupport const& support);

}  // namespace sextant::cli
