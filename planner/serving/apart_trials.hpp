#pragma once

#include "planner/serving/serve_plan.hpp"

#include <cstdint>

namespace sextant {

/// Whether so many replicas are allowed and reach each other: of a cluster without a network between its domains one
/// domain has to hold all.
bool has_room_for(ServeQuestion const& question, ServeCandidate const& candidate, std::int64_t replicas,
                  std::int64_t for_prompts);

/// Whether a simulation was short of replicas that decode, of their places or cache, or took too long for a token.
bool lacks_decodes(ServeQuestion const& question, ServeCandidate const& candidate, ServeTrial const& trial);
/// Whether it was short of replicas for prompts: overloaded, too late with the first token, or nothing else explains
/// it.
bool lacks_prompts(ServeQuestion const& question, ServeCandidate const& candidate, ServeTrial const& trial);

/// `settle` of a candidate whose prompts have replicas of their own: from its likely numbers on there are more for
/// prompts while the time to the first token is missed, and more that decode while the time per token is, or while they
/// have no place for a request; where the objectives are kept there are fewer, first of those that decode.
/// @pre it has replicas for prompts
void settle_apart(ServeQuestion const& question, ServeCandidate& candidate, double most);

}  // namespace sextant
