#pragma once

#include "planner/rl/output_lengths.hpp"
#include "planner/rl/rollout_replica.hpp"

#include <cstdint>
#include <vector>

namespace sextant {

/// Engines that share the responses of a step.
struct RolloutFleet {
    IterationModel const& model;
    std::int64_t replicas = 1;
    RolloutPrompt prompt;
    RolloutLimits limits;
    double slowdown = 1;  ///< of every iteration, over the model's
};

/// One batch from empty engines to the last response.
struct BatchGeneration {
    Seconds time;       ///< of the slowest replica
    Seconds mean_busy;  ///< of a replica
    Seconds even;       ///< the same if every response had the mean length
    Seconds prefill;    ///< iterations of a replica that carried prompts, the mean
    double tokens = 0;  ///< generated
    double responses = 0;
    double mean_batch = 0;  ///< sequences that a replica decodes, over the time of the batch
    double most_batch = 0;  ///< the most that one ran at once
    std::int64_t longest = 0;
    /// What unequal lengths cost: engines that run ever emptier until the last response ends.
    [[nodiscard]] Seconds straggling() const { return time > even ? time - even : Seconds{}; }
};

/// Responses of these lengths, dealt out to the replicas in turn; each begins them in this order as it has room.
/// @throws InputError when the longest does not fit the cache.
BatchGeneration generate_batch(RolloutFleet const& fleet, std::vector<std::int64_t> const& lengths);

/// Time in which a fleet that never runs out of prompts completes `lengths.size()` responses of these lengths: the
/// limit of generation that no asynchrony beats. By as many rounds of the lengths as it takes to forget the beginning.
Seconds saturated_generation(RolloutFleet const& fleet, std::vector<std::int64_t> const& lengths);

}  // namespace sextant
