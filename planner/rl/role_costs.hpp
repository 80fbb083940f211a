#pragma once

#include "planner/rl/output_lengths.hpp"
#include "simulator/closed_form.hpp"

namespace sextant {

/// A step's microbatches under `plan`, walked. Attention of unequal sequences goes by their squares: per token it is
/// that of sequences of `SequenceLengths::attended` tokens, everything else that of the mean, which is `form`'s.
PipelineCost pipeline_of_unequal(ClosedForm& form, ParallelPlan const& plan, SequenceLengths const& lengths);

/// What a forward pass takes of the fullest rank's memory.
struct ForwardMemory {
    Bytes weights;  ///< in two bytes each
    Bytes working;  ///< beside them: layers at work, logits, what ZeRO 3 gathers, the framework's workspaces
    [[nodiscard]] Bytes total() const { return weights + working; }
};
/// Nothing is kept for a backward pass. The layer at work is counted as in one, which is somewhat more.
ForwardMemory forward_memory(ClosedForm const& form, PipelineCost const& pipeline, ParallelPlan const& plan);

}  // namespace sextant
