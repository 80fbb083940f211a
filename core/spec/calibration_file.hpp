#pragma once

#include "core/spec/cluster_spec.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// The change of a cluster that names a file of fitted constants: "h100-sxm:calibration=mine.json".
inline constexpr std::string_view calibration_key = "calibration";

/// Gives the cluster the constants of files that `sextant calibrate fit` wrote, before those that ship: those of a
/// `network-calibration` its collectives, those of a `kernel-calibration` its accelerator's kernels. Of two files for
/// the same network the first goes.
/// @throws InputError: a file cannot be read, is of another format, or of other machines than this one; two are of
/// kernels.
void attach_calibrations(ClusterSpec& cluster, std::vector<std::string> const& files, std::string_view where);

}  // namespace sextant
