#pragma once

#include "cli/plan/plan_report_json.hpp"

#include <string>
#include <vector>

namespace sextant::cli {

/// The ranked plans as a page: the best one's figures, bars of time and memory, time against memory, the table.
std::string plan_page(PlanQuestion const& question, PlanAnswer const& answer);

/// One plan as a page.
std::string estimate_page(PlanQuestion const& question, StepReport const& report,
                          std::vector<std::string> const& explanation);

}  // namespace sextant::cli
