#pragma once

#include "simulator/data_parallel.hpp"

#include <algorithm>
#include <cstdint>

namespace sextant {

/// Bytes that a framework sends of a gradient.
double gradient_sent(ParallelPlan const& plan, DataParallelCurves const& curves, FrameworkTiming const& f);

/// What a framework sends of a weight; in fp32 and tf32 no less than all of it.
double weight_sent(ParallelPlan const& plan, FrameworkTiming const& f);

/// The same, mean over parameters of which `wide` are embedding and output matrix, which are in 16 bits; those of
/// products in fp8 are sent in that format where it is kept. Router and norms are in 16 bits, too, but below 1 % of a
/// layer.
double parameter_sent(double parameters, double wide, ParallelPlan const& plan, FrameworkTiming const& f);

/// Calls for parameters of so many layers with ZeRO 0 and 1: one a layer, or a bucket. Chunks have buckets of their
/// own, of later ranks of a pipeline one each.
double calls_for(double parameters, double layers, StageLoad const& load, ParallelPlan const& plan,
                 DataParallelCurves const& curves);

/// What one call of data parallelism is, before it is priced.
struct DataParallelShape {
    DataParallelMoment moment;
    CollectiveKind kind;
    GroupKind group;
    DataParallelCall::Over over;
    std::int64_t ranks;
    std::int64_t stride;
    double layers;
    double calls;  ///< as many, or fewer, of several layers each
    Bytes bytes;   ///< of one call
    [[nodiscard]] bool of_several_layers() const { return calls < layers; }
};

/// Hands the calls for one kind of parameters to `sink(shape, curve)`.
template <class Sink>
struct DataParallelCallBuilder {
    Sink& sink;
    DataParallelCurves::Group const& g;
    GroupKind group;
    double parameters;
    Bytes frozen;
    double layers;
    double calls;
    bool in_units;
    bool shards_weights;
    bool reduces_all;  ///< with ZeRO 1 and 2: every rank has all gradients, and keeps its part
    double gradient;   ///< bytes sent of it
    double weight;

    void add(DataParallelMoment moment, CollectiveKind kind, CollectiveCurve const& curve, double bytes_per_parameter,
             std::int64_t ranks, std::int64_t stride) const {
        add_bytes(moment, kind, curve, bytes_per_parameter * parameters / calls * units::B, ranks, stride);
    }
    void add_bytes(DataParallelMoment moment, CollectiveKind kind, CollectiveCurve const& curve, Bytes bytes,
                   std::int64_t ranks, std::int64_t stride) const {
        if (bytes <= Bytes{}) return;
        sink(DataParallelShape{.moment = moment,
                               .kind = kind,
                               .group = group,
                               .over = DataParallelCall::Over::replicas,
                               .ranks = ranks,
                               .stride = stride,
                               .layers = layers,
                               .calls = calls,
                               .bytes = bytes},
             curve);
    }
    void sharded(DataParallelMoment moment, CollectiveKind kind, CollectiveCurve const& curve,
                 double bytes_per_parameter) const {
        add(moment, kind, curve, bytes_per_parameter, g.shard, g.stride);
    }
    /// Weights that a pass needs, frozen ones as they are held.
    void gather(DataParallelMoment moment, double bytes_per_parameter) const {
        add_bytes(moment, CollectiveKind::all_gather, *g.gather,
                  bytes_per_parameter * parameters / layers * units::B + frozen / layers, g.shard, g.stride);
    }
    void build(ParallelPlan const& plan) const {
        if (plan.zero == 0 || g.shard == 1) {
            add(DataParallelMoment::backward_last, CollectiveKind::all_reduce, *g.reduce, gradient, g.ranks, g.stride);
            return;
        }
        if (plan.zero >= 3) {
            gather(DataParallelMoment::forward_each, weight);
            gather(DataParallelMoment::backward_each, weight);
            sharded(DataParallelMoment::backward_each, CollectiveKind::reduce_scatter, *g.scatter, gradient);
        } else {
            // ZeRO 2 keeps no full gradients, so every microbatch reduces; ZeRO 1 reduces once.
            auto const moment = plan.zero == 2 ? DataParallelMoment::backward_each : DataParallelMoment::backward_last;
            if (reduces_all)
                add(moment, CollectiveKind::all_reduce, *g.reduce, gradient, g.ranks, g.stride);
            else
                sharded(moment, CollectiveKind::reduce_scatter, *g.scatter, gradient);
            if (in_units || shards_weights)
                gather(in_units ? DataParallelMoment::forward_each : DataParallelMoment::forward_first, weight);
            else
                sharded(DataParallelMoment::forward_first, CollectiveKind::all_gather, *g.gather, weight);
        }
        if (g.across != nullptr && (plan.zero >= 3 || !reduces_all))
            add(in_units ? DataParallelMoment::backward_each : DataParallelMoment::backward_last,
                CollectiveKind::all_reduce, *g.across, gradient / static_cast<double>(g.shard), g.ranks / g.shard,
                g.stride * g.shard);
    }
};

/// The same for the copies from host memory of a rank's shard of one kind of parameters, which go before their gathers.
/// @param held bytes of all of them
template <class Sink>
void each_host_copy(Sink& sink, CollectiveCurve const& host, GroupKind group, Bytes held, double shards,
                    double layers) {
    if (held <= Bytes{}) return;
    for (auto const moment : {DataParallelMoment::forward_each, DataParallelMoment::backward_each})
        sink(DataParallelShape{.moment = moment,
                               .kind = CollectiveKind::all_gather,
                               .group = group,
                               .over = DataParallelCall::Over::host,
                               .ranks = 1,
                               .stride = 1,
                               .layers = layers,
                               .calls = layers,
                               .bytes = held / shards / layers},
             host);
}

/// Hands all calls of a stage to `sink(shape, curve)`.
template <class Sink>
void each_data_parallel_call(StageLoad const& load, ParallelPlan const& plan, DataParallelCurves const& curves,
                             FrameworkTiming const& f, Sink sink) {
    double const gradient = gradient_sent(plan, curves, f);
    double const layers = std::max(1.0, load.layers);
    double const moe_layers = std::max(1.0, load.moe_layers);
    if (offloads_parameters(plan)) {
        double const weight = curves.gradients.held_weight_bytes(plan);
        each_host_copy(sink, curves.host, GroupKind::data,
                       weight * load.parameters.dense * units::B + frozen_dense_bytes(load.frozen, plan),
                       dense_shards(plan), layers);
        each_host_copy(sink, curves.host, GroupKind::expert_data,
                       weight * load.parameters.expert * units::B + frozen_expert_bytes(load.frozen, plan),
                       expert_shards(plan), moe_layers);
    }
    if (curves.dense.gather != nullptr)
        DataParallelCallBuilder<Sink>{sink,
                                      curves.dense,
                                      GroupKind::data,
                                      load.parameters.dense,
                                      frozen_dense_bytes(load.frozen, plan),
                                      layers,
                                      calls_for(load.parameters.dense, layers, load, plan, curves),
                                      curves.in_units,
                                      curves.shards_weights,
                                      f.all_reduces_gradients.value > 0,
                                      gradient,
                                      parameter_sent(load.parameters.dense, load.parameters.embedding, plan, f)}
            .build(plan);
    if (curves.expert.gather != nullptr)
        DataParallelCallBuilder<Sink>{sink,
                                      curves.expert,
                                      GroupKind::expert_data,
                                      load.parameters.expert,
                                      frozen_expert_bytes(load.frozen, plan),
                                      moe_layers,
                                      calls_for(load.parameters.expert, moe_layers, load, plan, curves),
                                      curves.in_units,
                                      curves.shards_weights,
                                      f.all_reduces_gradients.value > 0,
                                      gradient,
                                      parameter_sent(load.parameters.expert, 0, plan, f)}
            .build(plan);
}

}  // namespace sextant
