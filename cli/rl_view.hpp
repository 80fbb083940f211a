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

/// The modes side by side, the speed-up of asynchrony, phases and memory of the best, the divisions:
///
///                   colocated     split  asynchronous
///     ------------  ---------  --------  ------------
///     GPUs                 16     8 + 8         8 + 8
///     step            54.03 s   88.01 s       47.42 s
std::string rl_text(RlReport const& report);
std::string rl_json(RlReport const& report);
/// Every step that was priced, a row each: csv and markdown.
Table rl_table(RlReport const& report);

/// What the answer stands on that nobody measured, a sentence each.
std::vector<std::string> rl_assumptions(RlReport const& report);

}  // namespace sextant::cli
