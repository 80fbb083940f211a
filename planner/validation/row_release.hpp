#pragma once

#include "core/spec/release.hpp"
#include "planner/validation/training_row.hpp"

#include <optional>

namespace sextant {

/// The release that a row was measured with: the month of the round of a submission to MLPerf, otherwise what the row
/// says behind words such as "container" or "release"; nothing where it says none.
std::optional<Release> release_of(TrainingRow const& row);

}  // namespace sextant
