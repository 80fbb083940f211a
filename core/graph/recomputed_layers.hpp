#pragma once

#include "core/graph/stage_layout.hpp"

#include <cstdint>
#include <vector>

namespace sextant {

/// Layers of each chunk that run again. Those of a rank are dealt out over its chunks (and over the chunks of both
/// directions, where it has them), as chunks of few layers would each round to none or to all.
std::vector<std::int64_t> recomputed_layers(ParallelPlan const& plan, StageLayout const& layout);

/// The same by kind, in the order of `StageLayout::kinds`: those that run again are the first of a chunk, as
/// Megatron-Core takes them (`recompute_method` block).
std::vector<std::vector<std::int64_t>> recomputed_kinds(ParallelPlan const& plan, StageLayout const& layout);

}  // namespace sextant
