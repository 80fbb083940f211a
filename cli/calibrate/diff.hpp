#pragma once

#include "cli/calibrate/calibration_file.hpp"
#include "cli/output.hpp"

#include <string>
#include <vector>

namespace sextant::cli {

/// What `calibrate diff` was asked to do.
struct DiffRequest {
    OutputOptions output{};
    std::string first;
    std::string second;
    std::string on;  ///< the accelerator or cluster that times are compared on; empty: whose calibration it is
};

/// A constant that differs, with its value in either file (empty where the file has no such fit).
struct ConstantDifference {
    std::string part;
    std::string key;
    std::string first;
    std::string second;
    std::optional<double> first_spread{};
    std::optional<double> second_spread{};
    std::optional<double> ratio{};     ///< second / first
    std::optional<double> distance{};  ///< of the logarithms, in joint standard deviations
};

/// Predicted times of one kind over a grid of usual shapes or sizes: second / first.
struct TimeRatio {
    std::string part;
    std::size_t shapes = 0;
    double median = 1;
    double least = 1;
    std::string least_at;
    double largest = 1;
    std::string largest_at;
};

struct CalibrationDiff {
    std::string format;
    std::string first;
    std::string second;
    std::size_t constants = 0;  ///< in both
    std::vector<ConstantDifference> differences{};
    std::vector<TimeRatio> times{};
    std::string times_on{};  ///< machine; empty: no times, `note` says why
    std::string note{};
    std::vector<std::string> notes{};  ///< on the times
};

/// @throws InputError when the files are of different formats, or `request.on` is not known.
CalibrationDiff diff_of(DiffRequest const& request);

std::string calibration_diff(CalibrationDiff const& diff, Format format);
std::string calibration_diff_json(CalibrationDiff const& diff);

int diff_calibrations(DiffRequest const& request, CommandContext& context);

}  // namespace sextant::cli
