#include "cli/simulate/foreign_schedule.hpp"

#include "core/error.hpp"
#include "core/graph/plan_check.hpp"
#include "core/spec/schedule_traits.hpp"
#include "simulator/schedules/catalog.hpp"
#include "simulator/schedules/schedule_csv.hpp"
#include "simulator/task_graph_builder.hpp"

#include <algorithm>

namespace sextant::cli {
namespace {

constexpr std::string_view forward_only = "forward-only";

/// A schedule of the plan's kind with its chunks where those of the file lie, for what depends on no order: which
/// layers each rank holds. @throws InputError when no schedule places them so.
Schedule schedule_like(PipelineSchedule const& file) {
    auto const ranks = static_cast<std::int64_t>(file.ranks.size());
    std::int64_t const chunks = file.stages / ranks;
    for (Schedule const candidate :
         {Schedule::one_f_one_b, Schedule::breadth_first, Schedule::zb_v, Schedule::dualpipe}) {
        ScheduleTraits const& traits = traits_of(candidate);
        if (!traits.takes_chunks(chunks) || (traits.even == Switch::on && ranks % 2 != 0)) continue;
        bool fits = true;
        for (std::int64_t r = 0; r < ranks; ++r)
            for (Slot const& slot : file.ranks[static_cast<std::size_t>(r)]) {
                std::int64_t const first = rank_of_chunk(traits.placement, ranks, slot.stage);
                fits = fits && (r == first || (traits.parameter_copies() > 1 && r == ranks - 1 - first));
            }
        if (fits) return candidate;
    }
    throw InputError("{}: its stages lie on the ranks in a way that no plan has (round robin, V or both ways)",
                     file.name);
}

}  // namespace

bool ForeignSchedule::trains() const {
    auto const is_backward = [](Slot const& slot) { return slot.kind != SlotKind::forward; };
    return !schedule || std::any_of(schedule->ranks.begin(), schedule->ranks.end(), [&](auto const& order) {
        return std::any_of(order.begin(), order.end(), is_backward);
    });
}

PlanOptions options_with(PlanOptions const& given, std::string const& file, ForeignSchedule& foreign) {
    PlanOptions options = given;
    if (!file.empty()) {
        if (!given.schedule.empty())
            throw InputError("--schedule-file: cannot go together with --schedule (choose one)");
        foreign.schedule = read_schedule_csv(file);
        auto const ranks = static_cast<std::int64_t>(foreign.schedule->ranks.size());
        if (foreign.schedule->stages % ranks != 0)
            throw InputError("{}: {} stages on {} ranks (as many on each)", file, foreign.schedule->stages, ranks);
        if (options.pp.empty()) options.pp = fmt::format("{}", ranks);
        if (options.vpp.empty()) options.vpp = fmt::format("{}", foreign.schedule->stages / ranks);
        options.schedule = name_of(schedule_like(*foreign.schedule));
    } else if (options.schedule.ends_with(".csv")) {
        throw InputError("--schedule: '{0}' is a file, not a name (--schedule-file {0})", options.schedule);
    } else if (options.schedule == forward_only) {
        options.schedule =
            name_of(options.vpp.empty() || options.vpp == "1" ? Schedule::gpipe : Schedule::breadth_first);
    }
    return options;
}

void finish_schedule(ForeignSchedule& foreign, PlanOptions const& options, ParallelPlan const& plan,
                     Workload const& workload) {
    if (options.schedule == forward_only)
        foreign.schedule = build_schedule(find_schedule(forward_only, "--schedule"), shape_of(plan, workload), "plan");
}

}  // namespace sextant::cli
