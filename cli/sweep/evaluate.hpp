#pragma once

#include "cli/sweep/question.hpp"

#include <atomic>

namespace sextant::cli {

/// Runs the command at one point, in this process, and takes the columns out of its report. Never throws for what the
/// command says: a refusal is a failed row with its sentence.
SweepRow evaluate_point(SweepQuestion const& question, std::int64_t point);

/// The JSON report at one point; when there is none, the row has the reason and `report` is empty.
struct PointReport {
    int exit_code = 0;
    std::string report;
    std::string errors;
};
/// @param stop as in CommandContext: of a host, or none.
PointReport run_point(SweepQuestion const& question, std::int64_t point, std::atomic<bool> const* stop = nullptr);

/// One line for a cell: line ends and other control characters become spaces, beyond 500 bytes it is cut.
std::string one_line(std::string_view text);

}  // namespace sextant::cli
