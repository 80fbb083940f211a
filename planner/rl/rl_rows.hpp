#pragma once

#include "core/csv.hpp"
#include "planner/rl/rl_step.hpp"
#include "planner/validation/error_statistics.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// What is said of one published step of reinforcement learning.
struct RlRow {
    std::string source, model, mode, device;
    std::int64_t accelerators = 0;
    std::string skip_reason;  ///< not empty: nothing is predicted
    std::optional<RlStep> predicted;
    Seconds measured;
    std::vector<std::string> assumptions;  ///< what the row does not state
    [[nodiscard]] bool scored() const { return predicted.has_value() && measured > Seconds{}; }
    /// (predicted - measured) / measured of the step's time.
    [[nodiscard]] double error() const { return predicted->step / measured - 1; }
};

/// Columns that a table has to have.
std::vector<std::string_view> rl_columns();

/// Predicts every row; a row that cannot be expressed says why.
///
/// Prompts are not stated: their length is what the row's tokens a second leave over the responses,
/// rate GPUs time / responses - mean. Lengths of responses are lognormal with `variation` around the row's mean, cut at
/// the row's maximum less the prompt, and vary at least so much that the longest of a step reaches it. One step off is
/// `asynchronous` with a staleness of one, half of the accelerators for the engines where the row names no division.
/// Nothing is fitted to these rows.
/// @throws InputError when columns are missing, or where no row can be read.
std::vector<RlRow> predict_rl_rows(CsvTable const& table, double variation, RlOverheads const& overheads);

/// A model of one source in both modes: responses a second and accelerator, asynchronous over colocated.
struct RlSpeedUp {
    std::string source, model;
    double measured = 0;
    double predicted = 0;
};
/// Of the responses, which are as many in both.
std::vector<RlSpeedUp> rl_speed_ups(std::vector<RlRow> const& rows);

/// Of predicted over measured.
ErrorStatistics speed_up_errors(std::vector<RlSpeedUp> const& pairs);

/// Of the rows that are scored.
ErrorStatistics rl_errors(std::vector<RlRow> const& rows);
/// These rows by the mode that they name.
std::map<std::string, std::vector<RlRow>> scored_by_mode(std::vector<RlRow> const& rows);

}  // namespace sextant
