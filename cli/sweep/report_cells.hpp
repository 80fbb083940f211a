#pragma once

#include "cli/sweep/table.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sextant::cli {

/// The values of a JSON report at dotted paths: "memory.peak_bytes", "candidates.0.report.mfu" (items of lists count
/// from 0), or else the first at a path that ends so ("mfu", "memory.peak_bytes"). What is not there, null, a list or
/// an object is an empty cell. Nothing when the text is no JSON object.
std::optional<std::vector<SweepCell>> report_cells(std::string_view report, std::vector<std::string> const& columns);

/// Every path of a report with its value, in its order; of each list the first item alone.
std::vector<std::pair<std::string, SweepCell>> report_paths(std::string_view report);

/// A cell that was written as CSV or typed: a number, "true", "false", text or nothing.
SweepCell cell_from_text(std::string text);

}  // namespace sextant::cli
