#pragma once

#include "planner/serving/serve_plan.hpp"

#include <cstdint>

namespace sextant {

/// US dollars an hour of so many replicas, or accelerators where a machine has no price.
double cost_of(ServeQuestion const& question, ServeCandidate const& candidate, std::int64_t replicas);

/// Whether the user wants an end.
bool is_stopped(ServeQuestion const& question);

/// Simulates a candidate: from the likely number of replicas more until the objectives are kept, or until it costs more
/// than `most`; where the first keeps them, fewer, to a few per cent.
void settle(ServeQuestion const& question, ServeCandidate& candidate, double most);

}  // namespace sextant
