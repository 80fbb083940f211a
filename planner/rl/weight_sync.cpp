#include "planner/rl/weight_sync.hpp"

#include "cost_models/collective_time.hpp"
#include "cost_models/kernel_estimate.hpp"
#include "cost_models/memory_footprint.hpp"
#include "cost_models/serving/serving_memory.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

/// The trainer sends what it computes with, whatever the engine makes of it.
Bytes sent_to_rank(ServingCase engine) {
    engine.plan.weights = std::string(name_of(two_byte_precision(engine.cluster.accelerator)));
    return serving_memory(engine).weights;
}

std::int64_t ranks_of_a_copy(ParallelPlan const& plan) {
    std::int64_t const model = plan.tp * plan.pp * std::max<std::int64_t>(1, plan.ep * plan.expert_tp / plan.tp);
    std::int64_t const shards = plan.zero >= 3 ? std::llround(dense_shards(plan)) * plan.tp * plan.pp : 1;
    return std::clamp<std::int64_t>(std::max(model, shards), 1, plan.world_size());
}

}  // namespace

WeightSync weight_sync(ServingCase const& engine, ParallelPlan const& trainer, RolloutPlacement placement,
                       std::int64_t replicas) {
    ClusterSpec const& cluster = engine.cluster;
    WeightSync sync;
    sync.rank_bytes = sent_to_rank(engine);
    sync.gathered_from = ranks_of_a_copy(trainer);
    if (sync.gathered_from > 1)
        sync.gather = collective_curve(cluster, CollectiveKind::all_gather,
                                       place_group(sync.gathered_from, 1, cluster, trainer.world_size()))
                          .time(sync.rank_bytes);
    if (placement == RolloutPlacement::split)
        sync.broadcast = collective_curve(cluster, CollectiveKind::broadcast,
                                          place_group(replicas + 1, engine.plan.accelerators(), cluster.domain_size))
                             .time(sync.rank_bytes);
    sync.copy = 2 * sync.rank_bytes /
                (cluster.accelerator.memory_bandwidth.value * cluster.accelerator.memory_efficiency.value);
    return sync;
}

}  // namespace sextant
