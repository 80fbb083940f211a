#pragma once

#include "planner/validation/serving_case.hpp"
#include "planner/validation/serving_row.hpp"

namespace sextant {

/// tp, pp, ep, attention data parallelism and replicas of a case whose model, cluster and engine are known.
/// @throws RowSkip where the row does not say enough, or says what no machine has.
void apply_layout(ServingRow const& row, ServedCase& out);

/// vLLM and SGLang cut the experts over all ranks of a server's dp, whose attention they copy; a column dp may as well
/// count servers. Where a model with experts does not fit the ranks of one, it is the former. Weights are in the plan.
void share_experts(ServedCase& out);

}  // namespace sextant
