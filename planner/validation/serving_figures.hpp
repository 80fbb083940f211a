#pragma once

#include "planner/validation/serving_case.hpp"
#include "planner/validation/serving_row.hpp"

namespace sextant {

/// The figures of a row, stated or derived from others, of a case whose load is known.
/// @throws RowSkip for figures in another unit, and for those that contradict each other.
void apply_measured(ServingRow const& row, ServedCase& out);

}  // namespace sextant
