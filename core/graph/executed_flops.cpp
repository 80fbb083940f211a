#include "core/graph/executed_flops.hpp"

namespace sextant {

ExecutedFlops executed_flops_per_step(StepGraph const& graph, Rerun last) {
    ParallelPlan const& p = graph.plan;
    double const ranks = static_cast<double>(graph.microbatches) * static_cast<double>(p.tp * p.cp * p.dp);
    ExecutedFlops out;
    for (std::size_t stage = 0; stage < graph.layout.stages.size(); ++stage) {
        Flops const rerun = stage_rerun_work(graph, stage, last).executed;
        out.recompute += ranks * rerun;
        double const forwards = graph.workload.has_reference() ? 2 : 1;
        out.total += ranks * (forwards * stage_work(graph, stage, Pass::forward).executed +
                              stage_work(graph, stage, Pass::backward).executed + rerun);
    }
    return out;
}

}  // namespace sextant
