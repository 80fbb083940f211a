#pragma once

#include "core/graph/block.hpp"
#include "core/graph/stage_layout.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace sextant {

/// One training step of one plan: what every pipeline stage executes for each microbatch, as block programs with repeat
/// counts. The only product of the code that knows shapes; everything after works on priced blocks.
struct StepGraph {
    BlockSet blocks;
    StageLayout layout;
    std::int64_t microbatches = 0;
    ParallelPlan plan;
    Workload workload;
};

/// @throws InputError when the plan breaks a structural rule (see plan_check.hpp).
StepGraph build_step_graph(ModelSpec const& model, ParallelPlan const& plan, Workload const& workload);

/// 16 hexadecimal digits over every op, tensor, repeat count and the plan: two reports with the same digest are about
/// the same work.
std::string digest(StepGraph const& graph);

/// Work of one stage in one microbatch, without recompute. Where a rank holds the stages of both directions, the mean
/// of the two: it runs half of the microbatches on each.
Work stage_work(StepGraph const& graph, std::size_t stage, Pass pass);
/// Work that recompute adds to one stage in one microbatch; `last`: of the ops of a layer, where a framework leaves out
/// those behind the last tensor that the backward pass needs.
Work stage_rerun_work(StepGraph const& graph, std::size_t stage, Rerun last = Rerun::to_the_end);
/// Parameters that one rank of a stage trains, and holds.
LocalParameters stage_parameters(StepGraph const& graph, std::size_t stage);
/// Parameters that it holds beside them.
FrozenWeights stage_frozen_weights(StepGraph const& graph, std::size_t stage);
/// Share of a stage's layers that is recomputed: `recompute_layers` of them, or all.
double recomputed_share(ParallelPlan const& plan, std::int64_t stage_layers);

}  // namespace sextant
