#pragma once

#include "cli/page/page.hpp"
#include "planner/report.hpp"

#include <string>
#include <vector>

namespace sextant::cli {

/// What the pages of plans have in common. `names` are the labels of the bars, one per report.

/// Where the time of a step goes, a bar per plan.
Chart breakdown_chart(std::vector<StepReport> const& reports, std::vector<std::string> const& names);

/// What the fullest accelerator holds, a bar per plan, against what is usable and what the device has.
Chart memory_chart(std::vector<StepReport> const& reports, std::vector<std::string> const& names);

/// Step time with its interval, throughput, MFU, memory, cost, and the time of a trillion tokens.
std::vector<PageFigure> step_figures(StepReport const& report, ClusterSpec const& cluster);

/// What no measurement supports (if anything), and what is assumed.
void add_grounds(Page& page, std::vector<std::string> const& unsupported, std::vector<std::string> const& assumptions);

/// "6.32 s to 9.89 s"
std::string interval_words(Seconds time, StepInterval const& interval);

/// The unit that suits times up to `largest`: seconds from 1 s on, milliseconds or microseconds below.
struct TimeScale {
    Seconds unit;
    char const* name;
    [[nodiscard]] double operator()(Seconds time) const { return time / unit; }
};
TimeScale time_scale(Seconds largest);

}  // namespace sextant::cli
