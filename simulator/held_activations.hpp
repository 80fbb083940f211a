#pragma once

#include "core/spec/schedule_traits.hpp"
#include "simulator/closed_form.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace sextant {

/// Which activations: all that are kept, those that would be offloaded, or the rest; what is not kept and, run again,
/// waits for the weight half of a backward.
enum class Activations : std::uint8_t { kept, offloaded, on_device, waiting };

/// Whether what recompute runs again in the input half of a backward waits for the weight half.
inline bool waits_with_reruns(ParallelPlan const& plan) {
    return plan.recompute != Recompute::none && traits_of(plan.schedule).split_backward == Switch::on;
}

/// Activations that some layers and ends of the model keep of a microbatch; `again`: of the layers of each kind, those
/// that recompute runs again (empty: all).
Bytes kept_of(ShapeCost const& shape, StageContent const& content, ParallelPlan const& plan,
              std::span<std::int64_t const> again, Activations which = Activations::kept);

/// Shares of a rank's chunks, which hold `contents`, in what it keeps of a microbatch; empty where all keep the same.
/// `again`: layers of each chunk, by kind, that recompute runs again; empty: all.
std::vector<double> shares_of(ShapeCost const& shape, std::span<StageContent const> contents,
                              std::span<std::vector<std::int64_t> const> again, ParallelPlan const& plan,
                              Activations which = Activations::kept);

/// Microbatches whose activations a rank holds at its peak: by what its chunks keep, where that differs.
double held_at_most(std::vector<double> const& chunk_shares, PipelineCost const& pipeline, ParallelPlan const& plan,
                    std::int64_t rank, MomentStore& moments);
/// The same as it is entered in a load, with what stays on the device where some is offloaded.
void set_in_flight(StageLoad& load, StageCost const& run, PipelineCost const& pipeline, ParallelPlan const& plan,
                   std::int64_t rank, MomentStore& moments);

/// What one rank of a run holds.
StageLoad load_of_rank(StageCost const& run, PipelineCost const& pipeline, ParallelPlan const& plan, std::int64_t rank);

/// What it holds where a microbatch is one sequence of `longest` tokens, as each of them may be: activations and logits
/// in proportion to the tokens, with scores in memory to their square at most. Less than its own tokens changes
/// nothing.
StageLoad load_of_longest(StageLoad load, ParallelPlan const& plan, std::int64_t sequence, std::int64_t longest);

}  // namespace sextant
