#pragma once

#include "cost_models/serving/iteration_model.hpp"
#include "planner/serving/serve_plan.hpp"

#include <cstdint>
#include <optional>

namespace sextant {

/// US dollars an hour of so many replicas, or accelerators where a machine has no price.
double cost_of(ServeQuestion const& question, ServeCandidate const& candidate, std::int64_t replicas);

/// Whether the user wants an end.
bool is_stopped(ServeQuestion const& question);

/// Of the replicas of a candidate.
struct CandidateModels {
    CandidateModels(ServeQuestion const& question, ServeCandidate const& candidate);
    IterationModel replicas;                  ///< those that decode, where prompts have others
    std::optional<IterationModel> prompts{};  ///< those
    /// Tokens of the longest request that has room.
    [[nodiscard]] double longest() const;
};

/// One simulation, with so many replicas, and so many for prompts where these have others.
ServeTrial simulate_candidate(ServeQuestion const& question, ServeCandidate& candidate, CandidateModels const& models,
                              std::int64_t replicas, std::int64_t for_prompts = 0);

/// Simulates a candidate with its likely number of replicas. Where these keep the objectives, with fewer; where not,
/// with eight times as many or what costs less than `most`, and if those keep them in between, to a few per cent.
void settle(ServeQuestion const& question, ServeCandidate& candidate, double most);

}  // namespace sextant
