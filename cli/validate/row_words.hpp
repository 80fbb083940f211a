#pragma once

#include "core/csv.hpp"
#include "planner/validation/score.hpp"

#include <string>

namespace sextant::cli {

/// "gemm.csv line 7".
std::string row_place(CsvTable const& table, CsvRecord const& record);

/// Says where the row stands ("gemm.csv line 7"), and what it is in the words of its cells where the prediction has
/// none.
void name_row(ValidationKind kind, CsvTable const& table, CsvRecord const& record, ScoredRow& row);

/// What was measured of the row and what is predicted: its time, or its throughput.
std::string measured_words(WorstRow const& row);
std::string predicted_words(WorstRow const& row);

}  // namespace sextant::cli
