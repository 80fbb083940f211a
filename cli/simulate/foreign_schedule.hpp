#pragma once

#include "cli/options/plan_options.hpp"
#include "simulator/schedules/schedule.hpp"

#include <optional>
#include <string>

namespace sextant::cli {

/// A schedule that is not the plan's own: from a file, or one that trains nothing.
struct ForeignSchedule {
    std::optional<PipelineSchedule> schedule{};
    bool named = false;  ///< it is one that plans name, slot by slot
    /// Whether the plan says what is simulated.
    [[nodiscard]] bool is_the_plans() const { return !schedule || named; }
    /// Whether it has backwards (the plan's own schedule has).
    [[nodiscard]] bool trains() const;
};

/// The plan options as such a schedule wants them: pp and vpp of the file (empty: none) where they are not given, and
/// the schedule that the file has, or, where `ParallelPlan` does not know that, one that lays the layers out in the
/// same way and is as like it as possible otherwise.
/// @throws InputError when the file is bad, or places its stages as no plan does.
PlanOptions options_with(PlanOptions const& options, std::string const& file, ForeignSchedule& foreign);

/// Builds forward-only, which needs the finished plan. @throws InputError when it cannot run the plan's shape.
void finish_schedule(ForeignSchedule& foreign, PlanOptions const& options, ParallelPlan const& plan,
                     Workload const& workload);

}  // namespace sextant::cli
