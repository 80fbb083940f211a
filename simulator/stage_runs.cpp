#include "core/graph/recomputed_layers.hpp"
#include "simulator/closed_form.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sextant {

ClosedForm::Layout const& ClosedForm::layout_of(ParallelPlan const& plan) {
    bool const in_part = plan.recompute == Recompute::full && plan.recompute_layers > 0;
    auto const [found, is_new] = layouts_.try_emplace({traits_of(plan.schedule).placement, plan.pp, plan.vpp,
                                                       in_part ? plan.recompute_layers : 0, plan.stage_layers});
    Layout& layout = found->second;
    if (!is_new) return layout;
    layout.stages = lay_out_stages(model_, plan);
    if (in_part) layout.again = recomputed_kinds(plan, layout.stages);
    std::vector<StageContent> const& stages = layout.stages.stages;
    for (std::size_t i = 0; i < stages.size(); ++i) {
        StageRun run{.content = stages[i],
                     .first = static_cast<std::int64_t>(i),
                     .count = 1,
                     .chunks = {},
                     .again_of_chunks = {},
                     .again = {}};
        for (std::int64_t const place : chunks_on_rank(plan.schedule, plan.pp, plan.vpp, run.first)) {
            auto const chunk = static_cast<std::size_t>(place);
            run.chunks.push_back(layout.stages.chunks[chunk]);
            if (!in_part) continue;
            run.again_of_chunks.push_back(layout.again[chunk]);
            run.again.resize(layout.again[chunk].size());
            for (std::size_t k = 0; k < run.again.size(); ++k)
                run.again[k] += layout.again[chunk][k];
        }
        if (!layout.runs.empty() && run.continues(layout.runs.back()))
            ++layout.runs.back().count;
        else
            layout.runs.push_back(std::move(run));
    }
    return layout;
}

}  // namespace sextant
