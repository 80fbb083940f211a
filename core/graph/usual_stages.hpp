#pragma once

#include "core/spec/framework_profile.hpp"
#include "core/spec/model_spec.hpp"
#include "core/spec/parallel_plan.hpp"

#include <cstdint>
#include <vector>

namespace sextant {

/// Layers of each stage as nanotron spreads them: by cost, with the output matrix as a block of its own.
/// A stage is closed by the first block that takes the sum over (`Tie::next_stage`: to) its share.
/// Source: the layer counts of stage 0 in the runs of the Ultra-Scale Playbook.
enum class Tie : std::uint8_t { same_stage, next_stage };
std::vector<std::int64_t> cost_balanced_layers(ModelSpec const& model, std::int64_t pp, Tie tie);

/// Layers of each stage where a framework spreads them in a way of its own and the plan leaves them open; what the plan
/// says where that is not so (empty: `balanced_split`). nanotron spreads dense models by cost; it has no chunks.
std::vector<std::int64_t> usual_stage_layers(FrameworkProfile const& framework, ModelSpec const& model,
                                             ParallelPlan const& plan);

/// The ZeRO stage that a framework runs with where the plan leaves it open: its usual one, 1 with a pipeline that does
/// not go with that.
int usual_zero_stage(FrameworkProfile const& framework, ParallelPlan plan);

/// Whether any layer has a sliding window.
bool slides(ModelSpec const& model);

/// How the ranks of a context-parallel group share keys and values where the plan leaves it open: in the framework's
/// way, and gathered where layers have sliding windows, which do not go round a ring. Source: Transformer Engine,
/// context_parallel.py.
ContextParallel usual_cp_mode(ContextParallel of_framework, ModelSpec const& model);

}  // namespace sextant
