#include "simulator/forward_pass.hpp"

#include "core/spec/parallel_plan.hpp"
#include "core/spec/working_format.hpp"
#include "simulator/data_parallel.hpp"

#include <algorithm>

namespace sextant {

namespace {

Seconds pass_with_gathers(PipelineCost const& pipeline, ParallelPlan const& plan, DataParallelCurves const& curves,
                          FrameworkTiming const& timing) {
    Seconds slowest;
    Seconds through;
    for (StageCost const& stage : pipeline.stages) {
        Seconds const compute = stage.forward.total();
        Seconds const time = compute + shown_gathers(stage.load, plan, compute, curves, timing);
        slowest = std::max(slowest, time);
        through += static_cast<double>(stage.count) * time;
    }
    return static_cast<double>(pipeline.microbatches - 1) * slowest + through +
           static_cast<double>(plan.pp - 1) * pipeline.transfer;
}

}  // namespace

Seconds forward_pass(PipelineCost const& pipeline, ParallelPlan const& plan, FrameworkTiming const& timing) {
    return pass_with_gathers(pipeline, plan, pipeline.data_parallel, timing);
}

Seconds forward_pass(ClosedForm& form, ParallelPlan const& plan) {
    return forward_pass(form.assemble(form.price_shape(plan), plan), plan, form.timing());
}

Seconds reference_pass(PipelineCost const& pipeline, ParallelPlan const& plan, FrameworkTiming const& timing) {
    if (!offloads_parameters(plan) || plan.adapters.on()) return forward_pass(pipeline, plan, timing);
    DataParallelCurves curves = pipeline.data_parallel;
    curves.gradients.weight_bytes = working_bytes(plan.precision);
    return pass_with_gathers(pipeline, plan, curves, timing);
}

}  // namespace sextant
