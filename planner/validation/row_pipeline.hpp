#pragma once

#include "planner/validation/training_case.hpp"

#include <cstdint>
#include <vector>

namespace sextant {

/// Sets schedule, interleaving and the layers of each stage. Degrees of the plan are there already. @throws RowSkip.
void apply_pipeline(TrainingRow const& row, TrainingCase& out);

/// Layers of each stage as nanotron spreads them: by cost, with the output matrix as a block of its own.
/// A stage is closed by the first block that takes the sum over (`Tie::next`: to) its share.
/// Source: the layer counts of stage 0 in the runs of the Ultra-Scale Playbook.
enum class Tie : std::uint8_t { same_stage, next_stage };
std::vector<std::int64_t> cost_balanced_layers(ModelSpec const& model, std::int64_t pp, Tie tie);

}  // namespace sextant
