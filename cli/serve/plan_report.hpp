#pragma once

#include "cli/view/table.hpp"
#include "planner/serving/serve_plan.hpp"

#include <string>

namespace sextant::cli {

struct ServePlanReport {
    ServeQuestion question;
    ServeAnswer answer;
    bool priced = false;
    std::vector<std::string> assumptions;
};

/// One sentence for an answer without a deployment.
std::string no_deployment(ServePlanReport const& report);

std::string serve_plan_text(ServePlanReport const& report);
std::string serve_plan_json(ServePlanReport const& report);
Table serve_plan_table(ServePlanReport const& report);

}  // namespace sextant::cli
