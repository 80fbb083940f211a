#pragma once

#include "core/measurements/row_cells.hpp"
#include "planner/validation/training_row.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace sextant {

/// A cell that a run must have had a value for and that its row leaves blank.
enum class OpenCell : std::uint8_t { none, micro_batch, recompute, global_batch, precision };

std::string_view name_of(OpenCell cell);

/// Nothing can be predicted before the cell is filled.
class OpenCellSkip : public RowSkip {
public:
    explicit OpenCellSkip(OpenCell open);
    OpenCell cell;
};

/// The row with each usual value of the cell; some may be of no use to it.
std::vector<TrainingRow> fillings(TrainingRow const& row, OpenCell cell);

}  // namespace sextant
