#include "core/graph/stage_layout.hpp"

#include "core/graph/block.hpp"

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

StageLayout lay_out_stages(ModelSpec const& model, ParallelPlan const& plan) {
    StageLayout layout;
    layout.kinds = distinct_kinds(model);
    layout.chunk_layers =
        plan.stage_layers.empty() ? balanced_split(model.layer_count(), plan.pp, plan.vpp) : plan.stage_layers;
    layout.stages.assign(static_cast<std::size_t>(plan.pp), {});
    for (StageContent& stage : layout.stages)
        stage.layers_of_kind.assign(layout.kinds.size(), 0);
    std::size_t layer = 0;
    for (std::size_t chunk = 0; chunk < layout.chunk_layers.size(); ++chunk) {
        StageContent& stage = layout.stages[chunk % static_cast<std::size_t>(plan.pp)];
        for (std::int64_t i = 0; i < layout.chunk_layers[chunk]; ++i, ++layer) {
            auto const kind =
                std::find(layout.kinds.begin(), layout.kinds.end(), model.layers[layer]) - layout.kinds.begin();
            ++stage.layers_of_kind[static_cast<std::size_t>(kind)];
            ++stage.layers;
        }
    }
    layout.stages.front().embedding = true;
    layout.stages.back().head = true;
    return layout;
}

}  // namespace sextant
