#include "planner/rl/scoring.hpp"

#include <algorithm>

namespace sextant {

namespace {

/// Microbatches behind one another: all but one take what the slowest stage does, one goes through all of them.
/// @param of_stage time of one microbatch on a rank of these stages
template <class TimeOfStage>
Seconds through_stages(PipelineCost const& pipeline, TimeOfStage const& of_stage) {
    Seconds slowest;
    Seconds through;
    for (StageCost const& stage : pipeline.stages) {
        Seconds const time = of_stage(stage);
        slowest = std::max(slowest, time);
        through += static_cast<double>(stage.count) * time;
    }
    return static_cast<double>(pipeline.microbatches - 1) * slowest + through;
}

}  // namespace

Seconds forward_pass(ClosedForm& form, ParallelPlan const& plan) {
    PipelineCost const pipeline = form.assemble(form.price_shape(plan), plan);
    auto const forward = [&](StageCost const& stage) {
        Seconds const compute = stage.forward.total();
        return compute + shown_gathers(stage.load, plan, compute, pipeline.data_parallel, form.timing());
    };
    return through_stages(pipeline, forward) + static_cast<double>(plan.pp - 1) * pipeline.transfer;
}

PassTimes pass_times(ClosedForm& form, ParallelPlan const& plan) {
    PipelineCost const pipeline = form.assemble(form.price_shape(plan), plan);
    auto const forward = [](StageCost const& stage) { return stage.forward.total(); };
    auto const training = [](StageCost const& stage) {
        return stage.forward.total() + stage.rerun.total() + stage.backward.total();
    };
    return {.forward = through_stages(pipeline, forward), .training = through_stages(pipeline, training)};
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
