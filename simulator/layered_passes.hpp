#pragma once

#include "simulator/closed_form.hpp"
#include "simulator/data_parallel.hpp"
#include "simulator/lane_writer.hpp"
#include "simulator/pass_overlap.hpp"
#include "simulator/slot_programs.hpp"
#include "simulator/slower_traffic.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace sextant {

/// Passes beside which data parallelism runs, laid out layer by layer: weights are gathered ahead of a layer, gradients
/// reduced behind it, in order, on a stream of their own.
///
/// Of the time that transfers and compute have in common the share o is gained, o the framework's overlap, as in the
/// closed form: a transfer t and a layer c side by side are done after max(t, c) + (1 - o) min(t, c)
/// (`overlap_in_pass`); what layers lose that way, the rank loses after the pass. Traffic of a chunk with another
/// chunk's passes behind it (gradients) or before it (weights) ends long before the rank does; what it slows the passes
/// by, (1 - o) min(t, c) with the passes of a group of microbatches in c, the rank loses then, after the pass.
class LayeredPasses {
public:
    /// @param prefetch layers that are gathered ahead of the one at work.
    /// @param slower traffic whose links carry less than the cluster's do.
    LayeredPasses(ClosedForm const& form, ParallelPlan const& plan, StepProgram& program, SlotPrograms& programs,
                  LaneWriter& writer, std::int64_t prefetch, std::span<SlowerTraffic const> slower)
        : form_(form),
          plan_(plan),
          program_(program),
          programs_(programs),
          writer_(writer),
          prefetch_(prefetch),
          slower_(slower) {}

    /// A first forward of a stage in the step, in the order of the rank.
    struct FirstForward {
        std::int32_t stage = 0;
        std::int32_t microbatch = 0;
        double passes = 0;  ///< of the chunk before, in which its weights are gathered; 0: its own first one
    };
    /// ZeRO 1 and 2: the weights of all layers of a rank follow one another from the beginning of the step on.
    void gather_first_weights(std::int64_t rank, DataParallelCalls const& calls,
                              std::vector<FirstForward> const& forwards);
    /// The first forward of a stage, each layer after its own weights and those that one call gathers with them. @pre
    /// gather_first_weights
    /// @return what the rank loses by them.
    Seconds run_gathered(std::int64_t rank, SlotTag const& tag);
    /// A pass with calls of the moments `gather` and `reduce` beside it: gathers ahead, all others behind.
    /// @param passes of another chunk that follow, beside which gradients are reduced; 0: none.
    /// @return what the rank loses by that.
    Seconds run(std::int64_t rank, SlotTag const& tag, DataParallelCalls const& calls, DataParallelMoment gather,
                DataParallelMoment reduce, double passes = 0);
    /// The rank stands still for that long.
    void lose(std::int64_t rank, SlotTag const& tag, Seconds time);
    /// All gradients of a stage at once, after what the rank has done so far.
    void reduce_stage(std::int64_t rank, SlotTag const& tag, DataParallelCalls const& calls);

private:
    ProgramItem call_item(std::int64_t rank, DataParallelCall const& call, double time);
    [[nodiscard]] NetworkShares shares_of(DataParallelCall const& call) const;
    /// Seconds of a layer's part of a call with nothing beside it, on the links that it has.
    [[nodiscard]] double time_alone(std::int64_t rank, DataParallelCall const& call) const;
    /// A call in the order of the stream.
    struct Issue {
        DataParallelCall const* call = nullptr;
        double alone = 0;      ///< seconds, with nothing beside it
        std::size_t unit = 0;  ///< whose weights or gradients
        std::size_t after = PassTransfer::none;
        std::size_t before = PassTransfer::none;
        double duration = 0;  ///< beside what runs then
    };
    std::vector<double> durations_of(std::vector<ProgramUnit> const& units, TaskPass pass);
    /// Sets how long each call lasts beside units that take `durations` alone. @return what these lose by it.
    double time_beside(std::vector<Issue>& issues, std::vector<double> const& durations, PassEnd end) const;
    /// The same of calls that have `passes` of other microbatches beside them.
    double time_within(std::vector<Issue>& issues, std::vector<double> const& durations, double passes) const;
    [[nodiscard]] double lost_to(DataParallelMoment moment, double time, double compute) const;

    ClosedForm const& form_;
    ParallelPlan const& plan_;
    StepProgram& program_;
    SlotPrograms& programs_;
    LaneWriter& writer_;
    std::int64_t prefetch_;
    std::span<SlowerTraffic const> slower_;
    std::map<std::pair<std::int64_t, std::int32_t>, std::vector<std::vector<LaneTasks>>> gathered_;
    std::map<std::pair<std::int64_t, std::int32_t>, double> lost_;
};

}  // namespace sextant
