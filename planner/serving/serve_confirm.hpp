#pragma once

#include "planner/serving/serve_plan.hpp"

namespace sextant {

/// Whether there is something to confirm: a deployment that keeps the objectives in one simulation of drawn requests.
bool can_be_confirmed(ServeQuestion const& question, ServeCandidate const& candidate);

/// Simulates a deployment with the next two seeds as well. A simulation near capacity may be shorter than its queue
/// wanders, and keep what others miss by far. Where the three differ by so much that once more the factor between them
/// would miss an objective, a fourth has four times the requests. On a miss there are more replicas, of the side that
/// the simulation was short of, by 1, 1, 2, 4 ... of them (3 % where that is more), and all are simulated again. They
/// are not fewer again afterwards. Where that would cost `most` or more, or eight times did not do, the candidate has
/// missed the objectives.
///
/// An interrupt leaves it as it was.
void confirm(ServeQuestion const& question, ServeCandidate& candidate, double most);

}  // namespace sextant
