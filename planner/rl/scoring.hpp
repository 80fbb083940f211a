#pragma once

#include "planner/run_plan/training_run.hpp"
#include "simulator/closed_form.hpp"

namespace sextant {

/// One forward pass over the workload of `form` under a training plan: log-probabilities, values, rewards.
///
/// The microbatches of the plan go through its stages without a backward pass. With m microbatches, p stages, forward
/// time f_s of stage s, of ZeRO 3 with what shows of its weight gathers, and transfer x:
///
///     T = (m - 1) max_s f_s + sum_s f_s + (p - 1) x
///
/// Nothing is kept, so larger microbatches would fit; the pass is priced with those of training. The chunks of an
/// interleaved schedule run as one stage.
Seconds forward_pass(ClosedForm& form, ParallelPlan const& plan);

/// The kernels of a step's microbatches through the stages, (m - 1) max_s f_s + sum_s f_s: forward alone, and forward,
/// recompute and backward together.
struct PassTimes {
    Seconds forward, training;
};
PassTimes pass_times(ClosedForm& form, ParallelPlan const& plan);

/// What a step of `model` spends on its vocabulary, pass by pass: the kernels of its model less those of the same with
/// one output, whose head and loss take next to nothing (a value or reward model, `num_labels` = 1 in transformers).
/// With it goes the zeroing of the gradient of the embedding's table, 2 bytes an entry.
PassTimes spent_on_vocabulary(ClosedForm& form, ModelSpec const& model, Workload const& workload,
                              RunSetting const& setting, ParallelPlan const& plan);

/// Memory of the fullest stage of `model` with one output: no logits, and no output matrix where that is not the
/// embedding. With a pipeline the last stage has a copy of the embedding in its place.
StageMemory memory_of_one_output(ModelSpec const& model, Workload const& workload, RunSetting const& setting,
                                 ParallelPlan const& plan);

}  // namespace sextant
