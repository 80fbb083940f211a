#pragma once

#include "cli/sweep/table.hpp"
#include "cli/view/table.hpp"

#include <string>
#include <string_view>

namespace sextant::cli {

/// A row per point, numbers with units by the suffix of their column ("_s", "_bytes"). Sample:
///
///     gpus  tp  iteration_time  tokens_per_s  mfu
///     ----  --  --------------  ------------  ------
///       64   4         25.14 s       166.8 K  0.6096
Table sweep_rows(SweepTable const& table);
std::string sweep_text(SweepTable const& table);
/// Format `sweep`, version 1.
std::string sweep_json(SweepTable const& table);

/// A number of a column, for reading: the suffix of the column's name says what it is.
std::string figure_text(double value, std::string_view column);

/// Which axis moves the figure most. Sample:
///
///     iteration_time_s over 40 points: mean 8.1 s, standard deviation 5.3 s
///
///     axis  least            most            alone  with others  elasticity
///     ----  ---------------  --------------  -----  -----------  ----------
///     gpus  1.2 s (at 4096)  25 s (at 64)     0.93         0.98       -0.97
std::string sensitivity_text(Sensitivity const& sensitivity);

/// The last parts of each column's path that tell it from the others and the axes: "mfu" of "candidates.0.report.mfu".
std::vector<std::string> short_names(std::vector<std::string> const& columns, std::vector<SweepAxis> const& axes);

}  // namespace sextant::cli
