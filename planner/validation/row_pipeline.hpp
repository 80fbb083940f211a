#pragma once

#include "planner/validation/training_case.hpp"

#include <cstdint>
#include <vector>

namespace sextant {

/// Sets schedule, interleaving and the layers of each stage. Degrees of the plan are there already. @throws RowSkip.
void apply_pipeline(TrainingRow const& row, TrainingCase& out);

}  // namespace sextant
