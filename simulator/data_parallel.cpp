#include "simulator/data_parallel.hpp"

#include <algorithm>

namespace sextant {
namespace {

using units::B;

/// Layer-wise collective over all `parameters` of a stage: as many calls as layers.
Seconds layered(CollectiveCurve const& curve, double bytes, double layers) {
    return bytes > 0 ? layers * curve.time(bytes / layers * B) : Seconds{};
}

using Group = DataParallelCurves::Group;

/// Raw times of one kind of parameters, split by what they can hide behind.
struct Traffic {
    Seconds forward_each;  ///< every microbatch
    Seconds backward_each;
    Seconds backward_last;  ///< once per step
    Seconds forward_first;
};

Traffic traffic_of(double parameters, double layers, Group const& g, ParallelPlan const& plan,
                   FrameworkTiming const& f) {
    double const gradient = f.gradient_bytes_sent.value * parameters;
    double const weight = f.weight_bytes_sent.value * parameters;
    Traffic t;
    if (plan.zero == 0) {
        t.backward_last = layered(*g.reduce, gradient, layers);
        return t;
    }
    if (plan.zero >= 3) {
        t.forward_each = layered(*g.gather, weight, layers);
        t.backward_each = t.forward_each + layered(*g.scatter, gradient, layers);
    } else {
        // ZeRO 2 keeps no full gradients, so every microbatch reduces; ZeRO 1 reduces once.
        (plan.zero == 2 ? t.backward_each : t.backward_last) = layered(*g.scatter, gradient, layers);
        t.forward_first = layered(*g.gather, weight, layers);
    }
    if (g.across != nullptr) t.backward_last += layered(*g.across, gradient / dense_shards(plan), layers);
    return t;
}

/// What remains of a transfer beside `compute`, of which a share `overlap` may hide it.
Seconds exposed(Seconds transfer, Seconds compute, double overlap, double layers) {
    return std::max(transfer - overlap * compute, transfer / layers);
}

constexpr BytesPerSecond host_update_bandwidth = 25 * units::GB / units::s;  // assumed, host memory per accelerator
constexpr double host_update_bytes = 28;                                     // fp32 AdamW: read 16, write 12

Group group_curves(GroupPlacement const& all, GroupPlacement const& sharded, Pricer& pricer) {
    return {.gather = &pricer.curve(CollectiveKind::all_gather, sharded),
            .scatter = &pricer.curve(CollectiveKind::reduce_scatter, sharded),
            .reduce = &pricer.curve(CollectiveKind::all_reduce, all)};
}

}  // namespace

DataParallelCurves data_parallel_curves(ParallelPlan const& plan, Pricer& pricer) {
    DataParallelCurves curves;
    ClusterSpec const& cluster = pricer.cluster();
    std::int64_t const ranks = plan.dp * plan.cp;
    if (ranks > 1) {
        std::int64_t const shard = plan.shard_group > 0 ? plan.shard_group : ranks;
        curves.dense = group_curves(place(GroupKind::data, plan, cluster),
                                    place_group(shard, plan.tp, cluster.domain_size), pricer);
        if (shard < ranks)
            curves.dense.across = &pricer.curve(CollectiveKind::all_reduce,
                                                place_group(ranks / shard, plan.tp * shard, cluster.domain_size));
    }
    // Tensor-parallel ranks that each hold whole experts are replicas of them, even where dp * cp is one.
    if (plan.expert_dp() > 1) {
        GroupPlacement const experts = place(GroupKind::expert_data, plan, cluster);
        curves.expert = group_curves(experts, experts, pricer);
    }
    return curves;
}

DataParallelTime data_parallel_time(StageLoad const& load, ParallelPlan const& plan, Seconds forward, Seconds backward,
                                    DataParallelCurves const& curves, AcceleratorProfile const& accelerator,
                                    FrameworkTiming const& f) {
    DataParallelTime time;
    double const layers = std::max(1.0, load.layers);
    bool const experts = load.parameters.expert > 0 && curves.expert.gather != nullptr;
    if (curves.dense.gather != nullptr || experts) {
        Traffic t;
        if (curves.dense.gather != nullptr) t = traffic_of(load.parameters.dense, layers, curves.dense, plan, f);
        if (experts) {
            Traffic const e =
                traffic_of(load.parameters.expert, std::max(1.0, load.moe_layers), curves.expert, plan, f);
            t.forward_each += e.forward_each;
            t.backward_each += e.backward_each;
            t.backward_last += e.backward_last;
            t.forward_first += e.forward_first;
        }
        double const overlap_each = plan.zero >= 3 ? f.fsdp_overlap.value : f.dp_overlap.value;
        time.exposed = load.microbatches * (exposed(t.forward_each, forward, overlap_each, layers) +
                                            exposed(t.backward_each, backward, overlap_each, layers)) +
                       exposed(t.backward_last, backward, f.dp_overlap.value, layers) +
                       exposed(t.forward_first, forward, f.dp_overlap.value, layers);
    }

    bool const sharded = plan.zero >= 1;
    double const updated = load.parameters.dense / (sharded ? dense_shards(plan) : 1) +
                           load.parameters.expert / (sharded ? expert_shards(plan) : 1);
    if (offloads_optimizer(plan)) {
        double const moved = (f.gradient_bytes_sent.value + f.weight_bytes_sent.value) * updated;
        time.offload =
            moved * B / accelerator.host_bandwidth.value + host_update_bytes * updated * B / host_update_bandwidth;
    } else {
        BytesPerSecond const memory = accelerator.memory_bandwidth.value * accelerator.memory_efficiency.value;
        time.optimizer = f.optimizer_bytes_per_parameter.value * updated * B / memory;
    }
    return time;
}

}  // namespace sextant
