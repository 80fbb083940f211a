#pragma once

#include "cost_models/serving/steady_state.hpp"
#include "planner/validation/server_setup.hpp"

namespace sextant {

/// How a benchmark, or a user, keeps requests in flight.
struct LoopLoad {
    double concurrency = 1;
    RequestShape request;     ///< mean lengths
    double least_length = 1;  ///< lengths are drawn evenly from this share of the longest to the longest; 1: all alike
    int rounds = 10;          ///< requests over concurrency
    std::int64_t least_requests = 0;
    double warmup_share = 0;  ///< of the requests, the first, that are not counted
    PromptCut cut = PromptCut::chunks;
};

/// Means over the requests that are counted of a loop that starts `concurrency` of them at once and another whenever
/// one is done, by simulation with the prompt order of the engine (`EngineProfile::prompts`). The prompts of the first
/// round come together, later ones as requests end: those of equal length stay in step where prompts go before decodes.
/// @throws InputError when not one request fits the cache.
ServingEstimate served_loop(IterationModel const& model, LoopLoad const& load);

}  // namespace sextant
