#pragma once

#include "cost_models/serving/steady_state.hpp"
#include "planner/validation/server_setup.hpp"

#include <cmath>
#include <cstdint>
#include <optional>

namespace sextant {

/// How a benchmark, or a user, keeps requests in flight.
struct LoopLoad {
    double concurrency = 1;
    RequestShape request;     ///< mean lengths
    double least_length = 1;  ///< lengths are drawn evenly from this share of the longest to the longest; 1: all alike
    int rounds = 10;          ///< requests over concurrency
    std::int64_t least_requests = 0;
    /// Requests of the whole run, where it is known: it ends when the last of them is done, with fewer in flight.
    std::optional<double> sent{};
    double most_running = INFINITY;  ///< requests that the engine has in progress at a time
    double warmup_share = 0;         ///< of the requests, the first, that are not counted
    PromptCut cut = PromptCut::chunks;
};

/// Means over the requests that are counted of a loop that starts `concurrency` of them at once and another whenever
/// one is done, by simulation with the prompt order of the engine (`EngineProfile::prompts`). The prompts of the first
/// round come together, later ones as requests end: those of equal length stay in step where prompts go before decodes.
/// Requests and tokens a second are concurrency over latency, as of a loop without an end; where `sent` says how many
/// there are, what a benchmark prints: all of them over the time from the first's start to the last's end. Of a long
/// run `rounds` or 10,000 requests are followed, and the rest goes on at the rate without an end.
/// @throws InputError when not one request fits the cache.
ServingEstimate served_loop(IterationModel const& model, LoopLoad const& load);

}  // namespace sextant
