#pragma once

#include "core/spec/parallel_plan.hpp"

#include <string>
#include <vector>

namespace sextant {

/// Whether Megatron-Core can run forwards beside backwards with this plan (1f1b-overlap,
/// `--overlap-moe-expert-parallel-comm`), whatever its schedule is: with expert parallelism, several chunks where there
/// is a pipeline, products in 16 bits or fewer and without full recompute.
/// Source: megatron-core 0.15, transformer_config.py, checks of overlap_moe_expert_parallel_comm.
bool can_overlap_experts(ParallelPlan const& plan);

/// What the plan would have to have for that, as options; none where it can.
std::vector<std::string> missing_for_expert_overlap(ParallelPlan const& plan);

}  // namespace sextant
