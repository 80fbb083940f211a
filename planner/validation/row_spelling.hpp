#pragma once

#include "planner/validation/training_case.hpp"

namespace sextant {

/// Number format of a row's matrix products, from spellings like "amp_bf16", "FP8-CS", "MXFP8", "FP16 mixed". A blank
/// cell is bf16 on devices without fp8 and in frameworks that train in bf16 unless told otherwise. @throws RowSkip when
/// that would be a guess.
Precision precision_of(TrainingRow const& row, TrainingCase& out);

/// A submission to MLPerf Training. They are derived from NVIDIA's, in NeMo.
bool is_mlperf(TrainingRow const& row);

/// Sets the recompute policy from spellings like "full:uniform:1", "selective: every 2nd layer", "remat_policy=full".
/// @throws RowSkip for policies that cannot be expressed.
void apply_recompute(TrainingRow const& row, TrainingCase& out);

}  // namespace sextant
