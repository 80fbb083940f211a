#include "planner/microbatch_table.hpp"

#include "core/graph/plan_check.hpp"
#include "simulator/step_analysis.hpp"
#include "simulator/task_graph_builder.hpp"

#include <set>

namespace sextant {

std::vector<MicrobatchRow> microbatch_table(ClosedForm& form, ParallelPlan const& plan, MemoryLimit const& limit,
                                            std::size_t most) {
    std::int64_t const sequences = form.workload().global_batch / plan.dp;
    std::set<std::int64_t> sizes{plan.micro_batch};
    for (std::int64_t size = 1; size <= sequences; size *= 2)
        sizes.insert(size);
    std::vector<MicrobatchRow> rows;
    for (std::int64_t const size : sizes) {
        ParallelPlan candidate = plan;
        candidate.micro_batch = size;
        if (rows.size() >= most || find_fault(form.model(), candidate, form.workload())) continue;
        TaskGraph const graph = build_task_graph(form, candidate, {.granularity = Granularity::stage});
        StepAnalysis const analysis = analyse(graph, walk_graph(graph));
        StepReport const report = make_report(form, candidate, limit);
        rows.push_back({.micro_batch = size,
                        .microbatches = report.microbatches,
                        .time = analysis.makespan,
                        .bubble = analysis.bubble_share(),
                        .peak = report.estimate.peak(),
                        .fits = report.fits});
    }
    return rows;
}

}  // namespace sextant
