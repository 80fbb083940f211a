#pragma once

#include "core/csv.hpp"
#include "planner/validation/score.hpp"

#include <functional>
#include <string>
#include <vector>

namespace sextant {

/// Predicts every row of a table, in their order; one with a cell that cannot be read is skipped. @throws InputError
/// when the table is of another kind.
using TablePredictor = std::function<std::vector<ScoredRow>(CsvTable const&)>;

/// Predictor of one kind of table. `profile` replaces what is otherwise found by the names in each row; empty: nothing
/// is replaced. It is a framework (train), an accelerator (kernels), a cluster (collectives) or an engine (serving), by
/// name or file. `calibration`: of kernels and collectives, a file of fitted constants for the devices and clusters
/// that it names; empty: those that ship.
/// `machine`: of training steps, a cluster by name or file for the rows that name its accelerator.
/// @throws InputError for a profile that is not known or has a fault.
TablePredictor table_predictor(ValidationKind kind, std::string const& profile, std::string const& calibration = "",
                               std::string const& machine = "");

}  // namespace sextant
