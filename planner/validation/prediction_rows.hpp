#pragma once

#include "core/csv.hpp"
#include "planner/validation/score.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// Columns that `--rows` appends, in their order. Of steps `not_scored_reason` says why a measured time is not scored,
/// of serving `scored_*` what is scored against: a rate that the row does not state is derived from what it does.
std::vector<std::string_view> appended_columns(ValidationKind kind);

/// Header and rows of `--rows`: the input's cells with the prediction appended. Columns: see docs/validation.md.
std::string predictions_header(ValidationKind kind, CsvTable const& table);
std::string predictions_line(ValidationKind kind, CsvRecord const& record, RowPrediction const& prediction);

}  // namespace sextant
