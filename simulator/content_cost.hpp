#pragma once

#include "simulator/closed_form.hpp"

namespace sextant {

/// Passes and activations of some layers and ends of the model; `share`: of the layers that recompute runs again.
ChunkCost passes_of(ShapeCost const& shape, StageContent const& content, ParallelPlan const& plan, double share);

/// Weights of a stage, trained and frozen, and what its largest layer adds while it runs again.
void add_weights(StageLoad& load, ShapeCost const& shape, StageContent const& content, ParallelPlan const& plan);

}  // namespace sextant
