#include "simulator/held_activations.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace sextant {

namespace {

Bytes sum_of(ShapeCost const& shape, StageContent const& content, ParallelPlan const& plan,
             std::span<std::int64_t const> again, std::array<Bytes, 3> BlockPrice::*which) {
    auto const policy = static_cast<std::size_t>(plan.recompute);
    Bytes kept;
    for (std::size_t k = 0; k < shape.blocks.layers.size(); ++k) {
        std::array<Bytes, 3> const& layer = shape.blocks.layers[k].*which;
        std::int64_t const n = content.layers_of_kind[k];
        std::int64_t const dropping = again.empty() ? n : again[k];
        kept += static_cast<double>(dropping) * layer[policy];
        if (dropping < n) kept += static_cast<double>(n - dropping) * layer[0];
    }
    if (content.embedding) kept += (shape.blocks.embedding.*which)[0];
    if (content.head)
        kept +=
            (shape.blocks.head.*which)[0] + (shape.blocks.mtp.*which)[static_cast<std::size_t>(recompute_of_mtp(plan))];
    return kept;
}

}  // namespace

Bytes kept_of(ShapeCost const& shape, StageContent const& content, ParallelPlan const& plan,
              std::span<std::int64_t const> again, Activations which) {
    auto const sum = [&](auto member) { return sum_of(shape, content, plan, again, member); };
    switch (which) {
        case Activations::kept: return sum(&BlockPrice::kept);
        case Activations::offloaded: return sum(&BlockPrice::offloaded);
        case Activations::on_device: return sum(&BlockPrice::kept) - sum(&BlockPrice::offloaded);
    }
    return {};
}

std::vector<double> shares_of(ShapeCost const& shape, std::span<StageContent const> contents,
                              std::span<std::vector<std::int64_t> const> again, ParallelPlan const& plan,
                              Activations which) {
    bool const alike = std::equal(contents.begin() + 1, contents.end(), contents.begin());
    if (contents.size() == 1 || (alike && again.empty())) return {};
    std::vector<double> shares;
    double sum = 0;
    for (std::size_t c = 0; c < contents.size(); ++c) {
        std::span<std::int64_t const> const here = again.empty() ? std::span<std::int64_t const>{} : again[c];
        shares.push_back(kept_of(shape, contents[c], plan, here, which).base());
        sum += shares.back();
    }
    if (std::equal(shares.begin() + 1, shares.end(), shares.begin())) return {};
    for (double& share : shares)
        share /= sum;
    return shares;
}

double held_at_most(std::vector<double> const& chunk_shares, PipelineCost const& pipeline, ParallelPlan const& plan,
                    std::int64_t rank, MomentStore& moments) {
    if (chunk_shares.empty())
        return microbatches_in_flight(plan.schedule, plan.pp, plan.vpp, pipeline.microbatches, rank);
    if (has_closed_form(plan.schedule)) {
        ScheduleShape const shape{.ranks = plan.pp, .microbatches = pipeline.microbatches, .chunks = plan.vpp};
        return held_microbatches(moments.get(plan.schedule, shape, rank), chunk_shares);
    }
    return held_microbatches(fullest_moments(pipeline.schedule.first->ranks[static_cast<std::size_t>(rank)],
                                             chunks_on_rank(plan.schedule, plan.pp, plan.vpp, rank)),
                             chunk_shares);
}

}  // namespace sextant
