#pragma once

#include "planner/serving/serve_plan.hpp"

#include <cstdint>

namespace sextant {

/// US dollars an hour of so many replicas, or accelerators where a machine has no price.
double cost_of(ServeQuestion const& question, ServeCandidate const& candidate, std::int64_t replicas);

/// Whether the user wants an end.
bool is_stopped(ServeQuestion const& question);

/// Simulates a candidate with its likely number of replicas. Where these keep the objectives, with fewer; where not,
/// with eight times as many or what costs less than `most`, and if those keep them in between, to a few per cent.
void settle(ServeQuestion const& question, ServeCandidate& candidate, double most);

}  // namespace sextant
