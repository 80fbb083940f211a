#pragma once

#include "core/spec/model_spec.hpp"
#include "core/spec/parallel_plan.hpp"

namespace sextant {

/// Elements of one layer, of one microbatch on one rank, that frameworks keep copies of beside the tensors of the
/// graph.
struct CopiedElements {
    double gated = 0;   ///< T f / tp: the gate beside its product, of a gated feed-forward layer
    double routed = 0;  ///< T h k / tp over an expert's own tp: routed tokens of an MoE layer, unless they run again
};
/// Source: docs/memory.md, "Bytes per framework".
CopiedElements copied_elements(ModelSpec const& model, Workload const& workload, ParallelPlan const& plan);

}  // namespace sextant
