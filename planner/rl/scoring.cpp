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

namespace {

/// Without embedding and output matrix, which have a row each.
ModelSpec without_vocabulary(ModelSpec model) {
    model.vocab = 1;
    model.tied_embeddings = false;
    model.capped_logits = false;
    model.mtp_modules = 0;
    return model;
}

}  // namespace

PassTimes spent_on_vocabulary(ClosedForm& form, ModelSpec const& model, Workload const& workload,
                              RunSetting const& setting, ParallelPlan const& plan) {
    ModelSpec const scalar = without_vocabulary(model);
    ClosedForm without(scalar, workload, setting.cluster, setting.framework, setting.constraints.base.precision);
    PassTimes const all = pass_times(form, plan);
    PassTimes const rest = pass_times(without, plan);
    return {.forward = std::max(Seconds{}, all.forward - rest.forward),
            .training = std::max(Seconds{}, all.training - rest.training)};
}

StageMemory memory_of_one_output(ModelSpec const& model, Workload const& workload, RunSetting const& setting,
                                 ParallelPlan const& plan) {
    auto const memory_of = [&](ModelSpec const& spec) {
        Precision const precision = setting.constraints.base.precision;
        return ClosedForm(spec, workload, setting.cluster, setting.framework, precision).evaluate(plan).memory;
    };
    ModelSpec embedded = model;  // whose only table is the embedding
    embedded.tied_embeddings = true;
    embedded.mtp_modules = 0;
    StageMemory const tables = memory_of(embedded);
    StageMemory memory = memory_of(without_vocabulary(model));
    Bytes const before = memory.allocated();
    memory.weights = tables.weights;
    memory.gradients = tables.gradients;
    memory.optimizer = tables.optimizer;
    memory.buffers = tables.buffers;
    memory.host = tables.host;
    memory.reserved_low += memory.allocated() - before;
    memory.reserved_high += memory.allocated() - before;
    return memory;
}

}  // namespace sextant
