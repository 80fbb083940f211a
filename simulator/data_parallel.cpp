#include "simulator/data_parallel.hpp"

#include "core/spec/schedule_traits.hpp"
#include "core/spec/working_format.hpp"
#include "cost_models/kernel_time.hpp"
#include "simulator/data_parallel_traffic.hpp"
#include "simulator/exposed_transfer.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace sextant {
namespace {

using units::B;

using Group = DataParallelCurves::Group;
using Moment = DataParallelMoment;

constexpr double host_update_bytes = 28;  // fp32 AdamW: read 16, write 12; 8 of each are the moments
/// AdamW with all in bf16: reads gradient, weight and two moments, writes weight and moments.
constexpr double pure_bf16_update_bytes = 4 * 2 + 3 * 2;

/// What Adafactor's update moves more than AdamW's in one kernel, 84 bytes and not 28: in fp32 the norm of the weight
/// (4), the square of the gradient and its sum with epsilon (8 + 8), the means of its rows and columns (4 + 4), the
/// product of these (4) with the gradient (12), the norm of that (4), its division (8), its product with the rate (8),
/// its negative (8) and the sum with the weight (12). Source: transformers 4.57, optimization.py (`Adafactor.step`).
constexpr double adafactor_more_bytes = 84 - 28;

/// Bytes that the update of one parameter reads and writes where its state lies.
double update_bytes(ParallelPlan const& plan, KeptGradients const& kept, FrameworkTiming const& f) {
    if (plan.optimizer == Optimizer::adamw_pure_bf16) return pure_bf16_update_bytes;
    // What is not held is neither read nor written.
    if (offloads_optimizer(plan)) return host_update_bytes - 2 * optimizer_saving(plan.optimizer);
    // What is sent in less than it is kept in is read as it is kept.
    double const narrower = std::min(f.gradient_bytes_sent.value - gradient_traffic(f, kept, plan).updated,
                                     std::max(0.0, kept.usual_bytes - kept.bytes(plan)));
    // An fp32 copy of 16-bit gradients is written and read, of fp16 ones also scaled in place. Source: Megatron-Core,
    // optimizer.py.
    double const copied = (plan.precision == Precision::fp16 ? 4 : 2) * kept.copy_bytes(plan);
    if (plan.optimizer == Optimizer::adafactor)
        return f.optimizer_bytes_per_parameter.value - narrower + adafactor_more_bytes + copied;
    // Both halves of a weight are read; the one that is not bf16's is written in place of both.
    double const saved = 2 * optimizer_saving(plan.optimizer) + kept.remainder_saving(plan);
    return std::max(0.0, f.optimizer_bytes_per_parameter.value - narrower - saved) + copied;
}

/// Bytes that gradients move in a step beside their sums and their update: a buffer of them is zeroed, and the norm
/// that they are clipped by reads those that a rank updates. Source: Megatron-Core, param_and_grad_buffer.py
/// (zero_grad) and clip_grads.py; PyTorch's `set_to_none` writes nothing.
double gradient_passes(StageLoad const& load, double updated, ParallelPlan const& plan, KeptGradients const& kept) {
    double const zeroed = plan.zero >= 2 ? updated : load.parameters.total();
    constexpr double widest = 4;  // what is kept in more is two copies
    return kept.bytes(plan) * (kept.buffered() ? zeroed : 0) + std::min(widest, kept.bytes(plan)) * updated;
}

/// Whether gradients lie in host memory as those of parameters that are there, which PyTorch adds up and clips there.
bool has_host_gradients(ParallelPlan const& plan, KeptGradients const& kept) {
    return kept.go_to_host(plan) && kept.to_host == Switch::off;
}

/// Bytes that the update of one parameter moves whose optimizer state is in host memory.
struct HostUpdate {
    double link;    ///< between device and host
    double memory;  ///< of the host
};

/// Gradients go, weights come back, unless they lie there; weights go, too, where no fp32 copy of them is there.
///
/// DeepSpeed's gradients that ZeRO splits go down as they are made in every microbatch, and those before come up for
/// being added to; under ZeRO 3 a microbatch's also come up where nothing is to be added. The last of those that the
/// host keeps go in fp32. PyTorch's go down in every microbatch, and the host adds them to those before.
/// Source: DeepSpeed, stage_1_and_2.py (async_accumulate_grad_in_cpu_via_gpu,
/// async_inplace_copy_grad_to_fp32_buffer_from_gpu), stage3.py (partition_grads); PyTorch, _fsdp_collectives.py
/// (foreach_reduce).
HostUpdate host_update(StageLoad const& load, ParallelPlan const& plan, DataParallelCurves const& curves,
                       FrameworkTiming const& f) {
    KeptGradients const& kept = curves.gradients;
    double const m = load.microbatches;
    bool const pure_bf16 = plan.optimizer == Optimizer::adamw_pure_bf16;
    double const weights = offloads_parameters(plan) ? 0 : (pure_bf16 ? 2 : 1) * weight_sent(plan, f);
    double const update = update_bytes(plan, kept, f);
    if (!kept.go_to_host(plan)) return {.link = gradient_sent(plan, curves, f) + weights, .memory = update};
    if (has_host_gradients(plan, kept)) {
        constexpr double accesses = 3;  // of a sum
        return {.link = m * kept.bytes(plan) + weights, .memory = update + accesses * (m - 1) * kept.bytes(plan)};
    }
    double const working = working_bytes(plan.precision);
    double const returning = plan.zero >= 3 ? m : plan.zero == 2 ? m - 1 : 0;
    double const last = pure_bf16 ? working : 4;
    return {.link = 2 * returning * working + last + weights, .memory = update};
}

/// Bytes of one layer's gradients that the two copies of a stage all-reduce.
Bytes exchanged_by_copies(double parameters, double shards, double layers, ParallelPlan const& plan,
                          DataParallelCurves const& curves, FrameworkTiming const& f) {
    return gradient_sent(plan, curves, f) * parameters / (plan.zero >= 1 ? shards : 1) / layers * B;
}

/// All-reduce of the gradients between the two copies of a stage, layer by layer; zero where there is one.
Seconds exchange_of_copies(StageLoad const& load, ParallelPlan const& plan, DataParallelCurves const& curves,
                           FrameworkTiming const& f) {
    if (curves.copies == nullptr) return {};
    auto const time = [&](double parameters, double shards, double layers) {
        Bytes const bytes = exchanged_by_copies(parameters, shards, layers, plan, curves, f);
        return bytes > Bytes{} ? layers * curves.copies->time(bytes) : Seconds{};
    };
    return time(load.parameters.dense, dense_shards(plan), std::max(1.0, load.layers)) +
           time(load.parameters.expert, expert_shards(plan), std::max(1.0, load.moe_layers));
}

/// One rank of the first stage of a pipeline, and its like of the last: in one domain where all of it is. So many pairs
/// are at work as a stage has ranks; what lies between the two stages is not.
GroupPlacement ends_of_pipeline(ParallelPlan const& plan, ClusterSpec const& cluster) {
    std::int64_t const stage = plan.tp * plan.cp * plan.dp;
    bool const inside = stage * plan.pp <= cluster.domain_size;
    return {.size = 2,
            .ranks_per_domain = inside ? 2 : 1,
            .domains = inside ? 1 : 2,
            .stride = stage * (plan.pp - 1),
            .beside = stage};
}

/// One rank of a stage of a pipeline that runs both ways, and that of the stage's copy: of every pair of places one
/// such pair per rank of a stage.
GroupPlacement copies_of_stage(ParallelPlan const& plan, ClusterSpec const& cluster) {
    GroupPlacement copies = place(GroupKind::pipeline, plan, cluster);
    copies.beside = copies.stride * (plan.pp / 2);
    return copies;
}

/// Of a group whose first `shard` ranks, and each as many after them, share what ZeRO splits.
Group group_curves(GroupPlacement const& all, double shards, Pricer& pricer) {
    auto const shard = static_cast<std::int64_t>(shards);
    ClusterSpec const& cluster = pricer.cluster();
    GroupPlacement const sharded = place_group(shard, all.stride, cluster, all.slice);
    return {.ranks = all.size,
            .shard = shard,
            .stride = all.stride,
            .gather = &pricer.curve(CollectiveKind::all_gather, sharded),
            .scatter = &pricer.curve(CollectiveKind::reduce_scatter, sharded),
            .reduce = &pricer.curve(CollectiveKind::all_reduce, all),
            .across = shard < all.size
                          ? &pricer.curve(CollectiveKind::all_reduce,
                                          place_group(all.size / shard, all.stride * shard, cluster, all.slice))
                          : nullptr};
}

}  // namespace

DataParallelCurves data_parallel_curves(ParallelPlan const& plan, Pricer& pricer) {
    DataParallelCurves curves;
    curves.gradients = pricer.gradients();
    ClusterSpec const& cluster = pricer.cluster();
    curves.host.add({}, 1 / cluster.accelerator.host_bandwidth.value);
    if (plan.dp * plan.cp > 1)
        curves.dense = group_curves(place(GroupKind::data, plan, cluster), dense_shards(plan), pricer);
    // Tensor-parallel ranks that each hold whole experts are replicas of them, even where dp * cp is one.
    if (plan.expert_dp() > 1)
        curves.expert = group_curves(place(GroupKind::expert_data, plan, cluster), expert_shards(plan), pricer);
    if (traits_of(plan.schedule).parameter_copies() > 1)
        curves.copies = &pricer.curve(CollectiveKind::all_reduce, copies_of_stage(plan, cluster));
    if (plan.pp > 1) curves.ends = &pricer.curve(CollectiveKind::all_reduce, ends_of_pipeline(plan, cluster));
    return curves;
}

Seconds exchange_of_ends(StageLoad const& load, ParallelPlan const& plan, DataParallelCurves const& curves,
                         FrameworkTiming const& f) {
    if (load.shared_embedding <= 0 || curves.ends == nullptr) return {};
    double const held = load.shared_embedding / (plan.zero >= 2 ? dense_shards(plan) : 1);
    return curves.ends->time(gradient_sent(plan, curves, f) * held * B);
}

Seconds DataParallelCalls::at(DataParallelMoment moment) const {
    Seconds total;
    for (DataParallelCall const& call : *this)
        if (call.moment == moment) total += call.stage_time();
    return total;
}

DataParallelCalls data_parallel_calls(StageLoad const& load, ParallelPlan const& plan, DataParallelCurves const& curves,
                                      FrameworkTiming const& f) {
    DataParallelCalls calls;
    each_data_parallel_call(load, plan, curves, f, [&](DataParallelShape const& call, CollectiveCurve const& curve) {
        double const part = call.calls / call.layers;
        calls.add({.moment = call.moment,
                   .kind = call.kind,
                   .group = call.group,
                   .over = call.over,
                   .ranks = call.ranks,
                   .stride = call.stride,
                   .layers = call.layers,
                   .together = call.layers / call.calls,
                   .time = part * curve.time(call.bytes),
                   .latency = part * curve.latency(call.bytes)});
    });
    auto const exchange = [&](double parameters, double shards, double layers, GroupKind group) {
        Bytes const bytes = exchanged_by_copies(parameters, shards, layers, plan, curves, f);
        if (bytes > Bytes{})
            calls.add({.moment = Moment::backward_last,
                       .kind = CollectiveKind::all_reduce,
                       .group = group,
                       .over = DataParallelCall::Over::copies,
                       .ranks = 2,
                       .layers = layers,
                       .time = curves.copies->time(bytes),
                       .latency = curves.copies->latency(bytes)});
    };
    if (curves.copies != nullptr) {
        exchange(load.parameters.dense, dense_shards(plan), std::max(1.0, load.layers), GroupKind::data);
        exchange(load.parameters.expert, expert_shards(plan), std::max(1.0, load.moe_layers), GroupKind::expert_data);
    }
    return calls;
}

double data_parallel_overlap(DataParallelMoment moment, ParallelPlan const& plan, FrameworkTiming const& f) {
    if (moment == Moment::forward_first && f.gathers_after_step.value > 0) return 0;
    bool const each = moment == Moment::forward_each || moment == Moment::backward_each;
    return each && plan.zero >= 3 ? f.fsdp_overlap.value : f.dp_overlap.value;
}

namespace {

/// Muon's products: whole matrices (of a tensor-parallel rank) are dealt out to the ranks that share the optimizer, and
/// the one that has most of them decides.
Seconds orthogonalization_time(LocalParameters const& p, double dense_ranks, double expert_ranks,
                               AcceleratorProfile const& accelerator, FrameworkTiming const& f) {
    double const flops =
        std::max(p.largest_orthogonal, p.dense_orthogonal / dense_ranks + p.expert_orthogonal / expert_ranks);
    Precision const precision = usual_precision(accelerator);
    return flops * units::flop /
           (accelerator.peak_of(precision).value * accelerator.gemm_efficiency_of(precision) * f.gemm_scale.value);
}

}  // namespace

Seconds shown_gathers(StageLoad const& load, ParallelPlan const& plan, Seconds compute,
                      DataParallelCurves const& curves, FrameworkTiming const& f) {
    Seconds const gathers = data_parallel_calls(load, plan, curves, f).at(Moment::forward_each);
    return exposed_transfer(gathers, {.compute = compute, .wait = {}}, {},
                            data_parallel_overlap(Moment::forward_each, plan, f), gathers / std::max(1.0, load.layers));
}

DataParallelTime data_parallel_time(StageLoad const& load, ParallelPlan const& plan, PassesBeside const& beside,
                                    DataParallelCurves const& curves, AcceleratorProfile const& accelerator,
                                    FrameworkTiming const& f) {
    DataParallelTime time;
    double const layers = std::max(1.0, load.layers);
    // Summed up as they come: a search cannot afford the list.
    std::array<Seconds, 4> transfers{};
    std::array<Seconds, 4> longer{};  // than a layer's part is the least that shows of them
    std::array<Seconds, 4> gathers{};
    std::array<Seconds, 4> of_experts{};  // of the gathers
    std::array<Seconds, 4> from_host{};   // of the same
    each_data_parallel_call(load, plan, curves, f, [&](DataParallelShape const& call, CollectiveCurve const& curve) {
        Seconds const one = curve.time(call.bytes);
        auto const moment = static_cast<std::size_t>(call.moment);
        transfers[moment] += call.calls * one;
        if (call.of_several_layers()) longer[moment] += one - call.calls / layers * one;
        if (call.kind != CollectiveKind::all_gather) return;
        gathers[moment] += call.calls * one;
        if (call.group == GroupKind::expert_data) of_experts[moment] += call.calls * one;
        if (call.over == DataParallelCall::Over::host) from_host[moment] += call.calls * one;
    });
    auto const least = [&](Moment moment) {
        auto const i = static_cast<std::size_t>(moment);
        return transfers[i] / layers + longer[i];
    };
    transfers[static_cast<std::size_t>(Moment::backward_last)] += exchange_of_copies(load, plan, curves, f);
    if (std::any_of(transfers.begin(), transfers.end(), [](Seconds t) { return t > Seconds{}; })) {
        auto const shown = [&](Moment moment, Window const& pass) {
            return exposed_transfer(transfers[static_cast<std::size_t>(moment)], pass, {},
                                    data_parallel_overlap(moment, plan, f), least(moment));
        };
        // Where layers with experts and others take turns, traffic of one has compute of the other beside it.
        auto const shown_each = [&](Moment moment, Window const& pass, Seconds experts) {
            auto const i = static_cast<std::size_t>(moment);
            double const plain = load.layers - load.moe_layers;
            if (beside.alternating <= 0 || plain <= 0 || load.moe_layers <= 0) return shown(moment, pass);
            Seconds const any = (gathers[i] - of_experts[i]) / load.layers;
            LayersOfKind const without{.layers = plain, .gathers = any, .compute = (pass.compute - experts) / plain};
            LayersOfKind const with{.layers = load.moe_layers,
                                    .gathers = any + of_experts[i] / load.moe_layers,
                                    .compute = experts / load.moe_layers};
            return std::max(least(moment),
                            exposed_by_layer(without, with, beside.alternating, transfers[i] - gathers[i],
                                             data_parallel_overlap(moment, plan, f)) -
                                pass.wait);
        };
        auto const shown_by_chunk = [&](Moment moment, Window const& pass, Window const& between) {
            return exposed_transfer(transfers[static_cast<std::size_t>(moment)], pass, between,
                                    data_parallel_overlap(moment, plan, f), least(moment), beside.turns.chunks);
        };
        // What every backward pass sends comes first in the last one, too.
        Seconds const each = transfers[static_cast<std::size_t>(Moment::backward_each)];
        double const chunk = 1 / beside.chunks;
        // A weight half has all that it reads.
        Seconds const last_wait = beside.weight < beside.backward ? Seconds{} : beside.backward_wait;
        ChunkTurns const& turns = beside.turns;
        Seconds const reduced = shown_by_chunk(
            Moment::backward_last,
            {.compute = chunk * std::max(Seconds{}, beside.weight - each), .wait = chunk * last_wait},
            {.compute =
                 chunk * (turns.inputs_after * (beside.backward - beside.weight) + turns.weights_after * beside.weight),
             .wait = chunk * turns.inputs_after * beside.backward_wait});
        Seconds const gathered = shown_by_chunk(
            Moment::forward_first, {.compute = chunk * beside.forward, .wait = chunk * beside.forward_wait},
            {.compute = chunk * (turns.forwards_ahead * beside.forward + turns.backwards_ahead * beside.backward),
             .wait = chunk * turns.forwards_ahead * beside.forward_wait});
        auto const add_each = [&](Moment moment, Window const& pass, Seconds experts) {
            auto const i = static_cast<std::size_t>(moment);
            Seconds const all = load.microbatches * shown_each(moment, pass, experts);
            Seconds const copies = from_host[i] > Seconds{} ? from_host[i] / transfers[i] * all : Seconds{};
            time.exposed += all - copies;
            time.copies += copies;
        };
        add_each(Moment::forward_each, {.compute = beside.forward - beside.forward_ends, .wait = beside.forward_wait},
                 beside.forward_experts);
        add_each(Moment::backward_each, {.compute = beside.weight - beside.weight_ends, .wait = beside.backward_wait},
                 beside.weight_experts);
        time.exposed +=
            std::max(Seconds{}, reduced - beside.ends_earlier) + std::max(Seconds{}, gathered - beside.begins_later);
    }
    time.exposed += exchange_of_ends(load, plan, curves, f);

    double const dense_ranks = plan.zero >= 1 ? dense_shards(plan) : 1;
    double const expert_ranks = plan.zero >= 1 ? expert_shards(plan) : 1;
    double const updated = load.parameters.dense / dense_ranks + load.parameters.expert / expert_ranks;
    BytesPerSecond const memory = accelerator.memory_bandwidth.value * accelerator.memory_efficiency.value;
    double const passes = gradient_passes(load, updated, plan, curves.gradients);
    bool const on_host = has_host_gradients(plan, curves.gradients);
    if (!on_host) time.optimizer = passes * B / memory;
    if (offloads_optimizer(plan)) {
        HostUpdate const update = host_update(load, plan, curves, f);
        time.offload = update.link * updated * B / accelerator.host_bandwidth.value +
                       (update.memory * updated + (on_host ? passes : 0)) * B / accelerator.host_update().value;
        return time;
    }
    time.optimizer += update_bytes(plan, curves.gradients, f) * updated * B / memory;
    if (plan.optimizer == Optimizer::muon)
        time.optimizer += orthogonalization_time(load.parameters, dense_ranks, expert_ranks, accelerator, f);
    return time;
}

}  // namespace sextant
