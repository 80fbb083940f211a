#include "planner/rl/scoring.hpp"

#include <algorithm>

namespace sextant {
namespace {

/// What shows of the weights that one forward pass gathers beside `compute` (ZeRO 3): not hidden is the share that
/// overlap does not gain, and the first layer's part.
Seconds shown_gathers(StageLoad const& load, Seconds compute, DataParallelCurves const& curves,
                      ParallelPlan const& plan, FrameworkTiming const& timing) {
    DataParallelMoment const moment = DataParallelMoment::forward_each;
    Seconds const gathers = data_parallel_calls(load, plan, curves, timing).at(moment);
    Seconds const hidden = data_parallel_overlap(moment, plan, timing) * std::min(gathers, compute);
    return std::max(gathers - hidden, gathers / std::max(1.0, load.layers));
}

}  // namespace

Seconds forward_pass(ClosedForm& form, ParallelPlan const& plan) {
    PipelineCost const pipeline = form.assemble(form.price_shape(plan), plan);
    Seconds slowest;
    Seconds through;
    for (StageCost const& stage : pipeline.stages) {
        Seconds const compute = stage.forward.total();
        Seconds const forward =
            compute + shown_gathers(stage.load, compute, pipeline.data_parallel, plan, form.timing());
        slowest = std::max(slowest, forward);
        through += static_cast<double>(stage.count) * forward;
    }
    return static_cast<double>(pipeline.microbatches - 1) * slowest + through +
           static_cast<double>(plan.pp - 1) * pipeline.transfer;
}

}  // namespace sextant
