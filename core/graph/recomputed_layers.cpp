#include "core/graph/recomputed_layers.hpp"

#include "core/graph/step_graph.hpp"
#include "core/spec/schedule_traits.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace sextant {

std::vector<std::int64_t> recomputed_layers(ParallelPlan const& plan, StageLayout const& layout) {
    std::vector<std::int64_t> again;
    std::vector<std::int64_t> placed(layout.stages.size());  // layers of a rank in its chunks so far
    for (std::size_t chunk = 0; chunk < layout.chunk_layers.size(); ++chunk) {
        std::int64_t rank =
            rank_of_chunk(traits_of(plan.schedule).placement, plan.pp, static_cast<std::int64_t>(chunk));
        if (layout.copies > 1) rank = std::min(rank, plan.pp - 1 - rank);  // both ranks hold the same two chunks
        double const share = recomputed_share(plan, layout.stages[static_cast<std::size_t>(rank)].layers);
        std::int64_t& before = placed[static_cast<std::size_t>(rank)];
        std::int64_t const after = before + layout.chunk_layers[chunk];
        again.push_back(std::llround(share * static_cast<double>(after)) -
                        std::llround(share * static_cast<double>(before)));
        before = after;
    }
    return again;
}

std::vector<std::vector<std::int64_t>> recomputed_kinds(ParallelPlan const& plan, StageLayout const& layout) {
    std::vector<std::vector<std::int64_t>> again;
    std::size_t first = 0;
    std::vector<std::int64_t> const layers = recomputed_layers(plan, layout);
    for (std::size_t chunk = 0; chunk < layers.size(); ++chunk) {
        std::vector<std::int64_t>& kinds = again.emplace_back(layout.kinds.size());
        for (std::size_t i = 0; i < static_cast<std::size_t>(layers[chunk]); ++i)
            ++kinds[layout.layer_kinds[first + i]];
        first += static_cast<std::size_t>(layout.chunk_layers[chunk]);
    }
    return again;
}

}  // namespace sextant
