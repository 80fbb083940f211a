#include "simulator/content_cost.hpp"

#include "simulator/held_activations.hpp"

#include <algorithm>
#include <cstddef>

namespace sextant {

ChunkCost passes_of(ShapeCost const& shape, StageContent const& content, ParallelPlan const& plan,
                    std::span<std::int64_t const> again, double added) {
    ChunkCost cost;
    cost.kept = kept_of(shape, content, plan, again);
    cost.offloaded = kept_of(shape, content, plan, again, Activations::offloaded);
    if (waits_with_reruns(plan)) cost.waiting = kept_of(shape, content, plan, again, Activations::waiting);
    auto const policy = static_cast<std::size_t>(plan.recompute);
    bool const reduced = gradient_sums(plan) == GradientSums::reduced;
    auto const add_backward = [&](double n, BlockPrice const& price) {
        double const part = reduced ? n : n * added;
        cost.backward += part * (reduced ? price.reduced_backward : price.backward);
        cost.weight += part * (reduced ? price.reduced_weight : price.weight);
        if (reduced || added == 1) return;
        cost.backward += (n - part) * price.first_backward;
        cost.weight += (n - part) * price.first_weight;
    };
    for (std::size_t k = 0; k < shape.blocks.layers.size(); ++k) {
        double const n = static_cast<double>(content.layers_of_kind[k]);
        if (n == 0) continue;
        BlockPrice const& price = shape.blocks.layers[k];
        cost.forward += n * price.forward;
        add_backward(n, price);
        cost.rerun += (again.empty() ? n : static_cast<double>(again[k])) * price.rerun[policy];
    }
    auto const add_end = [&](BlockPrice const& price) {
        cost.forward += price.forward;
        add_backward(1, price);
    };
    if (content.embedding) add_end(shape.blocks.embedding);
    if (content.head) {
        add_end(shape.blocks.head);
        add_end(shape.blocks.mtp);
        cost.rerun += shape.blocks.mtp.rerun[static_cast<std::size_t>(recompute_of_mtp(plan))];
    }
    return cost;
}

namespace {

/// A layer that is gathered, run again and reduced by itself: one of `blocks` that `price` is of.
/// @param policy its recompute
void note_largest(StageLoad& load, BlockPrice const& price, std::int64_t blocks, Recompute policy) {
    double const one = 1 / static_cast<double>(blocks);
    if (one * (price.parameters.total() + price.frozen.total()) >
        load.largest_layer.total() + load.frozen_layer.total()) {
        load.largest_layer = one * price.parameters;
        load.frozen_layer = one * price.frozen;
    }
    load.workspace = std::max(load.workspace, price.workspace);
    if (policy == Recompute::none) return;
    auto const which = static_cast<std::size_t>(policy);
    Bytes const working = one * (price.run_again - price.kept[which]);
    if (working <= load.working_layer) return;
    load.working_layer = working;
    load.waiting_layer = std::min(working, one * price.waiting[which]);
}

}  // namespace

void add_weights(StageLoad& load, ShapeCost const& shape, StageContent const& content, ParallelPlan const& plan,
                 std::span<std::int64_t const> again) {
    for (std::size_t k = 0; k < shape.blocks.layers.size(); ++k) {
        double const n = static_cast<double>(content.layers_of_kind[k]);
        if (n == 0) continue;
        BlockPrice const& price = shape.blocks.layers[k];
        load.parameters += n * price.parameters;
        load.frozen += n * price.frozen;
        note_largest(load, price, 1, again.empty() || again[k] > 0 ? plan.recompute : Recompute::none);
        if (shape.kinds[k].moe) load.moe_layers += n;
    }
    auto const add_end = [&](BlockPrice const& price) {
        load.parameters += price.parameters;
        load.ends += price.parameters;
        load.frozen += price.frozen;
        load.frozen_ends += price.frozen;
    };
    bool const trained = !plan.adapters.on();
    // The other end of the pipeline has the embedding, or a copy of it.
    if (trained && content.embedding != content.head) load.shared_embedding = shape.blocks.embedding_copy.total();
    if (content.embedding) add_end(shape.blocks.embedding);
    if (!content.head) return;
    add_end(shape.blocks.head);
    load.head += shape.blocks.head.parameters;
    if (shape.mtp_modules > 0) {
        load.parameters += shape.blocks.mtp.parameters;
        load.frozen += shape.blocks.mtp.frozen;
        note_largest(load, shape.blocks.mtp, shape.mtp_modules, recompute_of_mtp(plan));
    }
    if (content.embedding) return;
    (trained ? load.parameters : load.frozen.plain) += shape.blocks.embedding_copy;
    (trained ? load.ends : load.frozen_ends.plain) += shape.blocks.embedding_copy;
    if (trained) load.head += shape.blocks.embedding_copy;
}

}  // namespace sextant
