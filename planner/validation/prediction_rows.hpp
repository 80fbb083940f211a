#pragma once

#include "core/csv.hpp"
#include "planner/validation/score.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// Columns that `--rows` appends, in their order.
std::vector<std::string_view> appended_columns(ValidationKind kind);

/// Header and rows of `--rows`: the input's cells with the prediction appended. Columns: see docs/validation.md.
std::string predictions_header(ValidationKind kind, CsvTable const& table);
std::string predictions_line(ValidationKind kind, CsvRecord const& record, RowPrediction const& prediction);

}  // namespace sextant
