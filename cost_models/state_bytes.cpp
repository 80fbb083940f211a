#include "core/spec/gradient_bytes.hpp"
#include "core/spec/working_format.hpp"
#include "cost_models/fsdp_memory.hpp"
#include "cost_models/memory_footprint.hpp"

#include <algorithm>
#include <utility>

namespace sextant {
namespace {

using units::B;

}  // namespace

double optimizer_saving(Optimizer optimizer) {
    switch (optimizer) {
        case Optimizer::adamw: return 0;
        case Optimizer::adamw_bf16:
        case Optimizer::adamw_pure_bf16: return 4;  // moments in bf16; the weights of the latter are the caller's
        case Optimizer::adamw_8bit: return 6;       // moments in 8 bit (block-wise scales below 1 %)
        case Optimizer::sgd:
        case Optimizer::lion:
        case Optimizer::muon: return 4;       // momentum only; Muon's embeddings are added back by the caller
        case Optimizer::lion_8bit: return 7;  // bitsandbytes' Lion8bit
        case Optimizer::adafactor: return 8;  // a row and a column of a matrix [m, n]: 4 / m + 4 / n, below 1 %
    }
    return 0;
}

Bytes frozen_dense_bytes(FrozenWeights const& weights, ParallelPlan const& plan) {
    return (frozen_weight_bytes * weights.plain.dense + bytes_per_weight(plan.adapters.base) * weights.packed.dense) *
           B;
}

Bytes frozen_expert_bytes(FrozenWeights const& weights, ParallelPlan const& plan) {
    return (frozen_weight_bytes * weights.plain.expert + bytes_per_weight(plan.adapters.base) * weights.packed.expert) *
           B;
}

Bytes frozen_bytes(FrozenWeights const& weights, ParallelPlan const& plan) {
    return frozen_dense_bytes(weights, plan) + frozen_expert_bytes(weights, plan);
}

double dense_shards(ParallelPlan const& plan) {
    return static_cast<double>(plan.shard_group > 0 ? plan.shard_group : plan.dp * plan.cp);
}

bool shards_weights(ParallelPlan const& plan, FrameworkMemory const& framework) {
    return plan.zero >= 3 || shards_units(plan, framework);
}

double expert_shards(ParallelPlan const& plan) {
    if (plan.shard_group == 0) return static_cast<double>(plan.expert_dp());
    return static_cast<double>(std::max<std::int64_t>(1, plan.shard_group * plan.tp / (plan.ep * plan.expert_tp)));
}

namespace {

/// Whether the optimizer has a rank's weights as one vector, without rows and columns to factor a moment into: under
/// DeepSpeed's ZeRO, the one that has buckets to reduce from and sends gradients to the host. Source: DeepSpeed,
/// stage_1_and_2.py (`single_partition_of_fp32_groups`), stage3.py (`fp32_partitioned_groups_flat`).
bool flattens_weights(FrameworkMemory const& framework, ParallelPlan const& plan) {
    return plan.zero >= 1 && (framework.reduce_bucket_layers.value > 0 || framework.offloads_gradients.value > 0);
}

/// `optimizer_saving` of a plan: Adafactor's second moment is whole where it cannot be factored.
double saving_of_plan(FrameworkMemory const& framework, ParallelPlan const& plan) {
    bool const whole = plan.optimizer == Optimizer::adafactor && flattens_weights(framework, plan);
    return whole ? 4 : optimizer_saving(plan.optimizer);
}

/// Before sharding and offload.
StateBytes whole_state(FrameworkMemory const& framework, ParallelPlan const& plan) {
    // In bf16 throughout, whatever a framework keeps for other optimizers.
    KeptGradients const kept = kept_gradients(framework);
    double const weight = kept.held_weight_bytes(plan);
    double const gradient = kept.bytes(plan);
    if (plan.optimizer == Optimizer::adamw_pure_bf16)
        return {.weights = weight, .gradients = gradient, .optimizer = 2 * 2};
    // In fp32 throughout: weights, gradients and AdamW's moments, and no other copy of the weights.
    if (working_bytes(plan.precision) > 2)
        return {.weights = weight, .gradients = gradient, .optimizer = 8 - saving_of_plan(framework, plan)};
    bool const fp16 = plan.precision == Precision::fp16;
    double const master = (fp16 ? framework.fp16_master_bytes.value : framework.master_bytes.value) -
                          saving_of_plan(framework, plan) - kept.remainder_saving(plan);
    return {.weights = weight, .gradients = gradient, .optimizer = std::max(0.0, master)};
}

/// Per parameter, in host memory beside AdamW's state where gradients go there: what is on its way, in the working
/// format, and what microbatches are added up in. ZeRO 3 has one buffer for both, ZeRO 1 and 2 have one of weights and,
/// with several microbatches, one of gradients. Source: DeepSpeed, stage_1_and_2.py
/// (`param_buffer_of_bit16_for_cpu_offload_groups`, `accumulated_grads_in_cpu`), stage3.py
/// (`grad_partitions_flat_buffer`).
double host_buffer_bytes(ParallelPlan const& plan, double microbatches) {
    double const working = working_bytes(plan.precision);
    return plan.zero <= 2 && microbatches > 1 ? 2 * working : working;
}

/// Per parameter, in host memory where gradients go there: fp32 weights and gradients of the optimizer, its moments,
/// and buffers. Source: DeepSpeed, stage_1_and_2.py (`single_partition_of_fp32_groups`, initialize_optimizer_states).
double host_state_bytes(ParallelPlan const& plan, double microbatches) {
    constexpr double optimizer_bytes = 4 + 4 + 8;
    return optimizer_bytes - optimizer_saving(plan.optimizer) + host_buffer_bytes(plan, microbatches);
}

}  // namespace

StateBytes state_bytes(FrameworkMemory const& framework, ParallelPlan const& plan, double shards, double microbatches) {
    StateBytes bytes = whole_state(framework, plan);
    KeptGradients const kept = kept_gradients(framework);
    if (offloads_optimizer(plan)) {
        bool const has_copies = kept.to_host == Switch::on && plan.optimizer != Optimizer::adamw_pure_bf16;
        bytes.host = bytes.optimizer;
        if (kept.go_to_host(plan))
            bytes.host = has_copies ? host_state_bytes(plan, microbatches) : bytes.optimizer + bytes.gradients;
        bytes.optimizer = 0;
    }
    if (offloads_parameters(plan)) bytes.host += std::exchange(bytes.weights, 0);
    if (shards_weights(plan, framework)) bytes.weights /= shards;
    if (plan.zero >= 2) bytes.gradients /= shards;
    if (plan.zero >= 1) {
        bytes.optimizer /= shards;
        bytes.host /= shards;
    }
    if (kept.leave(plan, microbatches)) bytes.gradients = 0;
    return bytes;
}

}  // namespace sextant
