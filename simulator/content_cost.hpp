#pragma once

#include "simulator/closed_form.hpp"

#include <cstdint>
#include <span>

namespace sextant {

/// Passes and activations of some layers and ends of the model; `again`: of the layers of each kind, those that
/// recompute runs again (empty: all); `added`: of the microbatches, those whose gradients are added to others
/// (`added_share`), so that backwards are their mean.
ChunkCost passes_of(ShapeCost const& shape, StageContent const& content, ParallelPlan const& plan,
                    std::span<std::int64_t const> again, double added);

/// Weights of a stage, trained and frozen, and what the largest of its layers that run again adds while it does.
/// Prediction modules are layers, of which each is gathered and run again by itself.
void add_weights(StageLoad& load, ShapeCost const& shape, StageContent const& content, ParallelPlan const& plan,
                 std::span<std::int64_t const> again);

}  // namespace sextant
