#pragma once

#include "core/spec/model_spec.hpp"
#include "core/spec/parallel_plan.hpp"

#include <algorithm>
#include <cstdint>

namespace sextant {

/// Whether data parallelism has copies of a rank's dense weights, or of its experts.
///
/// Experts may have copies where the weights beside them have none: on tensor-parallel ranks that each hold whole
/// experts (ep times expert tp below tp).
inline bool copies_dense(ParallelPlan const& plan) { return plan.dp * plan.cp > 1; }
inline bool copies_experts(ParallelPlan const& plan) { return plan.expert_dp() > 1; }

/// Ranks that hold copies of a weight, of the one that has most.
inline std::int64_t most_copies(ParallelPlan const& plan, ModelSpec const& model) {
    std::int64_t const ranks = plan.dp * plan.cp;
    return model.moe ? std::max(ranks, plan.expert_dp()) : ranks;
}

}  // namespace sextant
