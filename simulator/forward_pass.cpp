#include "simulator/forward_pass.hpp"

#include "simulator/data_parallel.hpp"

#include <algorithm>

namespace sextant {

Seconds forward_pass(PipelineCost const& pipeline, ParallelPlan const& plan, FrameworkTiming const& timing) {
    Seconds slowest;
    Seconds through;
    for (StageCost const& stage : pipeline.stages) {
        Seconds const compute = stage.forward.total();
        Seconds const time = compute + shown_gathers(stage.load, plan, compute, pipeline.data_parallel, timing);
        slowest = std::max(slowest, time);
        through += static_cast<double>(stage.count) * time;
    }
    return static_cast<double>(pipeline.microbatches - 1) * slowest + through +
           static_cast<double>(plan.pp - 1) * pipeline.transfer;
}

Seconds forward_pass(ClosedForm& form, ParallelPlan const& plan) {
    return forward_pass(form.assemble(form.price_shape(plan), plan), plan, form.timing());
}

}  // namespace sextant
