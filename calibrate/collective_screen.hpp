#pragma once

#include "calibrate/collective_measurement.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace sextant {

/// Drops rows that say exactly what another says (run, collective, ranks, size and times): a file that is given twice
/// is no new evidence. Returns how many.
std::size_t drop_repeats(std::vector<CollectiveMeasurement>& rows);

/// Drops rows of a cluster that cannot be its own, and says how many for which reason: bus bandwidths above 1.5 times
/// the links', and, where a calibration names the cluster, times off by more than four times from what it says.
/// @throws InputError when that is most of the rows, or no large one reaches 1 % of the links: their unit is wrong, or
/// the cluster.
std::map<std::string, std::size_t> drop_impossible(std::vector<CollectiveMeasurement>& rows,
                                                   ClusterSpec const& cluster);

}  // namespace sextant
