#include "planner/rl/scoring.hpp"

#include <algorithm>

namespace sextant {

Seconds forward_pass(ClosedForm& form, ParallelPlan const& plan) {
    PipelineCost const pipeline = form.assemble(form.price_shape(plan), plan);
    Seconds slowest;
    Seconds through;
    for (StageCost const& stage : pipeline.stages) {
        Seconds const compute = stage.forward.total();
        Seconds const forward =
            compute + shown_gathers(stage.load, plan, compute, pipeline.data_parallel, form.timing());
        slowest = std::max(slowest, forward);
        through += static_cast<double>(stage.count) * forward;
    }
    return static_cast<double>(pipeline.microbatches - 1) * slowest + through +
           static_cast<double>(plan.pp - 1) * pipeline.transfer;
}

PassTimes pass_times(ClosedForm& form, ParallelPlan const& plan) {
    PipelineCost const pipeline = form.assemble(form.price_shape(plan), plan);
    PassTimes slowest;
    PassTimes through;
    for (StageCost const& stage : pipeline.stages) {
        Seconds const forward = stage.forward.total();
        Seconds const training = forward + stage.rerun.total() + stage.backward.total();
        auto const count = static_cast<double>(stage.count);
        slowest = {.forward = std::max(slowest.forward, forward), .training = std::max(slowest.training, training)};
        through = {.forward = through.forward + count * forward, .training = through.training + count * training};
    }
    auto const others = static_cast<double>(pipeline.microbatches - 1);
    return {.forward = others * slowest.forward + through.forward,
            .training = others * slowest.training + through.training};
}

PassTimes spent_on_vocabulary(ClosedForm& form, ModelSpec const& model, Workload const& workload,
                              RunSetting const& setting, ParallelPlan const& plan) {
    ModelSpec scalar = model;
    scalar.vocab = 1;
    scalar.tied_embeddings = false;
    scalar.capped_logits = false;
    scalar.mtp_modules = 0;
    ClosedForm without(scalar, workload, setting.cluster, setting.framework, setting.constraints.base.precision);
    PassTimes const all = pass_times(form, plan);
    PassTimes const rest = pass_times(without, plan);
    return {.forward = std::max(Seconds{}, all.forward - rest.forward),
            .training = std::max(Seconds{}, all.training - rest.training)};
}

}  // namespace sextant
