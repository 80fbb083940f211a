#pragma once

#include "cli/view/table.hpp"
#include "planner/rl/rl_split.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sextant::cli {

/// What was asked, and what was found.
struct RlReport {
    RlQuestion question;
    RlSearch search;
    RlAnswer answer;
    double longest = 0;           ///< mean of the longest response of a step
    double longest_of_group = 0;  ///< of those that are trained on together (`RlQuestion::whole_group`)
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

/// US dollars of a step on all accelerators, and of 1,000 responses; nothing without a price.
std::optional<double> usd_per_step(RlQuestion const& question, RlStep const& step);
std::optional<double> usd_per_thousand_responses(RlQuestion const& question, RlStep const& step);

/// Share of its worth that a response may lose per update behind before asynchrony is worth no more than `slow`:
/// p with (1 - p mean age) fast / slow = 1; nothing where it is no faster, or nothing is behind.
std::optional<double> break_even_penalty(RlStep const& fast, RlStep const& slow);

/// What the answer stands on that nobody measured, a sentence each.
std::vector<std::string> rl_assumptions(RlReport const& report);

}  // namespace sextant::cli
