#pragma once

#include "planner/validation/training_case.hpp"

namespace sextant {

/// True for a row that trains low-rank adapters (LoRA, QLoRA).
bool trains_adapters(TrainingRow const& row);

/// Fills the adapters of a plan: rank and targets from the notes, otherwise as the framework's recipes set them, which
/// is then among the assumptions. Nothing for a row that trains every weight. @pre precision is set.
void apply_adapters(TrainingRow const& row, TrainingCase& out);

/// Has a submission to MLPerf's LoRA benchmark keep what activations read in fp8 where its device would not hold it
/// otherwise. @pre the plan is valid.
void narrow_until_it_fits(TrainingRow const& row, TrainingCase& out);

/// What a submission to MLPerf's LoRA benchmark does and does not say in its row: format, framework, recompute.
bool is_mlperf_adapters(TrainingRow const& row);

}  // namespace sextant
