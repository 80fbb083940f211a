#pragma once

#include "core/spec/hardware_profile.hpp"
#include "core/spec/parallel_plan.hpp"
#include "cost_models/block_price.hpp"
#include "simulator/chunk_turns.hpp"
#include "simulator/schedule_walk.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

namespace sextant {

/// One chunk of a model, priced for one microbatch.
struct ChunkCost {
    PassTime forward;
    PassTime backward;  ///< without recompute
    PassTime weight;    ///< the part of `backward` that is weight gradients
    PassTime rerun;     ///< what recompute adds to the backward pass
    Bytes kept;         ///< activations
    Bytes offloaded;    ///< of these, what lies in host memory where activations are offloaded
    Bytes waiting{};    ///< what recompute has again from the input half of a backward to its weight half
};

/// How far a pass is stretched because activations do not get through to the host, or back, in time.
inline Seconds offload_wait(ParallelPlan const& plan, AcceleratorProfile const& accelerator, Bytes offloaded,
                            Seconds pass) {
    if (!offloads_activations(plan)) return {};
    return std::max(Seconds{}, offloaded / accelerator.host_bandwidth.value - pass);
}

/// Times of a chunk for a walk.
///
/// Every pass takes its kernels, what shows of its communication, `transfer` and what offloading adds: activations
/// leave beside the forward and come back beside the backward, of a split one beside the input half, and stay for the
/// weight half. Recompute goes with the input half. A pair takes the longest of the compute of its two parts, of their
/// expert and pipeline communication, which hides behind the compute of the other part (arXiv:2412.19437 sec. 3.2.1),
/// and of what the host needs to launch both; other communication counts as compute.
/// @param transfer what shows of the sends and receives of one pass.
StageDurations chunk_times(ChunkCost const& chunk, ParallelPlan const& plan, Seconds transfer,
                           AcceleratorProfile const& accelerator);
/// The same of every chunk, in model order.
WalkCosts chunk_costs(std::span<ChunkCost const> chunks, ParallelPlan const& plan, Seconds transfer,
                      AcceleratorProfile const& accelerator);

/// A schedule to be walked: all of it, or, where that would take too long, two lengths of it from which the rest
/// follows: once a pipeline is full, every further round of microbatches takes as long as the one before.
struct WalkedSchedule {
    std::shared_ptr<PipelineSchedule const> first;
    std::shared_ptr<PipelineSchedule const> second;  ///< longer than the first; null: the first is all
    std::int64_t microbatches = 0;
    std::shared_ptr<std::vector<ChunkTurns> const> turns;  ///< of each rank of the first
    explicit operator bool() const { return first != nullptr; }
};

/// Builds schedules, and remembers those that it has built last.
class ScheduleStore {
public:
    /// None where even the beginning is too long to be walked and there is a closed form.
    /// @param most_slots a schedule with more is not walked to its end.
    /// @throws InputError when the beginning is too long and there is no closed form.
    WalkedSchedule get(ParallelPlan const& plan, std::int64_t microbatches, std::int64_t most_slots);

private:
    struct Built {
        std::shared_ptr<PipelineSchedule const> schedule;
        std::shared_ptr<std::vector<ChunkTurns> const> turns;
    };
    Built build(ParallelPlan const& plan, std::int64_t microbatches);
    std::map<std::tuple<Schedule, std::int64_t, std::int64_t, std::int64_t>, Built> built_;
};

/// What a rank's pairs take less than their parts.
struct PairSavings {
    Seconds hidden;   ///< of communication
    Seconds waiting;  ///< for the host
};

/// What a walk says of a step.
struct PipelineWalk {
    Seconds total;
    Seconds busy;              ///< of the rank that works longest
    PairSavings saved;         ///< of that rank
    std::int64_t slowest = 0;  ///< that rank
};
PipelineWalk walk_pipeline(WalkedSchedule const& schedule, WalkCosts const& costs);

}  // namespace sextant
