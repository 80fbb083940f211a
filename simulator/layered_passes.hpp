#pragma once

#include "simulator/closed_form.hpp"
#include "simulator/data_parallel.hpp"
#include "simulator/lane_writer.hpp"
#include "simulator/slot_programs.hpp"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace sextant {

/// Passes beside which data parallelism runs, laid out layer by layer: weights are gathered ahead of a layer, gradients
/// reduced behind it, in order, on a stream of their own.
///
/// Beside compute c a transfer of time t takes min(t / o, t + (1 - o) c), o the framework's overlap: it hides o c of
/// itself, as in the closed form.
class LayeredPasses {
public:
    /// @param prefetch layers that are gathered ahead of the one at work.
    LayeredPasses(ClosedForm const& form, ParallelPlan const& plan, StepProgram& program, SlotPrograms& programs,
                  LaneWriter& writer, std::int64_t prefetch)
        : form_(form), plan_(plan), program_(program), programs_(programs), writer_(writer), prefetch_(prefetch) {}

    /// A first forward of a stage in the step, in the order of the rank.
    struct FirstForward {
        std::int32_t stage = 0;
        std::int32_t microbatch = 0;
    };
    /// ZeRO 1 and 2: the weights of all layers of a rank follow one another from the beginning of the step on.
    void gather_first_weights(std::int64_t rank, DataParallelCalls const& calls,
                              std::vector<FirstForward> const& forwards);
    /// The first forward of a stage, each layer after its own weights. @pre gather_first_weights
    void run_gathered(std::int64_t rank, SlotTag const& tag);
    /// A pass with calls of the moments `gather` and `reduce` beside it: gathers ahead, all others behind.
    void run(std::int64_t rank, SlotTag const& tag, DataParallelCalls const& calls, DataParallelMoment gather,
             DataParallelMoment reduce);
    /// All gradients of a stage at once, after what the rank has done so far.
    void reduce_stage(std::int64_t rank, SlotTag const& tag, DataParallelCalls const& calls);

private:
    ProgramItem call_item(DataParallelCall const& call, double time);
    [[nodiscard]] double time_of(DataParallelCall const& call, double all, double compute) const;

    ClosedForm const& form_;
    ParallelPlan const& plan_;
    StepProgram& program_;
    SlotPrograms& programs_;
    LaneWriter& writer_;
    std::int64_t prefetch_;
    std::map<std::pair<std::int64_t, std::int32_t>, std::vector<std::vector<LaneTasks>>> gathered_;
};

}  // namespace sextant
