#pragma once

#include "simulator/schedules/schedule.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sextant {

/// What counts of a pass that runs beside one of the other kind.
struct PairedPass {
    Seconds alone{};          ///< its time by itself
    Seconds communication{};  ///< the part of that which hides behind the other's compute
    Seconds sends{};          ///< the part of the communication which is to other ranks of the pipeline
    Seconds waiting{};        ///< the part of it that waits for the host
    Seconds launched{};       ///< what the host needs to launch it
    Seconds copied{};         ///< for what it copies to the host, or back
};

/// A forward and a whole backward beside one another.
struct PairTime {
    Seconds time;
    Seconds hidden;  ///< of the communication of both
    Seconds spared;  ///< of their waiting for the host
};
/// The longest of the compute of both, of their communication and of what the one host takes to launch them; no less
/// than either's copies, which run beside all but the sends that show.
PairTime pair_time(PairedPass const& forward, PairedPass const& backward);

/// Times of one microbatch on one stage.
struct StageDurations {
    Seconds forward;
    Seconds backward;        ///< of a whole backward
    Seconds backward_input;  ///< of its halves, where the schedule splits it
    Seconds backward_weight;
    PairedPass paired_forward{};  ///< where it runs in pairs
    PairedPass paired_backward{};
};

/// The stage with pairs, with another like it, that take `pair`: at least half of what the passes take apart.
StageDurations with_pair(StageDurations stage, Seconds pair);

/// What a walk is told about time.
struct WalkCosts {
    std::vector<StageDurations> stages;
    /// Activations from stage s to s + 1, and gradients back, where the two lie on different ranks. A delay: neither
    /// rank is busy meanwhile. One less than stages, or empty for none.
    std::vector<Seconds> transfers;
};

struct SlotTime {
    Seconds start;
    Seconds end;
};

/// One rank's part of a walk.
struct RankWalk {
    Seconds busy;                     ///< in slots
    Seconds idle;                     ///< the rest of the step
    Seconds start;                    ///< of its first slot
    Seconds end;                      ///< of its last
    std::int64_t peak_in_flight = 0;  ///< most chunk passes held at once
    std::vector<SlotTime> slots;      ///< as far as the rank came
    /// Waiting between the first and the last slot.
    [[nodiscard]] Seconds gaps() const { return end - start - busy; }
};

/// A slot that can never run, and what it waits for.
struct WaitingSlot {
    std::int64_t rank = 0;
    std::size_t position = 0;
    Slot slot;
    Slot missing;  ///< `forward`, or `backward_input` for the gradient of either kind
};

struct ScheduleWalk {
    Seconds makespan;
    std::vector<RankWalk> ranks;
    std::vector<WaitingSlot>
        waiting;  ///< empty unless the schedule deadlocks; else the next slot of each rank that is stuck
};

/// Start and end of every slot when ranks run their slots in order, each as soon as the rank is free and what it needs
/// is there: a forward the stage before, a backward (or its input half) the stage after, the last stage's backward its
/// own forward, a weight half its input half. The longest path through the schedule: exact where nothing is contended.
///
/// Both parts of a pair start and end together. Without backwards, activations are held during the forward only.
/// @pre find_fault(schedule) finds nothing; `costs` has every stage.
ScheduleWalk walk_schedule(PipelineSchedule const& schedule, WalkCosts const& costs);

/// Costs of a pipeline of equal stages.
WalkCosts uniform_costs(std::int64_t stages, UniformTimes const& times);

/// Chunk passes held from `time` on.
struct InFlight {
    Seconds time;
    std::int64_t held = 0;
};
/// How many chunk passes a rank holds, at each change, in order of time. @pre the walk did not deadlock.
std::vector<InFlight> in_flight_over_time(PipelineSchedule const& schedule, ScheduleWalk const& walk,
                                          std::int64_t rank);

/// "rank 1 waits with 1F0 for 0F0; rank 0 ...", in order of ranks, the first `most` of them.
std::string text_of(std::vector<WaitingSlot> const& waiting, std::size_t most = 8);

}  // namespace sextant
