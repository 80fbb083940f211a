#pragma once

#include "simulator/closed_form.hpp"

namespace sextant {

/// Passes and activations of some layers and ends of the model; `share`: of the layers that recompute runs again;
/// `added`: of the microbatches, those whose gradients are added to others (`added_share`), so that backwards are their
/// mean.
ChunkCost passes_of(ShapeCost const& shape, StageContent const& content, ParallelPlan const& plan, double share,
                    double added);

/// Weights of a stage, trained and frozen, and what its largest layer adds while it runs again.
void add_weights(StageLoad& load, ShapeCost const& shape, StageContent const& content, ParallelPlan const& plan);

}  // namespace sextant
