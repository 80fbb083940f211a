#pragma once

#include "cli/view/table.hpp"
#include "planner/rl/rl_rows.hpp"

#include <string>
#include <vector>

namespace sextant::cli {

/// Predicted against measured steps, the errors over all and by mode, reasons of rows that are not predicted.
std::string rl_rows_text(std::vector<RlRow> const& rows);
std::string rl_rows_json(std::vector<RlRow> const& rows);
Table rl_rows_table(std::vector<RlRow> const& rows);

}  // namespace sextant::cli
