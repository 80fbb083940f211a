#pragma once

#include "cli/options/plan_options.hpp"
#include "simulator/schedules/schedule.hpp"

#include <optional>
#include <string>

namespace sextant::cli {

/// A schedule that is not the plan's own: from a file, or one that trains nothing.
struct ForeignSchedule {
    std::optional<PipelineSchedule> schedule{};
    /// Whether it has backwards (the plan's own schedule has).
    [[nodiscard]] bool trains() const;
};

/// The plan options as such a schedule wants them: pp and vpp of the file (empty: none) where they are not given, and
/// in place of a schedule that `ParallelPlan` does not know one that lays the layers out in the same way.
/// @throws InputError when the file is bad, or places its stages as no plan does.
PlanOptions options_with(PlanOptions const& options, std::string const& file, ForeignSchedule& foreign);

/// Builds forward-only, which needs the finished plan. @throws InputError when it cannot run the plan's shape.
void finish_schedule(ForeignSchedule& foreign, PlanOptions const& options, ParallelPlan const& plan,
                     Workload const& workload);

}  // namespace sextant::cli
