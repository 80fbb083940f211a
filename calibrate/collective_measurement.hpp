#pragma once

#include "cost_models/collective_row.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sextant {

/// Whether a row counts in errors and intervals.
enum class RowRole : std::uint8_t {
    accuracy,
    robustness,  ///< too noisy or too far from what the library does to judge a model by
};

/// One timed size of one run of a collective benchmark, and the machine it ran on.
struct CollectiveMeasurement {
    std::string run;
    std::string source;
    std::string library_version;
    std::string device{};  ///< as the row names it
    std::shared_ptr<CollectiveMachine const> machine;
    CollectiveKind kind = CollectiveKind::all_reduce;
    Bytes bytes{};
    Seconds measured{};
    std::optional<Seconds> slower{};  ///< of the other way, in place or out of place
    Seconds target{};                 ///< what is fitted: see `prepare_rows`
    double weight = 1;
    RowRole role = RowRole::accuracy;
    [[nodiscard]] GroupPlacement const& group() const { return machine->group; }
    [[nodiscard]] bool between_domains() const { return machine->group.domains > 1; }
};

/// Rows as measurements. Rows without a time or a known machine are left out and counted by reason.
struct CollectiveMeasurements {
    std::vector<CollectiveMeasurement> rows;
    std::vector<std::pair<std::string, std::size_t>> skipped;  ///< reason and count
};

/// From a table with the columns of `collective_columns()`. `cluster`: the machine of every row; null: by its names.
/// Rows without a run are of one that has the table's name. Rows without a device are of the
/// cluster's. @throws InputError when the collective, the size or, without a cluster, the device has no column; of
/// ranks, nodes and ranks of a node a row needs two.
CollectiveMeasurements collective_measurements(CsvTable const& table, ClusterSpec const* cluster);
/// The same from rows that were read otherwise.
CollectiveMeasurements collective_measurements(std::span<CollectiveRow const> rows, ClusterSpec const* cluster);

/// Takes out rows that are too fast to be of their run, and says how many: under half the time of the two next smaller
/// sizes, with less bandwidth at the two next larger ones. `prepare_rows` would lower all smaller sizes to such a slip.
/// A library that is slow at the smaller sizes alone is not meant: its larger ones have more bandwidth. Of the
/// 109 runs that the shipped calibrations are fitted to, none has such a row.
std::size_t drop_too_fast(std::vector<CollectiveMeasurement>& rows);

/// Sets target, weight and role of rows.
/// - Target: the least time of this and all larger sizes of the run. A size that takes longer than a larger one is a
///   slip of the library's choice, and no curve that grows can follow it.
/// - Weight: of runs with the same devices, ranks and collective, a row that takes more than 1.3 times as long as the
///   fastest one of this size says more of its process (framework, old library, host) than of the network: 0.05 up to
///   64 MiB, also at sizes that no other run has, where most of the run is slow. Devices that differ in memory alone
///   count as the same. Three profiler records per size (the table that Vidur publishes): 0.002. Jobs of 128 domains
///   and more between 64 KiB and 256 MiB, which no two runs repeat: 0.05. The first size of a run carries its warm-up:
///   a quarter.
/// - Robustness rows: Vidur's, those large jobs, and eight L40S, whose traffic goes through host memory.
void prepare_rows(std::vector<CollectiveMeasurement>& rows);

}  // namespace sextant
