#pragma once

#include "cost_models/serving/steady_state.hpp"

namespace sextant::cli {

/// Whether requests of a closed loop are all alike and so stay in step: answers of one or two tokens (classes, scores)
/// differ by no more, and prompts come together as answers end together, where the steady state has them begin at
/// random. Longer answers differ in length.
bool stays_in_step(RequestShape const& request);

/// `closed_loop` with the times to the first token and from token to token, and the rate, of a loop that is followed
/// iteration by iteration through some thousand requests after the first of them.
/// @param concurrency a loop of a fraction of a request is the steady state's
/// @throws InputError when not one request fits the cache.
ServingEstimate loop_in_step(IterationModel const& model, RequestShape const& request, double concurrency);

}  // namespace sextant::cli
