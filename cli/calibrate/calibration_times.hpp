#pragma once

#include "cli/calibrate/calibration_file.hpp"
#include "core/units.hpp"

#include <string>
#include <vector>

namespace sextant::cli {

/// A predicted time at a usual shape or size.
struct GridTime {
    std::string part;   ///< "gemm bf16", "all_reduce in one domain", "products, hopper bf16"
    std::string shape;  ///< in words
    Seconds time;
};

/// The machine whose times a file can be asked for: `on`, else the first device or cluster that the file names; empty
/// when it names none that is known.
std::string machine_of(CalibrationFile const& file, std::string const& on);

/// What constants of `file` were fitted to, where `machine` is not that: "h100-sxm", "hopper devices". Empty where it
/// is, or where they hold for any. @throws InputError when the machine is not known.
std::string fitted_to_others(CalibrationFile const& file, std::string const& machine);

/// Times by the constants of `file` on `machine`, over a grid of shapes and sizes that is the same for every file.
std::vector<GridTime> grid_times(CalibrationFile const& file, std::string const& machine);

}  // namespace sextant::cli
