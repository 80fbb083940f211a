#pragma once

#include "cli/page/page.hpp"
#include "planner/serving/serving_support.hpp"

#include <string>
#include <vector>

namespace sextant::cli {

/// How far measured times lie from predicted ones with this engine, and what the page stands on.
void add_serving_grounds(Page& page, ServingSupport const& support, std::vector<std::string> const& assumptions);

}  // namespace sextant::cli
