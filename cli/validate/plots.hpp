#pragma once

#include "cli/view/scatter_svg.hpp"
#include "planner/validation/score.hpp"

#include <map>
#include <string>

namespace sextant::cli {

/// Collects rows and writes predicted against measured times, one SVG per source and one of all.
class ValidationPlots {
public:
    explicit ValidationPlots(ValidationKind kind) : kind_(kind) {}
    void add(ScoredRow const& row);
    /// Writes "SOURCE.svg" and "overall.svg" into the folder, which is made where it is missing; how many files.
    [[nodiscard]] std::size_t write(std::string const& folder, Validation const& validation) const;

private:
    using Series = std::map<RowGroup, ScatterSeries>;
    ValidationKind kind_;
    std::map<std::string, Series> sources_;
    Series overall_;
};

/// The group by which points are coloured: the split where rows are told apart by it, else what the first one is.
RowGroup colour_group(ScoredRow const& row);

/// Median, 90 % quantile and bias in one line.
std::string error_line(ErrorStatistics const& errors);

}  // namespace sextant::cli
