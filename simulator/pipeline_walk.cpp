#include "simulator/pipeline_walk.hpp"

#include "core/error.hpp"
#include "simulator/pipeline_formula.hpp"
#include "simulator/schedules/catalog.hpp"
#include "simulator/schedules/orders.hpp"

#include <algorithm>
#include <utility>

namespace sextant {
namespace {

/// A walk of so many slots takes half a second; nothing longer is begun.
constexpr double most_slots_at_all = 20e6;
/// Schedules remembered: those of the few microbatch counts that a search comes back to.
constexpr std::size_t most_remembered = 16;

/// At most: a forward and two halves of a backward for every chunk.
double slots_of(ParallelPlan const& plan, std::int64_t microbatches) {
    return 3.0 * static_cast<double>(plan.pp) * static_cast<double>(plan.vpp) * static_cast<double>(microbatches);
}

/// What a walk says of every rank.
struct RankTimes {
    Seconds total;
    std::vector<Seconds> busy;
    std::vector<PairSavings> saved;
};

RankTimes times_of(PipelineSchedule const& schedule, WalkCosts const& costs) {
    ScheduleWalk const walk = walk_schedule(schedule, costs);
    RankTimes times{.total = walk.makespan, .busy = {}, .saved = {}};
    for (std::size_t rank = 0; rank < walk.ranks.size(); ++rank) {
        times.busy.push_back(walk.ranks[rank].busy);
        PairSavings& saved = times.saved.emplace_back();
        for (Slot const& slot : schedule.ranks[rank]) {
            if (slot.kind != SlotKind::forward_backward) continue;
            PairTime const pair =
                pair_time(costs.stages[static_cast<std::size_t>(slot.stage)].paired_forward,
                          costs.stages[static_cast<std::size_t>(slot.backward_stage)].paired_backward);
            saved.hidden += pair.hidden;
            saved.waiting += pair.spared;
        }
    }
    return times;
}

/// Carries on from two lengths of a schedule: `rounds` more of what the second has over the first, and no round shorter
/// than the work of a rank in it.
void carry_on(RankTimes& second, RankTimes const& first, double rounds) {
    Seconds round = second.total - first.total;
    for (std::size_t rank = 0; rank < second.busy.size(); ++rank)
        round = std::max(round, second.busy[rank] - first.busy[rank]);
    second.total += rounds * round;
    for (std::size_t rank = 0; rank < second.busy.size(); ++rank) {
        second.busy[rank] += rounds * (second.busy[rank] - first.busy[rank]);
        second.saved[rank].hidden += rounds * (second.saved[rank].hidden - first.saved[rank].hidden);
        second.saved[rank].waiting += rounds * (second.saved[rank].waiting - first.saved[rank].waiting);
    }
}

}  // namespace

StageDurations chunk_times(ChunkCost const& chunk, ParallelPlan const& plan, Seconds transfer,
                           AcceleratorProfile const& accelerator) {
    auto const stretched = [&](Seconds pass) {
        return pass + transfer + offload_wait(plan, accelerator, chunk.offloaded, pass);
    };
    auto const paired = [&](PassTime const& pass) {
        return PairedPass{
            .alone = pass.total() + transfer,
            .communication = pass.ep + transfer,
            .sends = transfer,
            .waiting = pass.waiting,
            .launched = pass.launched,
            .copied = offloads_activations(plan) ? chunk.offloaded / accelerator.host_bandwidth.value : Seconds{}};
    };
    PassTime whole_backward = chunk.backward;
    whole_backward += chunk.rerun;
    Seconds const backward = whole_backward.total();
    Seconds const weight = chunk.weight.total();
    return {.forward = stretched(chunk.forward.total()),
            .backward = stretched(backward),
            .backward_input = stretched(backward - weight),
            .backward_weight = weight,
            .paired_forward = paired(chunk.forward),
            .paired_backward = paired(whole_backward)};
}

WalkCosts chunk_costs(std::span<ChunkCost const> chunks, ParallelPlan const& plan, Seconds transfer,
                      AcceleratorProfile const& accelerator) {
    WalkCosts costs;
    costs.stages.reserve(chunks.size());
    for (ChunkCost const& chunk : chunks)
        costs.stages.push_back(chunk_times(chunk, plan, transfer, accelerator));
    return costs;
}

ScheduleStore::Built ScheduleStore::build(ParallelPlan const& plan, std::int64_t microbatches) {
    auto const key = std::tuple(plan.schedule, plan.pp, plan.vpp, microbatches);
    if (auto const found = built_.find(key); found != built_.end()) return found->second;
    if (double const slots = slots_of(plan, microbatches); slots > most_slots_at_all) {
        if (has_closed_form(plan.schedule)) return {};
        throw InputError("plan: {} stages, {} chunks and {} microbatches make {:.3g} pieces of work (at most {:g})",
                         plan.pp, plan.vpp, microbatches, slots, most_slots_at_all);
    }
    if (built_.size() >= most_remembered) built_.clear();
    auto schedule = std::make_shared<PipelineSchedule const>(build_schedule(
        entry_of(plan.schedule), {.ranks = plan.pp, .microbatches = microbatches, .chunks = plan.vpp}, "plan"));
    std::vector<ChunkTurns> turns;
    for (std::vector<Slot> const& order : schedule->ranks)
        turns.push_back(chunk_turns(order));
    return built_
        .emplace(key, Built{std::move(schedule), std::make_shared<std::vector<ChunkTurns> const>(std::move(turns))})
        .first->second;
}

WalkedSchedule ScheduleStore::get(ParallelPlan const& plan, std::int64_t microbatches, std::int64_t most_slots) {
    // A round of 2 p is a whole number of groups for every schedule; after three of them pipelines are full. A rest
    // makes as many groups of interleaved chunks larger as it has microbatches: they come first, and pipelines fill
    // once more with what repeats.
    std::int64_t const round = 2 * plan.pp;
    std::int64_t const larger = plan.vpp > 1 && orders::takes_groups(plan.schedule) ? microbatches % plan.pp : 0;
    std::int64_t const filled = 3 + (larger + 1) / 2;
    auto const affordable = static_cast<std::int64_t>(static_cast<double>(most_slots) / slots_of(plan, 2 * round));
    std::int64_t const least = std::max(filled, affordable) * round;
    bool const whole =
        microbatches < least + 2 * round || slots_of(plan, microbatches) <= static_cast<double>(most_slots);
    std::int64_t const beginning = whole ? microbatches : least + (microbatches - least) % round;
    Built const first = build(plan, beginning);
    Built const second = whole ? Built{} : build(plan, beginning + round);
    if (!whole && !second.schedule) return {};
    return {.first = first.schedule, .second = second.schedule, .microbatches = microbatches, .turns = first.turns};
}

PipelineWalk walk_pipeline(WalkedSchedule const& schedule, WalkCosts const& costs) {
    RankTimes times = times_of(schedule.second ? *schedule.second : *schedule.first, costs);
    if (schedule.second) {
        std::int64_t const length = schedule.second->microbatches;
        std::int64_t const round = length - schedule.first->microbatches;
        carry_on(times, times_of(*schedule.first, costs),
                 static_cast<double>(schedule.microbatches - length) / static_cast<double>(round));
    }
    // The first of those that work longest: equal ranks differ in the last digits.
    Seconds const longest = *std::max_element(times.busy.begin(), times.busy.end());
    std::size_t slowest = 0;
    while (times.busy[slowest] < (1 - 1e-12) * longest)
        ++slowest;
    return {.total = times.total,
            .busy = times.busy[slowest],
            .saved = times.saved[slowest],
            .slowest = static_cast<std::int64_t>(slowest)};
}

}  // namespace sextant
