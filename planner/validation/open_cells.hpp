#pragma once

#include "core/measurements/row_cells.hpp"
#include "planner/validation/training_row.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace sextant {

/// A cell that a run must have had a value for and that its row leaves blank.
enum class OpenCell : std::uint8_t { none, micro_batch, recompute, global_batch, precision, degrees, layers };

std::string_view name_of(OpenCell cell);

/// Nothing can be predicted before the cell is filled.
class OpenCellSkip : public RowSkip {
public:
    explicit OpenCellSkip(OpenCell open);
    OpenCell cell;
};

/// The row with each usual value of the cell, some of which may be of no use to it, in groups: those of the first group
/// in which any fits count.
///
/// Degrees (tp, pp and cp) are those that the batch and its accumulation leave room for: the fewest accelerators that
/// share a sequence, first without a pipeline. None where the row does not state both.
std::vector<std::vector<TrainingRow>> fillings(TrainingRow const& row, OpenCell cell);

}  // namespace sextant
