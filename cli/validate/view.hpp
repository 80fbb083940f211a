#pragma once

#include "cli/output.hpp"
#include "planner/validation/score.hpp"

#include <optional>
#include <string>

namespace sextant::cli {

/// Scores per source and over all. Sample (text):
///
///     source         rows  skipped  time n  median %  p90 %  bias %  memory n  median %  p90 %  bias %  oom n  right %
///     -------------  ----  -------  ------  --------  -----  ------  --------  --------  -----  ------  -----  -------
///     hf-ultrascale  1127       16     322       7.1   24.0    -1.2      1111       5.5   27.1    -2.6   1111    100.0
///
/// Kernels and collectives have no columns of memory and fits, and scores by kind and size besides.
std::string validation_report(Validation const& validation, Format format);

/// The same as JSON, format `train-validation`, `kernels-validation` or `collectives-validation`.
std::string validation_json(Validation const& validation);

/// What the markdown report says before its tables: what a row is, its columns, how it was predicted.
std::string validation_introduction(ValidationKind kind);

/// Share of the rows scored on time that were measured inside the 80 % interval; nothing without rows.
std::optional<double> inside_interval_pct(SourceScore const& score);

/// That these are not all rows. @pre `interrupted`
std::string interruption_note(Validation const& validation);

/// What the 80 % intervals come from: a paragraph without line breaks.
std::string interval_note(ValidationKind kind);

}  // namespace sextant::cli
