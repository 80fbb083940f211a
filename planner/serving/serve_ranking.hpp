#pragma once

#include "planner/serving/serve_plan.hpp"

#include <cstddef>
#include <vector>

namespace sextant {

/// The candidates of an answer, as indices: the simulated ones first, the cheapest before the others, then by TPOT,
/// then the rest by their bounds; of each machine the first at least. Those among them that keep the objectives are
/// confirmed
/// (`confirm`), which may change the order, until all that are shown are.
std::vector<std::size_t> confirmed_ranking(ServeQuestion const& question, std::vector<ServeCandidate>& candidates);

}  // namespace sextant
