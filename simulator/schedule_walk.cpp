#include "simulator/schedule_walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace sextant {

namespace {

/// When and where a pass over one stage and microbatch ended.
struct Passed {
    double end = -1;  ///< seconds; negative: not yet
    std::int32_t rank = -1;
    [[nodiscard]] bool yet() const { return end >= 0; }
};

/// The walk under way: passes done so far, and how far each rank has come.
class Walker {
public:
    Walker(PipelineSchedule const& schedule, WalkCosts const& costs)
        : schedule_(schedule),
          costs_(costs),
          stages_(static_cast<std::size_t>(schedule.stages)),
          forwards_(stages_ * static_cast<std::size_t>(schedule.microbatches)),
          backwards_(forwards_.size()),
          transfers_(stages_, 0.0),
          free_at_(schedule.ranks.size(), 0.0),
          position_(schedule.ranks.size(), 0) {
        for (std::size_t s = 0; s < costs.transfers.size() && s + 1 < stages_; ++s)
            transfers_[s] = costs.transfers[s].base();
        walk_.ranks.resize(schedule.ranks.size());
        for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank)
            walk_.ranks[rank].slots.resize(schedule.ranks[rank].size());
    }

    ScheduleWalk run() {
        // Forwards travel to higher ranks and backwards to lower ones: sweeping both ways lets each go far at once.
        std::size_t const ranks = schedule_.ranks.size();
        for (bool moved = true; moved;) {
            moved = false;
            for (std::size_t rank = 0; rank < ranks; ++rank)
                moved = advance(rank) || moved;
            for (std::size_t rank = ranks; rank-- > 0;)
                moved = advance(rank) || moved;
        }
        finish();
        return std::move(walk_);
    }

private:
    [[nodiscard]] std::size_t at(std::int32_t stage, std::int32_t microbatch) const {
        return static_cast<std::size_t>(microbatch) * stages_ + static_cast<std::size_t>(stage);
    }
    /// When what `from` made is on `rank`.
    static double arrival(Passed const& from, std::int32_t rank, double transfer) {
        return from.rank == rank ? from.end : from.end + transfer;
    }
    /// Earliest start of a forward; negative while its input does not exist.
    [[nodiscard]] double forward_ready(std::int32_t stage, std::int32_t microbatch, std::int32_t rank) const {
        if (stage == 0) return 0;
        Passed const& before = forwards_[at(stage - 1, microbatch)];
        return before.yet() ? arrival(before, rank, transfers_[static_cast<std::size_t>(stage) - 1]) : -1;
    }
    /// The same of a backward. Any but the last stage's own forward has run if the next stage's backward has.
    [[nodiscard]] double backward_ready(std::int32_t stage, std::int32_t microbatch, std::int32_t rank) const {
        if (static_cast<std::size_t>(stage) + 1 == stages_) return forwards_[at(stage, microbatch)].end;
        Passed const& after = backwards_[at(stage + 1, microbatch)];
        return after.yet() ? arrival(after, rank, transfers_[static_cast<std::size_t>(stage)]) : -1;
    }
    [[nodiscard]] double ready(Slot const& slot, std::int32_t rank) const {
        switch (slot.kind) {
            case SlotKind::forward: return forward_ready(slot.stage, slot.microbatch, rank);
            case SlotKind::backward:
            case SlotKind::backward_input: return backward_ready(slot.stage, slot.microbatch, rank);
            case SlotKind::backward_weight: return backwards_[at(slot.stage, slot.microbatch)].end;
            case SlotKind::forward_backward: break;
        }
        double const forward = forward_ready(slot.stage, slot.microbatch, rank);
        double const backward = backward_ready(slot.backward_stage, slot.backward_microbatch, rank);
        return std::min(forward, backward) < 0 ? -1 : std::max(forward, backward);
    }
    [[nodiscard]] double duration(Slot const& slot) const {
        StageDurations const& stage = costs_.stages[static_cast<std::size_t>(slot.stage)];
        switch (slot.kind) {
            case SlotKind::forward: return stage.forward.base();
            case SlotKind::backward: return stage.backward.base();
            case SlotKind::backward_input: return stage.backward_input.base();
            case SlotKind::backward_weight: return stage.backward_weight.base();
            case SlotKind::forward_backward: break;
        }
        StageDurations const& other = costs_.stages[static_cast<std::size_t>(slot.backward_stage)];
        return pair_time(stage.paired_forward, other.paired_backward).time.base();
    }
    void pass(Slot const& slot, std::int32_t rank, double end) {
        switch (slot.kind) {
            case SlotKind::forward: forwards_[at(slot.stage, slot.microbatch)] = {end, rank}; return;
            case SlotKind::backward:
            case SlotKind::backward_input: backwards_[at(slot.stage, slot.microbatch)] = {end, rank}; return;
            case SlotKind::backward_weight: return;
            case SlotKind::forward_backward: break;
        }
        forwards_[at(slot.stage, slot.microbatch)] = {end, rank};
        backwards_[at(slot.backward_stage, slot.backward_microbatch)] = {end, rank};
    }

    /// Runs slots of a rank until one has to wait. True if any ran.
    bool advance(std::size_t rank) {
        std::vector<Slot> const& order = schedule_.ranks[rank];
        RankWalk& walk = walk_.ranks[rank];
        auto const id = static_cast<std::int32_t>(rank);
        std::size_t const first = position_[rank];
        std::size_t position = first;
        double clock = free_at_[rank];
        double busy = 0;
        for (; position < order.size(); ++position) {
            Slot const& slot = order[position];
            double const can = ready(slot, id);
            if (can < 0) break;
            double const start = std::max(clock, can);
            double const time = duration(slot);
            clock = start + time;
            busy += time;
            pass(slot, id, clock);
            walk.slots[position] = {Seconds::from_base(start), Seconds::from_base(clock)};
        }
        position_[rank] = position;
        free_at_[rank] = clock;
        walk.busy += Seconds::from_base(busy);
        return position > first;
    }

    /// What the slot still needs; of a pair, its forward's input first.
    [[nodiscard]] Slot missing(Slot const& slot, std::int32_t rank) const {
        bool const whole = slot.kind == SlotKind::forward_backward;
        if (slot.kind == SlotKind::forward || (whole && forward_ready(slot.stage, slot.microbatch, rank) < 0))
            return {.kind = SlotKind::forward, .stage = slot.stage - 1, .microbatch = slot.microbatch};
        std::int32_t const stage = whole ? slot.backward_stage : slot.stage;
        std::int32_t const microbatch = whole ? slot.backward_microbatch : slot.microbatch;
        if (slot.kind == SlotKind::backward_weight)
            return {.kind = SlotKind::backward_input, .stage = stage, .microbatch = microbatch};
        if (static_cast<std::size_t>(stage) + 1 == stages_)
            return {.kind = SlotKind::forward, .stage = stage, .microbatch = microbatch};
        return {.kind = SlotKind::backward_input, .stage = stage + 1, .microbatch = microbatch};
    }

    void finish();

    PipelineSchedule const& schedule_;
    WalkCosts const& costs_;
    std::size_t stages_;
    std::vector<Passed> forwards_, backwards_;
    std::vector<double> transfers_;
    std::vector<double> free_at_;
    std::vector<std::size_t> position_;
    ScheduleWalk walk_;
};

bool is_backward(Slot const& slot) { return slot.kind != SlotKind::forward; }

/// Change of what is held when a slot ends. @param training the rank runs backwards at all.
std::int64_t released(Slot const& slot, bool training) {
    if (slot.kind == SlotKind::forward) return training ? 0 : 1;
    return slot.kind == SlotKind::backward_input ? 0 : 1;
}

std::int64_t acquired(Slot const& slot) {
    return slot.kind == SlotKind::forward || slot.kind == SlotKind::forward_backward ? 1 : 0;
}

std::int64_t peak_in_flight(std::vector<Slot> const& order) {
    bool const training = std::any_of(order.begin(), order.end(), is_backward);
    std::int64_t held = 0, peak = 0;
    for (Slot const& slot : order) {
        held += acquired(slot);
        peak = std::max(peak, held);
        held -= released(slot, training);
    }
    return peak;
}

void Walker::finish() {
    for (double const end : free_at_)
        walk_.makespan = std::max(walk_.makespan, Seconds::from_base(end));
    for (std::size_t rank = 0; rank < position_.size(); ++rank) {
        std::vector<Slot> const& order = schedule_.ranks[rank];
        RankWalk& walk = walk_.ranks[rank];
        walk.slots.resize(position_[rank]);
        if (!walk.slots.empty()) {
            walk.start = walk.slots.front().start;
            walk.end = walk.slots.back().end;
        }
        walk.idle = walk_.makespan - walk.busy;
        walk.peak_in_flight = peak_in_flight(order);
        if (position_[rank] == order.size()) continue;
        Slot const& slot = order[position_[rank]];
        walk_.waiting.push_back({.rank = static_cast<std::int64_t>(rank),
                                 .position = position_[rank],
                                 .slot = slot,
                                 .missing = missing(slot, static_cast<std::int32_t>(rank))});
    }
}

}  // namespace

PairTime pair_time(PairedPass const& forward, PairedPass const& backward) {
    Seconds const alone = forward.alone + backward.alone;
    Seconds const communication = forward.communication + backward.communication;
    Seconds const waiting = forward.waiting + backward.waiting;
    Seconds const compute = alone - communication - waiting;
    PairTime pair{
        .time = std::max({compute, communication, forward.launched + backward.launched}), .hidden = {}, .spared = {}};
    pair.hidden = std::max(Seconds{}, std::min({alone - pair.time, compute, communication}));
    pair.spared = std::clamp(alone - pair.time - pair.hidden, Seconds{}, waiting);
    Seconds const copied = std::max(forward.copied, backward.copied);
    if (copied > Seconds{}) {
        double const shown = communication > Seconds{} ? (communication - pair.hidden) / communication : 0;
        pair.time = std::max(pair.time, copied + shown * (forward.sends + backward.sends));
    }
    return pair;
}

StageDurations with_pair(StageDurations stage, Seconds pair) {
    // As if half of either pass were communication, and the host launched no pair any faster.
    stage.paired_forward = {.alone = stage.forward, .communication = 0.5 * stage.forward, .launched = pair};
    stage.paired_backward = {.alone = stage.backward, .communication = 0.5 * stage.backward};
    return stage;
}

ScheduleWalk walk_schedule(PipelineSchedule const& schedule, WalkCosts const& costs) {
    assert(costs.stages.size() == static_cast<std::size_t>(schedule.stages));
    assert(costs.transfers.empty() || costs.transfers.size() + 1 == costs.stages.size());
    return Walker(schedule, costs).run();
}

WalkCosts uniform_costs(std::int64_t stages, UniformTimes const& times) {
    StageDurations const stage = with_pair({.forward = times.forward,
                                            .backward = times.backward(),
                                            .backward_input = times.backward_input,
                                            .backward_weight = times.backward_weight},
                                           times.pair);
    return {.stages = std::vector<StageDurations>(static_cast<std::size_t>(stages), stage), .transfers = {}};
}

std::vector<InFlight> in_flight_over_time(PipelineSchedule const& schedule, ScheduleWalk const& walk,
                                          std::int64_t rank) {
    std::vector<Slot> const& order = schedule.ranks[static_cast<std::size_t>(rank)];
    RankWalk const& times = walk.ranks[static_cast<std::size_t>(rank)];
    bool const training = std::any_of(order.begin(), order.end(), is_backward);
    std::vector<InFlight> changes;
    std::int64_t held = 0;
    for (std::size_t i = 0; i < times.slots.size(); ++i) {
        if (std::int64_t const more = acquired(order[i]); more > 0)
            changes.push_back({.time = times.slots[i].start, .held = held += more});
        if (std::int64_t const less = released(order[i], training); less > 0)
            changes.push_back({.time = times.slots[i].end, .held = held -= less});
    }
    return changes;
}

std::string text_of(std::vector<WaitingSlot> const& waiting, std::size_t most) {
    std::string text;
    for (std::size_t i = 0; i < waiting.size() && i < most; ++i) {
        WaitingSlot const& w = waiting[i];
        bool const gradient = w.missing.kind == SlotKind::backward_input;
        text += fmt::format(
            "{}rank {} waits with {} for {}", i == 0 ? "" : "; ", w.rank, text_of(w.slot),
            gradient ? fmt::format("the backward of stage {}, microbatch {}", w.missing.stage, w.missing.microbatch)
                     : text_of(w.missing));
    }
    if (waiting.size() > most) text += fmt::format("; and {} more", waiting.size() - most);
    return text;
}

}  // namespace sextant
