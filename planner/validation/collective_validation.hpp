#pragma once

#include "core/spec/network_calibration.hpp"
#include "cost_models/collective_row.hpp"
#include "planner/validation/score.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sextant {

/// Predictions for tables of nccl-tests runs, by `cost_models/collective_time.hpp`.
class CollectivePredictor {
public:
    /// `profile`: a cluster by name or file that replaces the one of every row, or a network calibration's file, which
    /// goes before the shipped ones on the clusters and classes that it names, and says the cluster of rows without
    /// a network between their nodes where it names one; empty: by the names in the row.
    /// `calibration`: such a file beside a cluster in `profile`.
    explicit CollectivePredictor(std::string const& profile = "", std::string const& calibration = "");

    /// In the order of the rows. @throws InputError when columns are missing.
    std::vector<ScoredRow> predict(CsvTable const& table);

private:
    ScoredRow predict(RowCells const& cells);
    std::shared_ptr<CollectiveMachine const> machine_of(CollectiveMachineRow const& row);

    ClusterSpec const* cluster_of(CollectiveMachineRow const& row) const;

    std::optional<ClusterSpec> profile_;
    ClusterSpec const* calibrated_ = nullptr;  ///< of rows that do not say their network, where `profile` is of one
    std::optional<NetworkCalibration> calibration_;
    std::map<CollectiveMachineRow, std::shared_ptr<CollectiveMachine const>> machines_;
};

}  // namespace sextant
