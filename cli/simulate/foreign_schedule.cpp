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

bool has_slots(PipelineSchedule const& file, SlotKind kind) {
    return std::any_of(file.ranks.begin(), file.ranks.end(), [&](std::vector<Slot> const& order) {
        return std::any_of(order.begin(), order.end(), [&](Slot const& slot) { return slot.kind == kind; });
    });
}

/// Whether the chunks of the file lie as a schedule of a plan lays them.
bool lies_as(ScheduleTraits const& traits, PipelineSchedule const& file) {
    auto const ranks = static_cast<std::int64_t>(file.ranks.size());
    if (!traits.takes_chunks(file.stages / ranks) || (traits.even == Switch::on && ranks % 2 != 0)) return false;
    for (std::int64_t r = 0; r < ranks; ++r)
        for (Slot const& slot : file.ranks[static_cast<std::size_t>(r)]) {
            std::int64_t const first = rank_of_chunk(traits.placement, ranks, slot.stage);
            if (r != first && (traits.parameter_copies() == 1 || r != ranks - 1 - first)) return false;
        }
    return true;
}

/// A schedule of plans with its chunks where those of the file lie, in `foreign.named` whether it is the file's: if one
/// is, that, else one that splits and pairs passes as the file does, for what depends on no order.
/// @throws InputError when no schedule places them so.
Schedule schedule_like(ForeignSchedule& foreign) {
    PipelineSchedule const& file = *foreign.schedule;
    auto const ranks = static_cast<std::int64_t>(file.ranks.size());
    ScheduleShape const shape{.ranks = ranks, .microbatches = file.microbatches, .chunks = file.stages / ranks};
    Switch const splits = has_slots(file, SlotKind::backward_weight) ? Switch::on : Switch::off;
    Switch const pairs = has_slots(file, SlotKind::forward_backward) ? Switch::on : Switch::off;
    std::optional<Schedule> best;
    int best_likeness = -1;
    for (Schedule const candidate :
         {Schedule::one_f_one_b, Schedule::interleaved, Schedule::gpipe, Schedule::breadth_first, Schedule::zb_h1,
          Schedule::zb_h2, Schedule::overlapped, Schedule::zb_v, Schedule::dualpipe_v, Schedule::dualpipe}) {
        ScheduleTraits const& traits = traits_of(candidate);
        if (!lies_as(traits, file)) continue;
        ScheduleEntry const& entry = entry_of(candidate);
        bool const runs = !entry.unsupported(shape);
        if (runs && build_schedule(entry, shape, file.name).ranks == file.ranks) {
            foreign.named = true;
            return candidate;
        }
        int const likeness = 4 * int{runs} + 2 * int{traits.split_backward == splits} + int{traits.pairs == pairs};
        if (likeness > best_likeness) best = candidate;
        best_likeness = std::max(best_likeness, likeness);
    }
    if (best) return *best;
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
        options.schedule = name_of(schedule_like(foreign));
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
