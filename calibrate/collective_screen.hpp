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

/// Runs of one name in two files, of which both have times of one collective, group and size: they are two, and those
/// of the second file get its name behind theirs.
void part_runs(std::vector<CollectiveMeasurement>& of_file, std::vector<CollectiveMeasurement> const& before,
               std::string const& file);

/// A sweep that is left out since another run's has every row of it.
struct CopiedSweep {
    std::string run;
    std::string of;  ///< the run that has them too
    std::size_t rows = 0;
};

/// Drops sweeps (one run, collective and group) of at least four sizes whose sizes and times are all of one other run:
/// a log under another name is no second run. Those of the run whose name comes first stay.
std::vector<CopiedSweep> drop_copies(std::vector<CollectiveMeasurement>& rows);

/// Drops rows of a cluster that cannot be its own, and says how many for which reason: bus bandwidths above 1.5 times
/// the links', and, where a calibration names the cluster, times off by more than four times from what it says.
/// @throws InputError when that is most of the rows, or no large one reaches 1 % of the links: their unit is wrong, or
/// the cluster.
std::map<std::string, std::size_t> drop_impossible(std::vector<CollectiveMeasurement>& rows,
                                                   ClusterSpec const& cluster);

}  // namespace sextant
