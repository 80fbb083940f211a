#pragma once

#include "cli/output.hpp"
#include "planner/validation/train_validation.hpp"

#include <string>

namespace sextant::cli {

/// Scores per source and over all. Sample (text):
///
///     source         rows  skipped  time n  median %  p90 %  bias %  memory n  median %  p90 %  bias %  oom n  right %
///     -------------  ----  -------  ------  --------  -----  ------  --------  --------  -----  ------  -----  -------
///     hf-ultrascale  1127       16     322       7.1   24.0    -1.2      1111       5.5   27.1    -2.6   1111    100.0
std::string train_validation_report(TrainValidation const& validation, Format format);

/// The same as JSON. Keys: docs/formats.md and docs/validation.md.
std::string train_validation_json(TrainValidation const& validation);

}  // namespace sextant::cli
