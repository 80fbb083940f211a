#pragma once

#include "core/spec/framework_profile.hpp"
#include "core/spec/kernel_calibration.hpp"
#include "core/spec/network_calibration.hpp"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace sextant::cli {

/// A fitted file of one of the three formats.
using CalibrationFile = std::variant<KernelCalibration, NetworkCalibration, FrameworkProfile>;

/// By the file's `format`. @throws InputError for another format, or what is wrong with the file.
CalibrationFile read_calibration(std::string const& path);

/// The one that ships of the same format as `like` under this name: a framework's, a kernel calibration's, a network
/// calibration's own or that of a cluster whose networks `like` is of. @throws InputError with the nearest names.
CalibrationFile shipped_calibration(std::string const& name, CalibrationFile const& like);

/// A warning where constants of kernels were fitted with another data sheet than that of `device`, by name or file
/// (empty: that of the catalogue); empty where they were not, or nobody knows.
std::string sheet_warning(CalibrationFile const& file, std::string const& device);

/// "kernel-calibration", ...
std::string format_of(CalibrationFile const& file);
std::string name_in(CalibrationFile const& file);
std::string title_in(CalibrationFile const& file);

/// One constant of a fitted file.
struct CalibrationConstant {
    std::string part;  ///< "gemm bf16", "scale_up", "hopper bf16"
    std::string key;
    double value = 0;                ///< in base units
    std::string text;                ///< for reading
    std::optional<double> spread{};  ///< one standard deviation of its logarithm, where a fit identified it
};

/// Every constant, in the order of the file.
std::vector<CalibrationConstant> constants_of(CalibrationFile const& file);

/// Errors of rows that were held out, as the file itself says them.
struct HeldOutLine {
    std::string part;
    std::int64_t fitted_rows = 0;  ///< 0: not said
    std::int64_t rows = 0;
    double median_pct = 0;
    double p95_pct = 0;
    double bias_pct = 0;
    double low = 1;  ///< 80 % interval as factors on the time, among the rows
    double high = 1;
    std::optional<TimeInterval> beyond{};  ///< the same of shapes and times beyond the rows, where the file tells them
};
std::vector<HeldOutLine> held_out_of(CalibrationFile const& file);

}  // namespace sextant::cli
