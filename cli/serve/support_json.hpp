#pragma once

#include "planner/serving/serving_support.hpp"

#include <nlohmann/json_fwd.hpp>

namespace sextant::cli {

/// {"low", "high", "rows", "unsupported"}: factors on a predicted time, and what no measurement supports.
nlohmann::ordered_json support_json(ServingSupport const& support);

}  // namespace sextant::cli
