#pragma once

#include "cli/table.hpp"
#include "planner/rl/rl_split.hpp"

#include <string>
#include <vector>

namespace sextant::cli {

/// What was asked, and what was found.
struct RlReport {
    RlQuestion question;
    RlSearch search;
    RlAnswer answer;
    double longest = 0;  ///< mean of the longest response of a step
};

/// A table of the modes, the speed-up of asynchrony, the phases, memory and divisions of the best.
///
///     mode          GPUs   engine  step   generate  score  train  sync ...
///     colocated     16     tp 1    78 s   41 s      ...
std::string rl_text(RlReport const& report);
std::string rl_json(RlReport const& report);
/// Every step that was priced, a row each: csv and markdown.
Table rl_table(RlReport const& report);

/// What the answer stands on that nobody measured, a sentence each.
std::vector<std::string> rl_assumptions(RlReport const& report);

}  // namespace sextant::cli
