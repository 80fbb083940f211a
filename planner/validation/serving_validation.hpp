#pragma once

#include "core/csv.hpp"
#include "core/spec/cluster_spec.hpp"
#include "core/spec/engine_profile.hpp"
#include "planner/validation/score.hpp"
#include "planner/validation/serving_case.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sextant {

/// Predictions for tables of serving measurements, by `cost_models/serving`.
class ServingPredictor {
public:
    /// `profile`: an engine by name or file that replaces the one of every row; empty: by the row's engine.
    /// `machine`: that of rows which name its accelerator, a cluster by name or file; empty: the usual ones.
    explicit ServingPredictor(std::string const& profile = "", std::string const& machine = "");

    /// In the order of the rows. @throws InputError when columns are missing.
    std::vector<ScoredRow> predict(CsvTable const& table);

private:
    ScoredRow predict(RowCells const& cells);
    /// Of a row that did run: `c` takes what its memory holds at the most where the defaults leave no place.
    ServedPrediction predict(ServingRow const& row, ServedCase& c);
    std::shared_ptr<IterationModel const> model_of(ServedCase const& c);

    std::optional<EngineProfile> profile_;
    std::optional<ClusterSpec> machine_;
    std::map<std::string, std::shared_ptr<IterationModel const>> models_;
};

}  // namespace sextant
