#pragma once

#include "planner/validation/training_case.hpp"

namespace sextant {

/// The optimizer that framework or notes name; AdamW where they name none. @throws RowSkip: one that is not modelled.
void apply_optimizer(TrainingRow const& row, TrainingCase& out);

/// What framework, notes or the cell of the ZeRO stage say is offloaded to host memory.
/// @throws RowSkip where they do not say of what, or of how much. @pre ZeRO stage and framework are set.
void apply_offload(TrainingRow const& row, TrainingCase& out);

}  // namespace sextant
