#pragma once

#include "cli/sweep/sensitivity.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sextant::cli {

/// One thing that a sweep varies, in the order it was asked for.
struct SweepAxis {
    std::string name;                 ///< an option ("gpus") or a value of a profile ("inter_node_bandwidth")
    std::vector<std::string> values;  ///< as they are put to the command: "64", "h100-sxm", "x0.5", "25 GB/s"
};

/// One value of a report, as it stands in CSV and JSON.
struct SweepCell {
    enum class Kind : std::uint8_t { empty, number, text, flag };
    Kind kind = Kind::empty;
    std::string text;  ///< a number in as many digits as give it back, text without quotes, "true" or "false"

    bool operator==(SweepCell const&) const = default;
};

enum class PointStatus : std::uint8_t {
    done,
    answer_is_no,  ///< there is a report, and its answer is no: it does not fit, nothing was found (exit code 1)
    failed,        ///< no report: the reason says why
};
/// "ok", "no", "failed".
char const* name_of(PointStatus status);

/// What became of one point.
struct SweepRow {
    std::int64_t point = 0;  ///< its index in the grid, from 0; the last axis varies fastest
    PointStatus status = PointStatus::failed;
    std::vector<SweepCell> cells;  ///< one per column; all empty when it failed
    std::string reason;            ///< one line; empty when done
};

/// The result of a sweep, or of as much of it as there is. `settings(row.point)` are the values of the axes in a row.
struct SweepTable {
    std::string command;  ///< "estimate --model llama-3.1-70b": what was asked at every point
    std::vector<SweepAxis> axes;
    std::vector<std::vector<std::size_t>> groups;  ///< axes that advance together; as many as the grid has dimensions
    std::vector<std::string> columns;              ///< dotted paths into the report: "memory.peak_bytes"
    std::vector<std::string> prices;               ///< that columns of dollars stand on, a line each
    std::vector<SweepRow> rows;                    ///< ascending points, without those that were not reached
    std::int64_t points = 0;                       ///< of the whole grid
    bool interrupted = false;                      ///< by Ctrl-C, before all rows were there
    std::optional<Sensitivity> sensitivity{};

    /// The value of each axis at a point, in the order of `axes`.
    [[nodiscard]] std::vector<std::string> settings(std::int64_t point) const;
};

}  // namespace sextant::cli
