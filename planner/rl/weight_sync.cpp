#include "planner/rl/weight_sync.hpp"

#include "cost_models/collective_time.hpp"
#include "cost_models/kernel_estimate.hpp"
#include "cost_models/memory_footprint.hpp"
#include "cost_models/serving/serving_memory.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

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

/// Of so many bytes to each rank of an engine, from the ranks that hold a copy.
Seconds gather_time(ServingCase const& engine, std::int64_t holders, std::int64_t world, Bytes bytes) {
    ClusterSpec const& cluster = engine.cluster;
    auto const time = [&](CollectiveKind kind, std::int64_t ranks, std::int64_t stride, Bytes of_rank) {
        return ranks > 1 ? collective_curve(cluster, kind, place_group(ranks, stride, cluster, world)).time(of_rank)
                         : Seconds{};
    };
    if (holders <= cluster.domain_size) return time(CollectiveKind::all_gather, holders, 1, bytes);
    std::int64_t const different =
        std::gcd(std::min(engine.plan.accelerators(), cluster.domain_size), std::gcd(holders, cluster.domain_size));
    Bytes const exchanged = bytes * (static_cast<double>(different) / static_cast<double>(holders));
    return time(CollectiveKind::all_to_all, different, 1, exchanged) +
           time(CollectiveKind::all_gather, holders / different, different, bytes);
}

}  // namespace

WeightSync weight_sync(ServingCase const& engine, ParallelPlan const& trainer, RolloutPlacement placement,
                       std::int64_t replicas) {
    ClusterSpec const& cluster = engine.cluster;
    WeightSync sync;
    sync.rank_bytes = sent_to_rank(engine);
    sync.gathered_from = ranks_of_a_copy(trainer);
    sync.gather = gather_time(engine, sync.gathered_from, trainer.world_size(), sync.rank_bytes);
    if (placement == RolloutPlacement::split)
        sync.broadcast = collective_curve(cluster, CollectiveKind::broadcast,
                                          place_group(replicas + 1, engine.plan.accelerators(), cluster.domain_size))
                             .time(sync.rank_bytes);
    sync.copy = 2 * sync.rank_bytes /
                (cluster.accelerator.memory_bandwidth.value * cluster.accelerator.memory_efficiency.value);
    return sync;
}

}  // namespace sextant
