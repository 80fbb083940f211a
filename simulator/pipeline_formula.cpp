#include "simulator/pipeline_formula.hpp"

#include "core/spec/schedule_traits.hpp"
#include "simulator/schedules/catalog.hpp"
#include "simulator/schedules/orders.hpp"

#include <algorithm>
#include <cassert>

namespace sextant {

namespace {

/// Chunk passes that a rank runs before its first backward, of 1F1B and the interleaved schedule.
/// @param group microbatches that an interleaved schedule takes through all chunks at a time.
std::int64_t warm_up(Schedule schedule, std::int64_t pp, std::int64_t vpp, std::int64_t group, std::int64_t rank) {
    return schedule == Schedule::interleaved ? 2 * (pp - 1 - rank) + (vpp - 1) * group : pp - 1 - rank;
}

/// The step as one rank sees it: it cannot start before the first microbatch has come down to it, run its own tasks in
/// less than their time, begin its backwards before the first microbatch has been to the end and back, nor end before
/// the last one has.
struct RankBound {
    Schedule schedule;
    std::int64_t pp, vpp, tasks;            ///< tasks: forwards of one rank, m v
    std::int64_t group, last_group;         ///< microbatches that go through all chunks together
    Seconds round_forward, round_backward;  ///< one chunk on every rank

    /// @param before chunk time (forward and backward) of all ranks before this one.
    [[nodiscard]] Seconds step(std::int64_t rank, Seconds forward, Seconds backward, Seconds before) const {
        Seconds const after = round_forward + round_backward - before - forward - backward;
        auto const n = static_cast<double>(tasks);
        auto const rounds = static_cast<double>(vpp - 1);
        // From the first forward to the first backward, and from the last forward to the last backward's end.
        Seconds const down = rounds * std::max(static_cast<double>(group) * forward, round_forward) + forward + after;
        Seconds const up =
            rounds * std::max(static_cast<double>(last_group) * backward, round_backward) + backward + after;
        std::int64_t const warm = warm_up(schedule, pp, vpp, group, rank);
        if (warm >= tasks - 1)
            return before + std::max({down + n * backward, n * forward + up, n * (forward + backward)});
        auto const ahead = static_cast<double>(warm + 1);
        return before + n * (forward + backward) + std::max(Seconds{}, down - ahead * forward) +
               std::max(Seconds{}, up - ahead * backward);
    }
};

/// The largest bound over ranks. Along a run of equal ranks it is convex on either side of the rank from which all
/// forwards are warm-up, so the ends of the run and that rank decide.
Seconds largest_bound(Schedule schedule, std::span<StageTimes const> stages, std::int64_t microbatches,
                      std::int64_t vpp) {
    RankBound bound{.schedule = schedule,
                    .pp = 0,
                    .vpp = vpp,
                    .tasks = microbatches * vpp,
                    .group = 1,
                    .last_group = 1,
                    .round_forward = {},
                    .round_backward = {}};
    auto const chunks = static_cast<double>(vpp);
    for (StageTimes const& s : stages) {
        bound.pp += s.count;
        bound.round_forward += static_cast<double>(s.count) * s.forward / chunks;
        bound.round_backward += static_cast<double>(s.count) * s.backward / chunks;
    }
    if (schedule == Schedule::interleaved) {
        orders::MicrobatchGroups const groups({.ranks = bound.pp, .microbatches = microbatches, .chunks = vpp});
        bound.group = groups.largest();
        bound.last_group = groups.last();
    }
    // The last rank whose warm-up is all but one forward, or more: warm_up falls by one or two per rank.
    std::int64_t const slack = warm_up(schedule, bound.pp, vpp, bound.group, 0) - (bound.tasks - 1);
    std::int64_t const turn = slack < 0 ? -1 : slack / (schedule == Schedule::interleaved ? 2 : 1);
    Seconds largest;
    Seconds before;
    std::int64_t first = 0;
    for (StageTimes const& s : stages) {
        Seconds const forward = s.forward / chunks;
        Seconds const backward = s.backward / chunks;
        std::int64_t const last = first + s.count - 1;
        for (std::int64_t const rank : {first, last, turn, turn + 1}) {
            if (rank < first || rank > last) continue;
            largest = std::max(largest, bound.step(rank, forward, backward,
                                                   before + static_cast<double>(rank - first) * (forward + backward)));
        }
        before += static_cast<double>(s.count) * (forward + backward);
        first = last + 1;
    }
    return largest;
}

}  // namespace

bool has_closed_form(Schedule schedule) {
    return schedule == Schedule::gpipe || schedule == Schedule::one_f_one_b || schedule == Schedule::interleaved ||
           schedule == Schedule::overlapped;
}

std::int64_t pairs_on_rank(std::int64_t pp, std::int64_t vpp, std::int64_t microbatches, std::int64_t rank) {
    ScheduleShape const shape{.ranks = pp, .microbatches = microbatches, .chunks = vpp};
    orders::InterleavedPasses const passes(shape, rank);
    return std::max<std::int64_t>(0, passes.count() - passes.lead() - 1);
}

PipelineTime pipeline_time(Schedule schedule, std::span<StageTimes const> stages, std::int64_t microbatches,
                           std::int64_t vpp) {
    assert(has_closed_form(schedule) && schedule != Schedule::overlapped);
    Seconds sum_forward, sum_backward, max_forward, max_backward, max_stage;
    PipelineTime time;
    for (std::size_t i = 0; i < stages.size(); ++i) {
        StageTimes const& s = stages[i];
        sum_forward += static_cast<double>(s.count) * s.forward;
        sum_backward += static_cast<double>(s.count) * s.backward;
        max_forward = std::max(max_forward, s.forward);
        max_backward = std::max(max_backward, s.backward);
        if (s.forward + s.backward > max_stage) {
            max_stage = s.forward + s.backward;
            time.slowest = i;
        }
    }
    auto const m = static_cast<double>(microbatches);
    time.busy = m * max_stage;
    Seconds const total = schedule == Schedule::gpipe
                              ? sum_forward + sum_backward + (m - 1) * (max_forward + max_backward)
                              : largest_bound(schedule, stages, microbatches, vpp);
    time.bubble = std::max(Seconds{}, total - time.busy);
    return time;
}

double microbatches_in_flight(Schedule schedule, std::int64_t pp, std::int64_t vpp, std::int64_t microbatches,
                              std::int64_t rank) {
    switch (schedule) {
        case Schedule::gpipe: return static_cast<double>(microbatches);
        case Schedule::one_f_one_b: return static_cast<double>(std::min(microbatches, pp - rank));
        case Schedule::interleaved: {
            std::int64_t const group =
                orders::MicrobatchGroups({.ranks = pp, .microbatches = microbatches, .chunks = vpp}).largest();
            std::int64_t const chunks = std::min(microbatches * vpp, warm_up(schedule, pp, vpp, group, rank) + 1);
            return static_cast<double>(chunks) / static_cast<double>(vpp);
        }
        default: break;
    }
    std::int64_t const chunks =
        entry_of(schedule).in_flight({.ranks = pp, .microbatches = microbatches, .chunks = vpp}, rank);
    return static_cast<double>(chunks) / static_cast<double>(vpp * traits_of(schedule).parameter_copies());
}

std::int64_t postponed_head_weights(Schedule schedule, std::int64_t pp, std::int64_t microbatches) {
    if (schedule == Schedule::zb_h1) return std::min(microbatches, pp) - 1;
    if (schedule == Schedule::zb_h2) return std::min(microbatches, 2 * pp - 1) - 1;
    return 0;
}

}  // namespace sextant
