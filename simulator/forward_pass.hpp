#pragma once

#include "simulator/closed_form.hpp"

namespace sextant {

/// One forward pass over a step's microbatches under a training plan: log-probabilities, values, rewards.
///
/// The microbatches of the plan go through its stages without a backward pass. With m microbatches, p stages, forward
/// time f_s of stage s, of ZeRO 3 with what shows of its weight gathers, and transfer x:
///
///     T = (m - 1) max_s f_s + sum_s f_s + (p - 1) x
///
/// Nothing is kept, so larger microbatches would fit; the pass is priced with those of training. The chunks of an
/// interleaved schedule run as one stage.
Seconds forward_pass(PipelineCost const& pipeline, ParallelPlan const& plan, FrameworkTiming const& timing);
Seconds forward_pass(ClosedForm& form, ParallelPlan const& plan);

/// The same pass of the frozen reference of DPO, which is held in the working format (`StageMemory::reference`): from
/// host memory that is what comes, where the weights that are trained are wider there. With adapters the reference is
/// the model without them, and comes as it does.
Seconds reference_pass(PipelineCost const& pipeline, ParallelPlan const& plan, FrameworkTiming const& timing);

}  // namespace sextant
