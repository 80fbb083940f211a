#include "cost_models/memory_footprint.hpp"

#include "core/graph/step_graph.hpp"
#include "core/spec/gradient_bytes.hpp"
#include "core/spec/kernel_catalog.hpp"
#include "core/spec/working_format.hpp"
#include "cost_models/fsdp_memory.hpp"
#include "cost_models/weight_copies.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

using units::B;

/// Of a rank's parameters those that data parallelism gathers and reduces: experts, and the rest, where they have
/// copies. From host memory all of them come.
LocalParameters with_copies(LocalParameters parameters, ParallelPlan const& plan) {
    if (offloads_parameters(plan)) return parameters;
    if (!copies_dense(plan)) parameters.dense = parameters.embedding = 0;
    if (!copies_experts(plan)) parameters.expert = 0;
    return parameters;
}

/// The same of frozen weights.
FrozenWeights with_copies(FrozenWeights weights, ParallelPlan const& plan) {
    weights.plain = with_copies(weights.plain, plan);
    weights.packed = with_copies(weights.packed, plan);
    return weights;
}

/// What a rank has of weights that ZeRO 3 alone shards.
template <class Amount>
Amount own_share(Amount dense, Amount expert, ParallelPlan const& plan) {
    return plan.zero >= 3 ? dense / dense_shards(plan) + expert / expert_shards(plan) : dense + expert;
}

/// What ZeRO-3 holds unsharded of the ends: weights, which stay gathered from the first use to the last, and gradients
/// before they are reduced, in the bytes of a working value each.
Bytes gathered_ends(StageLoad const& load, ParallelPlan const& plan) {
    return 2 * working_bytes(plan.precision) * with_copies(load.ends, plan).total() * B +
           frozen_bytes(with_copies(load.frozen_ends, plan), plan);
}

}  // namespace

Bytes layers_in_transfer(StageLoad const& load) {
    double const layers = load.layers * load.offloaded_share;
    return layers > 0 ? 2 * load.offloaded / layers : Bytes{};
}

namespace {

GatheredLayers gathered_or_in_units(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework) {
    if (shards_units(plan, framework)) return unit_buffers(load, plan, framework);
    if (plan.zero < 3) return {};
    double const share = framework.gathered_share.value;
    double const layer = share * with_copies(load.largest_layer, plan).total();
    Bytes const frozen = share * frozen_bytes(with_copies(load.frozen_layer, plan), plan);
    double const bytes = working_bytes(plan.precision);
    return {.at_loss = bytes * layer * B + frozen, .in_backward = 3 * bytes * layer * B + 2.0 * frozen};
}

}  // namespace

GatheredLayers gathered_layers(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework) {
    GatheredLayers gathered = gathered_or_in_units(load, plan, framework);
    if (!offloads_parameters(plan)) return gathered;
    // Beside what is gathered, the shard of a layer that has come from host memory, and of gradients that is to go.
    double const shard = own_share(load.largest_layer.dense, load.largest_layer.expert, plan);
    constexpr double gradient_bytes = 4;
    Bytes const weights =
        kept_gradients(framework).held_weight_bytes(plan) * shard * B +
        own_share(frozen_dense_bytes(load.frozen_layer, plan), frozen_expert_bytes(load.frozen_layer, plan), plan);
    gathered.at_loss += weights;
    gathered.in_backward += weights + gradient_bytes * shard * B;
    return gathered;
}

double narrow_copies_of(Precision precision, AcceleratorProfile const& accelerator) {
    if (!is_narrow(precision)) return 0;
    return precision == Precision::fp8 && is_data_center_blackwell(accelerator) ? 1 : 2;
}

namespace {

bool scans_layers(FrameworkMemory const& framework) { return framework.stacks_layers.value > 0; }

/// Of a weight that is multiplied by, what a narrow copy takes with its scales.
/// Source: Transformer Engine, which keeps copies from the first microbatch to the last (`is_first_microbatch`).
double narrow_copy_bytes(Precision precision) { return is_narrow(precision) ? rounded_weight_bytes(precision) : 0; }

/// Of such a weight, what it takes less than two bytes where it is in fp8 alone and no product needs it transposed.
/// Source: Transformer Engine, `Float8Quantizer::create_tensor` (a transpose unless `is_non_tn_fp8_gemm_supported`).
double untransposed_bytes(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework) {
    bool const in_format = plan.optimizer != Optimizer::adamw_pure_bf16 && !plan.adapters.on() &&
                           framework.narrow_input_bytes.value < 2 && !shards_weights(plan, framework);
    return in_format && load.narrow_copies == 1 ? framework.weight_bytes.value - narrow_copy_bytes(plan.precision) : 0;
}

/// What a rank has of frozen weights between passes.
Bytes held_frozen(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework) {
    if (!plan.adapters.on()) return {};
    Bytes const dense = frozen_dense_bytes(load.frozen, plan);
    Bytes const expert = frozen_expert_bytes(load.frozen, plan);
    if (!shards_weights(plan, framework)) return dense + expert;
    return dense / dense_shards(plan) + expert / expert_shards(plan);
}

/// Weights of a frozen reference in the working format, sharded where those that are trained are. With adapters the
/// model without them is the reference. Source: TRL, dpo_trainer.py (`null_ref_context`) and `prepare_deepspeed`, which
/// shards a reference with ZeRO 3 and leaves it whole without.
Bytes reference_weights(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework) {
    if (load.reference == Switch::off || plan.adapters.on()) return {};
    bool const shards = shards_weights(plan, framework);
    double const dense = load.parameters.dense / (shards ? dense_shards(plan) : 1);
    double const expert = load.parameters.expert / (shards ? expert_shards(plan) : 1);
    return working_bytes(plan.precision) * (dense + expert) * B;
}

void fill_state(StageMemory& m, StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework) {
    StateBytes const dense = state_bytes(framework, plan, dense_shards(plan), load.microbatches);
    StateBytes const expert = state_bytes(framework, plan, expert_shards(plan), load.microbatches);
    double const pd = load.parameters.dense;
    double const pe = load.parameters.expert;
    m.weights = (dense.weights * pd + expert.weights * pe) * B;
    (offloads_parameters(plan) ? m.host : m.weights) += held_frozen(load, plan, framework);
    Bytes const reference = reference_weights(load, plan, framework);
    (offloads_parameters(plan) ? m.host : m.reference) += reference;
    if (reference > Bytes{}) m.reference += gathered_reference(load, plan, framework);
    double const multiplied = load.parameters.total() - load.ends.total();
    if (plan.narrow_copies == Switch::on)
        m.weights += load.narrow_copies * narrow_copy_bytes(plan.precision) * multiplied * B;
    else
        m.weights -= untransposed_bytes(load, plan, framework) * multiplied * B;
    m.gradients = (dense.gradients * pd + expert.gradients * pe) * B;
    m.optimizer = (dense.optimizer * pd + expert.optimizer * pe) * B;
    m.host += (dense.host * pd + expert.host * pe) * B;
    if (plan.optimizer == Optimizer::muon) {  // embeddings and output matrix keep AdamW's second moment
        Bytes const second_moment = 4 * load.parameters.embedding / (plan.zero >= 1 ? dense_shards(plan) : 1.0) * B;
        (offloads_optimizer(plan) ? m.host : m.optimizer) += second_moment;
    }
}

/// Copies in the working format of the weights that are trained, where the state is wider or sharded, from forward to
/// backward, and of frozen ones that units gather. A compiler casts the shards of all layers before it scans over them.
Bytes cast_weights(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework) {
    double const working = working_bytes(plan.precision);
    if (plan.zero <= 2 && shards_units(plan, framework))
        return working * load.parameters.total() * B + frozen_bytes(load.frozen, plan);
    if (plan.optimizer == Optimizer::adamw_pure_bf16 || working > 2) return {};
    double const bytes = framework.cast_weight_bytes.value;
    if (!scans_layers(framework)) return plan.zero >= 3 ? Bytes{} : bytes * load.parameters.total() * B;
    return bytes * own_share(load.parameters.dense - load.ends.dense, load.parameters.expert - load.ends.expert, plan) *
           B;
}

/// Gradients of the layer at work, on their way to host memory, where they are not among those that ZeRO reduces.
Bytes leaving_gradients(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework) {
    if (!kept_gradients(framework).leave(plan, load.microbatches)) return {};
    double const reduced = plan.zero >= 2 ? with_copies(load.largest_layer, plan).total() : 0;
    return working_bytes(plan.precision) * (load.largest_layer.total() - reduced) * B;
}

/// Buckets that gradients are reduced from, and the flat copy of the one that is: where ZeRO 1 and 2 reduce while
/// others go on, two in turn. In a pipeline activations are gone by then. Source: DeepSpeed, stage_1_and_2.py
/// (setup_buckets, allreduce_bucket), stage3.py (`ipg_buckets`).
Bytes reduce_buckets(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework) {
    if (plan.zero == 0 || plan.pp > 1) return {};
    bool const in_turn = plan.zero <= 2 && (copies_dense(plan) || copies_experts(plan));
    double const parameters = framework.reduce_bucket_layers.value * load.largest_layer.total();
    double const copied = std::min(parameters, load.parameters.total());
    return working_bytes(plan.precision) * ((in_turn ? 2 : 1) * parameters + copied) * B;
}

}  // namespace

Bytes standing_buffers(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework) {
    Bytes total = framework.step_buffer_bytes.value * load.hidden_tokens * B;
    // A packed matrix is written in 16 bit for as long as its product runs.
    if (plan.adapters.on()) total += frozen_weight_bytes * load.frozen.largest_packed * B;
    // Buckets of replicas: what ZeRO 2 and 3 reduce is gone with the layer.
    if (plan.zero <= 1) total += framework.bucket_bytes.value * with_copies(load.parameters, plan).total() * B;
    total += leaving_gradients(load, plan, framework) + reduce_buckets(load, plan, framework);
    total += cast_weights(load, plan, framework);
    if (shards_units(plan, framework)) return total;
    if (plan.zero >= 3 && !scans_layers(framework)) total += gathered_ends(load, plan);
    if (plan.zero == 2) total += working_bytes(plan.precision) * with_copies(load.largest_layer, plan).total() * B;
    return total;
}

namespace {

/// The most that the passes at work need beside what is kept: at a loss logits, in a backward the layer that is run
/// again, each with the layers that are gathered then.
void fill_passes(StageMemory& m, StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework) {
    Bytes const one = logits_at_loss(load, plan, framework);
    Bytes const others = other_logits(load, plan, framework, holds_all_logits(plan) ? load.microbatches - 1 : 0);
    // The other pass of a pair is at its own loss: of the same stage, unless it is of the other direction.
    Bytes const beside = load.pairs ? one : Bytes{};
    Bytes const forward = plan.schedule == Schedule::overlapped ? one + beside : one;
    Bytes const backward = layer_at_work(load, framework) + beside;  // its own logits are gone by then
    GatheredLayers const gathered = gathered_layers(load, plan, framework);
    bool const at_loss = forward + gathered.at_loss >= backward + gathered.in_backward;
    m.logits = others + (at_loss ? forward : backward);
    m.buffers += at_loss ? gathered.at_loss : gathered.in_backward;
}

/// Activations in flight.
void fill_activations(StageMemory& m, StageLoad const& load, ParallelPlan const& plan) {
    m.in_flight = load.in_flight;
    m.activations = load.in_flight * load.kept + load.waiting;
    if (!offloads_activations(plan)) return;
    // What passes have there, and what a weight half is still to read.
    Bytes const passing = layers_in_transfer(load);
    Bytes staying;
    for (std::size_t passes = 0; passes < load.between_halves.size(); ++passes)
        if (double const held = load.between_halves[passes]; held >= 0)
            staying = std::max(staying, held * load.offloaded + static_cast<double>(passes) * passing);
    Bytes const offloaded = load.in_flight * load.offloaded;
    staying = std::min(offloaded, staying);
    double const on_device = load.in_flight_on_device < 0 ? load.in_flight : load.in_flight_on_device;
    m.activations = on_device * (load.kept - load.offloaded) + staying + load.waiting;
    m.host += offloaded - staying;
}

/// Whether ZeRO finds nothing to shard, nor to gather.
bool shards_nothing(StageLoad const& load, ParallelPlan const& plan) {
    bool const has_experts = load.parameters.expert + load.frozen.plain.expert + load.frozen.packed.expert > 0;
    bool const shards_experts = has_experts && expert_shards(plan) > 1;
    return plan.zero > 0 && plan.shard_group == 1 && !shards_experts;
}

/// Logits of a microbatch that are there at once.
double logits_at_once(StageLoad const& load, ParallelPlan const& plan) {
    return load.logits / static_cast<double>(plan.loss_chunks);
}

/// Bytes per logit of a microbatch at its loss.
double bytes_of_logit(ParallelPlan const& plan, FrameworkMemory const& framework) {
    if (plan.tp > 1 && framework.split_logits_bytes.value > 0) return framework.split_logits_bytes.value;
    bool const fused = plan.fused_cross_entropy == Switch::on;
    return (fused ? framework.fused_logits_bytes : framework.logits_bytes).value;
}

/// Bytes per logit of what a cap on them keeps for its backward: the tanh in 16 bit. A fused loss that has less of the
/// logits in memory takes them as they come and caps them itself (`softcap` of Liger's kernels); Megatron-Core's, or
/// one that is compiled, comes after the cap.
double bytes_of_cap(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework) {
    if (load.capped_logits == Switch::off) return 0;
    bool const caps =
        plan.fused_cross_entropy == Switch::on && framework.fused_logits_bytes.value < framework.logits_bytes.value;
    return caps ? 0 : 2;
}

/// What the allocator holds on to: copies that linger, gathers held for later microbatches, logits in several
/// precisions.
Bytes lingering(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework) {
    double bytes = std::max(0.0, framework.logits_bytes_reserved.value - framework.logits_bytes.value) *
                   logits_at_once(load, plan);
    if (plan.pp > 1)
        bytes += framework.extra_hidden_bytes.value * load.sharded_hidden_tokens * load.layers * load.in_flight;
    if (plan.tp > 1)
        bytes +=
            framework.held_gather_bytes.value * load.hidden_tokens * load.layers * std::max(0.0, load.in_flight - 2);
    return bytes * B;
}

/// fp32 copies of gradients for the update; those of fp16 are state.
Bytes copied_gradients(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework) {
    if (plan.precision == Precision::fp16) return {};
    double const updated =
        plan.zero >= 1 ? load.parameters.dense / dense_shards(plan) + load.parameters.expert / expert_shards(plan)
                       : load.parameters.total();
    return kept_gradients(framework).copy_bytes(plan) * updated * B;
}

Bytes updated_weights(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework) {
    if (plan.zero != 1 || shards_nothing(load, plan)) return {};
    double const shards = copies_dense(plan) ? dense_shards(plan) : expert_shards(plan);
    return framework.gather_bytes.value * with_copies(load.parameters, plan).total() * (1 + 1 / shards) * B;
}

/// Whether no gradients are there when a backward pass begins.
bool begins_without_gradients(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework) {
    return framework.frees_gradients.value > 0 && plan.pp == 1 && load.microbatches == 1;
}

/// What the backward of the output matrix needs beside gradients of logits, if that is known.
Bytes matrix_at_loss(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework) {
    if (load.logits == 0) return {};
    if (plan.zero >= 3 && scans_layers(framework)) {
        double const matrix_bytes = 2 * working_bytes(plan.precision);  // of a weight: gathered, and its gradient
        bool const tied = load.head.embedding == 0;
        return matrix_bytes * (tied ? load.ends : load.head).total() * B;
    }
    bool const in_units = plan.loss_chunks > 1 && shards_units(plan, framework);
    return in_units ? chunked_head(load, plan, framework).reduced : Bytes{};
}

/// What all chunks of a loss are added to: gradients of hidden states, in fp32, and of the output matrix.
Bytes beside_chunks(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework) {
    if (plan.loss_chunks == 1 || load.logits == 0) return {};
    Bytes const hidden = 4 * load.hidden_tokens * B;
    if (shards_units(plan, framework)) return hidden + chunked_head(load, plan, framework).summed;
    if (!begins_without_gradients(load, plan, framework)) return hidden;
    return hidden + state_bytes(framework, plan, dense_shards(plan)).gradients * load.head.total() * B;
}

}  // namespace

bool holds_all_logits(ParallelPlan const& plan) {
    return plan.pp > 1 && (plan.schedule == Schedule::gpipe || plan.schedule == Schedule::breadth_first);
}

Bytes other_logits(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework, double others) {
    // Of one logit, as the weight half's matrix product reads it, or of a hidden state: the head's backward is part of
    // a loss in chunks.
    constexpr double gradient_bytes = 2;
    if (plan.loss_chunks > 1) return load.logits > 0 ? gradient_bytes * others * load.hidden_tokens * B : Bytes{};
    double const each = framework.logits_bytes.value + bytes_of_cap(load, plan, framework);
    return (each * others + gradient_bytes * load.postponed_logits) * load.logits * B;
}

Bytes logits_at_loss(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework) {
    double const logits = logits_at_once(load, plan);
    double const bytes = (bytes_of_logit(plan, framework) + bytes_of_cap(load, plan, framework)) * logits;
    constexpr double gradient_bytes = 2;  // of a logit
    Bytes const with_matrix = matrix_at_loss(load, plan, framework);
    Bytes const backward = with_matrix > Bytes{} ? gradient_bytes * logits * B + with_matrix : Bytes{};
    return std::max(bytes * B, backward) + beside_chunks(load, plan, framework);
}

Bytes layer_at_work(StageLoad const& load, FrameworkMemory const& framework) {
    double const share = load.moe_layers > 0 ? 0 : framework.working_gradient_share.value;
    Bytes const waiting = load.waits == Switch::on ? load.waiting_layer : Bytes{};
    return load.working_layer - waiting + share * (load.kept_by_layer + load.working_layer) + load.workspace;
}

Bytes closing_buffers(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework) {
    if (reduces_units_last(plan, framework)) return first_unit_buffers(load, plan, framework);
    Bytes const given_up = cast_weights(load, plan, framework);
    if (!shards_units(plan, framework))
        return updated_weights(load, plan, framework) + copied_gradients(load, plan, framework) - given_up;
    double const written_late = begins_without_gradients(load, plan, framework)
                                    ? state_bytes(framework, plan, dense_shards(plan)).gradients
                                    : 0;
    return last_unit_buffers(load, plan, framework, written_late) - given_up;
}

StageMemory stage_memory(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework) {
    if (shards_nothing(load, plan)) {
        ParallelPlan whole = plan;
        whole.zero = 0;
        return stage_memory(load, whole, framework);
    }
    StageMemory m;
    fill_state(m, load, plan, framework);
    m.buffers = standing_buffers(load, plan, framework);
    Bytes const standing = m.buffers;
    m.workspaces = framework.constant.value;
    fill_activations(m, load, plan);
    fill_passes(m, load, plan, framework);
    Bytes const passing = m.activations + m.logits + (m.buffers - standing);
    Bytes const closing = closing_buffers(load, plan, framework);
    m.buffers += std::max(Bytes{}, closing - passing);
    if (begins_without_gradients(load, plan, framework)) {
        Bytes const replaced = scans_layers(framework) ? m.logits - layer_at_work(load, framework) : passing - closing;
        m.gradients -= std::clamp(replaced, Bytes{}, m.gradients);
    }

    Bytes const needed = m.allocated();
    Bytes const base = needed + lingering(load, plan, framework);
    m.slack = std::max(Bytes{}, framework.reserved_typical.value * base - needed);
    m.reserved_low = std::max(needed, framework.reserved_low.value * base);
    m.reserved_high = std::max(m.reserved(), framework.reserved_high.value * base);
    return m;
}

}  // namespace sextant
