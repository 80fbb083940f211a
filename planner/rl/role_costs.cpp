#include "planner/rl/role_costs.hpp"

#include "simulator/held_activations.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

/// Stages and chunks of a pipeline have the same passes.
template <class Passes>
void take_attention(Passes& mean, Passes const& longer, double share) {
    for (PassTime Passes::*pass : {&Passes::forward, &Passes::backward, &Passes::weight, &Passes::rerun})
        (mean.*pass).attention = share * (longer.*pass).attention;
}

}  // namespace

PipelineCost pipeline_of_unequal(ClosedForm& form, ParallelPlan const& plan, SequenceLengths const& lengths) {
    PipelineCost pipeline = form.assemble(form.price_shape(plan), plan, PipelineMethod::walk);
    Workload squares = form.workload();
    squares.sequence = std::max(squares.sequence, static_cast<std::int64_t>(std::llround(lengths.attended)));
    if (squares.sequence == form.workload().sequence) return pipeline;
    ClosedForm of_squares(form.model(), squares, form.cluster(), form.framework(), plan.precision);
    PipelineCost const longer = of_squares.assemble(of_squares.price_shape(plan), plan, PipelineMethod::walk);
    double const share = static_cast<double>(form.workload().sequence) / static_cast<double>(squares.sequence);
    for (std::size_t i = 0; i < pipeline.stages.size(); ++i)
        take_attention(pipeline.stages[i], longer.stages[i], share);
    for (std::size_t i = 0; i < pipeline.chunks.size(); ++i)
        take_attention(pipeline.chunks[i], longer.chunks[i], share);
    return pipeline;
}

ForwardMemory forward_memory(ClosedForm const& form, PipelineCost const& pipeline, ParallelPlan const& plan) {
    FrameworkMemory const& framework = form.framework().memory;
    ForwardMemory fullest;
    for (StageCost const& stage : pipeline.stages) {
        StageLoad const load = load_of_longest(stage.load, plan, form.workload().sequence, form.longest());
        double const sharded = plan.zero >= 3 ? dense_shards(plan) : 1;
        double const sharded_experts = plan.zero >= 3 ? expert_shards(plan) : 1;
        double const weights = load.parameters.dense / sharded + load.parameters.expert / sharded_experts;
        Bytes const work = load.kept_by_layer +
                           std::max(layer_at_work(load, framework), logits_at_loss(load, plan, framework)) +
                           gathered_layers(load, plan, framework).at_loss +
                           framework.step_buffer_bytes.value * load.hidden_tokens * units::B + framework.constant.value;
        ForwardMemory const memory{
            .weights = frozen_weight_bytes * weights * units::B + frozen_bytes(load.frozen, plan),
            .working = framework.reserved_typical.value * work};
        if (memory.total() > fullest.total()) fullest = memory;
    }
    return fullest;
}

}  // namespace sextant
