#pragma once

#include "planner/validation/serving_case.hpp"
#include "planner/validation/serving_row.hpp"

namespace sextant {

/// tp, pp, ep, attention data parallelism and replicas of a case whose model, cluster and engine are known.
/// @throws RowSkip where the row does not say enough, or says what no machine has.
void apply_layout(ServingRow const& row, ServedCase& out);

}  // namespace sextant
