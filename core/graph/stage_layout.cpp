#include "core/graph/stage_layout.hpp"

#include "core/graph/block.hpp"
#include "core/spec/schedule_traits.hpp"

#include <algorithm>
#include <cstddef>

namespace sextant {

namespace {

/// What the last chunk holds beside its layers, in layers: the head, and of each prediction module the layer and the
/// head.
std::int64_t last_chunk_extra(std::int64_t mtp_modules) { return 1 + 2 * mtp_modules; }

/// Layers of the last chunk that leave the longest chunk shortest; of several numbers the largest.
std::int64_t last_chunk_layers(std::int64_t layers, std::int64_t chunks, std::int64_t extra) {
    if (chunks == 1) return layers;
    auto const longest = [&](std::int64_t last) {
        std::int64_t const most_of_others = (layers - last + chunks - 2) / (chunks - 1);
        return std::max(most_of_others, last + extra);
    };
    std::int64_t best = layers / chunks;
    for (std::int64_t last = best; last >= 0; --last)
        if (longest(last) < longest(best)) best = last;
    return best;
}

}  // namespace

bool can_split(std::int64_t layers, std::int64_t pp, std::int64_t vpp, std::int64_t mtp_modules) {
    std::int64_t const chunks = pp * vpp;
    if (vpp == 1) return layers >= chunks;
    if (mtp_modules == 0) return layers % chunks == 0 || (layers + 2) % chunks == 0 || (layers + 1) % chunks == 0;
    if (layers < chunks - 2) return false;
    std::vector<std::int64_t> const split = balanced_split(layers, pp, vpp, mtp_modules);
    std::int64_t const full = split[split.size() - 2];
    return full > 0 && full - split.front() <= 1 && split.back() <= full &&
           full - split.back() <= last_chunk_extra(mtp_modules) &&
           std::all_of(split.begin() + 1, split.end() - 1, [&](std::int64_t n) { return n == full; });
}

bool can_split(ModelSpec const& model, std::int64_t pp, std::int64_t vpp) {
    return can_split(model.layer_count(), pp, vpp, model.mtp_modules);
}

std::vector<std::int64_t> balanced_split(std::int64_t layers, std::int64_t pp, std::int64_t vpp,
                                         std::int64_t mtp_modules) {
    auto const chunks = static_cast<std::size_t>(pp * vpp);
    auto const count = static_cast<std::int64_t>(chunks);
    if (mtp_modules == 0 && layers % count == 0) return std::vector(chunks, layers / count);
    std::int64_t const last = last_chunk_layers(layers, count, last_chunk_extra(mtp_modules));
    std::int64_t const others = std::max<std::int64_t>(1, count - 1);
    std::vector<std::int64_t> split(chunks, (layers - last) / others);
    split.back() = last;
    for (std::int64_t i = 0; i < (layers - last) % others; ++i)
        ++split[static_cast<std::size_t>(count - 2 - i)];
    return split;
}

std::vector<std::int64_t> balanced_split(ModelSpec const& model, std::int64_t pp, std::int64_t vpp) {
    return balanced_split(model.layer_count(), pp, vpp, model.mtp_modules);
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
    layout.chunk_layers = plan.stage_layers.empty() ? balanced_split(model, plan.pp, plan.vpp) : plan.stage_layers;
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
            auto const kind = static_cast<std::size_t>(
                std::find(layout.kinds.begin(), layout.kinds.end(), model.layers[layer]) - layout.kinds.begin());
            layout.layer_kinds.push_back(kind);
            ++chunk.layers_of_kind[kind];
            ++chunk.layers;
        }
        std::int64_t const rank = rank_of_chunk(traits.placement, plan.pp, static_cast<std::int64_t>(c));
        layout.stages[static_cast<std::size_t>(rank)] += chunk;
        if (layout.copies > 1) layout.stages[static_cast<std::size_t>(plan.pp - 1 - rank)] += chunk;
    }
    return layout;
}

}  // namespace sextant
