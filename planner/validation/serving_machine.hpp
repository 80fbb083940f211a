#pragma once

#include "core/spec/cluster_spec.hpp"
#include "core/spec/engine_profile.hpp"
#include "core/spec/serving_plan.hpp"
#include "planner/serving/usual_formats.hpp"
#include "planner/validation/serving_row.hpp"

#include <string>
#include <vector>

namespace sextant {

/// What a row of measurements ran on, in the words of our profiles; what had to be assumed is added to `assumptions`.
/// All throw RowSkip where no profile stands for what the row names, or where it names nothing.

EngineProfile measured_engine(ServingRow const& row, std::vector<std::string>& assumptions);

/// Whether any profile may stand for the row's engine, also where none is named: @throws RowSkip if not.
void check_engine(ServingRow const& row);

/// @param own the machine of rows that name its accelerator; null: the usual one of each row's device.
ClusterSpec measured_cluster(ServingRow const& row, ClusterSpec const* own, std::vector<std::string>& assumptions);

/// The format of the weights, one of `gemm_formats`, and how they are stored.
UsualWeights measured_weights(ServingRow const& row, AcceleratorProfile const& device, EngineProfile const& engine,
                              std::vector<std::string>& assumptions);

CacheFormat measured_cache(ServingRow const& row);

}  // namespace sextant
