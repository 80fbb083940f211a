#pragma once

#include "core/graph/step_graph.hpp"

namespace sextant {

/// FLOPs that the kernels of one training step run, over all accelerators: causal kernels skip the masked scores, and
/// the vocabulary is padded. `last`: of the ops that run again of a layer.
struct ExecutedFlops {
    Flops total;      ///< what is run again included
    Flops recompute;  ///< of that, what recompute runs again
};
ExecutedFlops executed_flops_per_step(StepGraph const& graph, Rerun last = Rerun::to_the_end);

}  // namespace sextant
