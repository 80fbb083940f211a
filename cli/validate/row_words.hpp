#pragma once

#include "core/csv.hpp"
#include "planner/validation/score.hpp"

namespace sextant::cli {

/// Says where the row stands ("gemm.csv line 7"), and what it is in the words of its cells where the prediction has
/// none.
void name_row(ValidationKind kind, CsvTable const& table, CsvRecord const& record, ScoredRow& row);

}  // namespace sextant::cli
