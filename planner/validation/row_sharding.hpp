#pragma once

#include "planner/validation/training_row.hpp"

#include <string_view>

namespace sextant {

/// Reads the cell `zero_stage`: a stage, which may say what it is the stage of ("ZeRO-1", but "-1" is none) and that
/// something is offloaded ("ZeRO-2 offload"), or PyTorch's name for it.
void read_zero_stage(std::string_view cell, TrainingRow& row);

/// The row with the ZeRO stage that its framework or else its notes name ("DeepSpeed ZeRO-3", "FULL_SHARD"), where the
/// cell for it is blank.
TrainingRow with_named_sharding(TrainingRow row);

}  // namespace sextant
