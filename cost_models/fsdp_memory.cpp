#include "cost_models/fsdp_memory.hpp"

#include "core/spec/working_format.hpp"

#include <algorithm>

namespace sextant {
namespace {

using units::B;

/// Of a gathered weight, and of a gradient before it is reduced.
double unsharded_bytes(ParallelPlan const& plan) { return working_bytes(plan.precision); }

bool ends_apart(FrameworkMemory const& framework) { return framework.end_units.value > 0; }

/// Bytes of a gradient in the buffer that it is reduced from, which stays until the next unit's.
double reduced_bytes(ParallelPlan const& plan, FrameworkMemory const& framework) {
    bool const narrow = plan.gradients == GradientFormat::bf16 || plan.optimizer == Optimizer::adamw_pure_bf16;
    double const bytes = framework.reduce_buffer_bytes.value;
    return narrow ? std::min(bytes, unsharded_bytes(plan)) : bytes;
}

/// One device gathers into its copies; several into a buffer, of the unit that comes next.
double prefetched_bytes(ParallelPlan const& plan) { return plan.dp * plan.cp > 1 ? unsharded_bytes(plan) : 0; }

}  // namespace

bool shards_units(ParallelPlan const& plan, FrameworkMemory const& framework) {
    return (plan.zero >= 2 && framework.reduce_buffer_bytes.value > 0) || reduces_units_last(plan, framework);
}

bool reduces_units_last(ParallelPlan const& plan, FrameworkMemory const& framework) {
    return plan.zero == 1 && framework.reduce_buffer_bytes.value > 0 && framework.bucket_bytes.value <= 0;
}

Bytes first_unit_buffers(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework) {
    double const root = load.ends.total() - (ends_apart(framework) ? load.head.total() : 0);
    double const unit = std::max(root, load.largest_layer.total());
    double const shard = state_bytes(framework, plan, dense_shards(plan)).gradients / dense_shards(plan);
    return (reduced_bytes(plan, framework) + shard - unsharded_bytes(plan)) * unit * B;
}

GatheredLayers unit_buffers(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework) {
    bool const gathers = plan.zero >= 3;
    double const bytes = unsharded_bytes(plan);
    double const copy = gathers ? bytes : 0;
    double const next = gathers ? prefetched_bytes(plan) : 0;
    double const reduced = reduces_units_last(plan, framework) ? 0 : reduced_bytes(plan, framework);
    double const layer = load.largest_layer.total();
    double const head = load.head.total();
    Bytes const frozen = gathers ? frozen_bytes(load.frozen_layer, plan) : Bytes{};
    Bytes const frozen_ends = gathers ? frozen_bytes(load.frozen_ends, plan) : Bytes{};
    // Once a layer's buffer is there, what another one kept is not.
    Bytes const buffer = std::max(Bytes{}, reduced * layer * B - load.kept_by_layer);
    Bytes const backward = (copy + next + bytes) * layer * B + 2.0 * frozen + frozen_ends;
    if (ends_apart(framework))
        return {.at_loss = copy * head * B + frozen_ends,
                .in_backward = backward + std::max(reduced * head * B, buffer)};
    Bytes const ends = copy * load.ends.total() * B;
    return {.at_loss = ends + next * layer * B + frozen + frozen_ends,
            .in_backward = backward + ends + bytes * head * B + buffer};
}

Bytes last_unit_buffers(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework,
                        double written_late) {
    double const reduced = reduced_bytes(plan, framework);
    double const bytes = unsharded_bytes(plan);
    double const layer = load.largest_layer.total();
    double const head = load.head.total();
    bool const apart = ends_apart(framework);
    double const last = load.ends.total() - (apart ? head : 0);
    Bytes const at_last = (reduced + std::max(0.0, bytes - written_late)) * last * B;
    bool const whole = plan.tp > 1 && framework.whole_embedding_gradient.value > 0;
    auto const ranks = static_cast<double>(plan.tp);
    Bytes const at_split =
        whole ? ((bytes * (ranks + 1) + prefetched_bytes(plan) - written_late) * last + reduced * layer) * B : Bytes{};
    double const beside = apart ? prefetched_bytes(plan) * last : bytes * (last + head);
    Bytes const at_layer = ((2 * bytes + reduced) * layer + beside - written_late * (last + layer)) * B +
                           load.kept_by_layer + load.working_layer;
    return std::max({at_last, at_layer, at_split});
}

Bytes gathered_reference(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework) {
    if (!shards_units(plan, framework) || (dense_shards(plan) <= 1 && !offloads_parameters(plan))) return {};
    // A root without the ends has a norm alone.
    double const root = ends_apart(framework) ? 0 : load.ends.total();
    return unsharded_bytes(plan) * (plan.zero >= 3 ? root : load.parameters.total()) * B;
}

ChunkedHead chunked_head(StageLoad const& load, ParallelPlan const& plan, FrameworkMemory const& framework) {
    double const summed = reduced_bytes(plan, framework) * load.head.total();
    return {.summed = summed * B, .reduced = (summed + unsharded_bytes(plan) * load.head.total()) * B};
}

}  // namespace sextant
