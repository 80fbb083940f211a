#include "core/graph/stage_layout.hpp"

#include "core/graph/block.hpp"
#include "core/spec/schedule_traits.hpp"

#include <algorithm>
#include <cstddef>

namespace sextant {

bool can_split(std::int64_t layers, std::int64_t pp, std::int64_t vpp) {
    std::int64_t const chunks = pp * vpp;
    if (vpp == 1) return layers >= chunks;
    if (layers % chunks == 0) return true;
    return (layers + 2) % chunks == 0 || (layers + 1) % chunks == 0;
}

std::vector<std::int64_t> balanced_split(std::int64_t layers, std::int64_t pp, std::int64_t vpp) {
    auto const chunks = static_cast<std::size_t>(pp * vpp);
    auto const count = static_cast<std::int64_t>(chunks);
    std::vector<std::int64_t> split(chunks, layers / count);
    std::int64_t const remainder = layers % count;
    if (remainder == 0) return split;
    if (remainder == count - 2) {  // layers + 2 is a multiple
        std::fill(split.begin() + 1, split.end() - 1, layers / count + 1);
        return split;
    }
    // The last chunk, which holds the head, comes last in line for a further layer.
    for (std::int64_t i = 0; i < remainder; ++i) {
        auto const chunk = static_cast<std::size_t>((2 * count - 2 - i) % count);
        ++split[chunk];
    }
    return split;
}

StageContent& StageContent::operator+=(StageContent const& other) {
    layers_of_kind.resize(std::max(layers_of_kind.size(), other.layers_of_kind.size()), 0);
    for (std::size_t k = 0; k < other.layers_of_kind.size(); ++k)
        layers_of_kind[k] += other.layers_of_kind[k];
    layers += other.layers;
    embedding = embedding || other.embedding;
    head = head || other.head;
    return *this;
}

StageLayout lay_out_stages(ModelSpec const& model, ParallelPlan const& plan) {
    StageLayout layout;
    layout.kinds = distinct_kinds(model);
    layout.chunk_layers =
        plan.stage_layers.empty() ? balanced_split(model.layer_count(), plan.pp, plan.vpp) : plan.stage_layers;
    StageContent nothing;
    nothing.layers_of_kind.assign(layout.kinds.size(), 0);
    layout.chunks.assign(layout.chunk_layers.size(), nothing);
    layout.stages.assign(static_cast<std::size_t>(plan.pp), nothing);
    layout.chunks.front().embedding = true;
    layout.chunks.back().head = true;
    ScheduleTraits const& traits = traits_of(plan.schedule);
    layout.copies = traits.parameter_copies();
    std::size_t layer = 0;
    for (std::size_t c = 0; c < layout.chunks.size(); ++c) {
        StageContent& chunk = layout.chunks[c];
        for (std::int64_t i = 0; i < layout.chunk_layers[c]; ++i, ++layer) {
            auto const kind =
                std::find(layout.kinds.begin(), layout.kinds.end(), model.layers[layer]) - layout.kinds.begin();
            ++chunk.layers_of_kind[static_cast<std::size_t>(kind)];
            ++chunk.layers;
        }
        std::int64_t const rank = rank_of_chunk(traits.placement, plan.pp, static_cast<std::int64_t>(c));
        layout.stages[static_cast<std::size_t>(rank)] += chunk;
        if (layout.copies > 1) layout.stages[static_cast<std::size_t>(plan.pp - 1 - rank)] += chunk;
    }
    return layout;
}

}  // namespace sextant
