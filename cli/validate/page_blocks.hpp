#pragma once

#include "cli/page/page.hpp"
#include "cli/validate/page.hpp"

#include <string>
#include <vector>

namespace sextant::cli {

// What pages of measured rows share: those of `validate` and of `calibrate report`.

/// What the errors in their tables are.
inline constexpr char const* error_note =
    "Errors are (predicted - measured) / measured in per cent: median and 90 % quantile of absolute values; bias is "
    "the "
    "median of signed ones.";

/// Predicted against measured on logarithmic axes, a colour per group, nine groups and 6,000 points at most.
Chart against_measured(ValidationPoints::Figure const& figure, std::string title);

/// Signed errors of rows, in per cent.
struct ErrorLine {
    std::string name;
    std::vector<double> errors_pct;
};

/// Share of the rows whose error is at most so large, a line each. Lines without errors are left out.
Chart error_chart(std::vector<ErrorLine> const& lines);

/// The rows that are off by the largest factors.
PageTable worst_page_table(std::vector<WorstRow> const& worst);

}  // namespace sextant::cli
