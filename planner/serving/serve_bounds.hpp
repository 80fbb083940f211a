#pragma once

#include "cost_models/serving/steady_state.hpp"
#include "planner/serving/serve_plan.hpp"

namespace sextant {

/// A request with nothing beside it. @param capacity of such requests, where it is known
ServingEstimate alone_in(IterationModel const& model, RequestShape const& request);
ServingEstimate alone_in(IterationModel const& model, RequestShape const& request, double capacity);

/// Tokens of a prompt that decides alone: the fixed length, or one that more prompts exceed than may miss the
/// objectives, half as many again for what chance does (of a share below one third the shortest).
double decisive_prompt(ServeQuestion const& question);

/// Sets the rate bound of a candidate, its likely and its least replicas.
///
/// The bound is the largest rate at which requests of the mean lengths keep the objectives in the mean. Where even one
/// alone misses them, most may keep them nevertheless: there is no bound then, and the least replicas are as likely as
/// any.
///
/// @param alone of the mean request
void find_bounds(ServeQuestion const& question, IterationModel const& model, ServeCandidate& candidate, double capacity,
                 ServingEstimate const& alone);

}  // namespace sextant
