#pragma once

#include "planner/rl/generation.hpp"

#include <cstdint>
#include <vector>

namespace sextant {

/// Generation and training side by side.
struct Asynchrony {
    std::int64_t staleness = 1;  ///< updates that a response may be behind when it is trained on, at most
    Seconds train;               ///< of a step: scores, updates, sending the weights
    Seconds pause;               ///< of the engines, for new weights: the last part of `train`
    Seconds rules{};             ///< of a step's responses by rules or a verifier, on machines of their own
    double penalty = 0;          ///< of a response's worth, per update that it is behind
    std::int64_t replicas = 8;   ///< followed; somewhat more where these have no whole number of groups
    std::int64_t group = 1;      ///< responses that are trained on together or not at all: those to one prompt
};

/// The steady state.
struct AsynchronousStep {
    Seconds step;
    double generating = 0;      ///< share of the time in which an engine computes
    double training = 0;        ///< share of the time in which the trainer does
    std::int64_t followed = 0;  ///< replicas
    /// Of a complete response for the last one of its group, the mean; none where a whole batch is awaited at once.
    Seconds group_wait{};
    std::vector<double> age;  ///< share of the responses by updates that they were behind when trained on, from 0 on
    [[nodiscard]] double mean_age() const;
    /// What staleness leaves of a response's worth, on average: the sum of age_i max(0, 1 - penalty i).
    [[nodiscard]] double worth(double penalty) const;
};

/// Engines and trainer with a bound on staleness, event by event.
///
/// With version v of the weights and N responses a step, a response may be begun while fewer than (v + k + 1) N were
/// begun in all. A step takes N complete responses, the oldest version first, and waits for every response of version
/// v - k that is not complete; so no response is ever more than k updates old, and k = 0 is the synchronous split.
/// Responses come in whole groups of G: a group is complete with its last response, is as old as its first one, and is
/// awaited as a whole. Groups are begun in order, as engines have room, and N is a multiple of G. So the groups that
/// are not younger than v - k are at most N / G, and the bound holds for each of their responses.
/// Responses under way when new weights arrive go on with the cache they have and count as of their first token.
/// Of more than `Asynchrony::replicas` only these are followed, with their share of the responses. It is a whole number
/// of groups: up to twice as many are followed for a share that is off by less than 1 %, and in any case as many as
/// have one group.
///
/// @pre lengths.size() is a multiple of `Asynchrony::group`.
///
/// Engines may hold back: a step is the best of those with this bound or a tighter one, and of that in which engines
/// and trainer wait for each other after every batch. The best is the shortest for the worth of its responses, and of
/// those within a thousandth the one with the youngest.
///
/// The step is never shorter than the training, nor than `saturated_generation` and the pause, nor than the rules take
/// for its responses: they are a stage beside the two, of which only the throughput counts.
/// Source of the bound on what is begun: AReaL, arXiv:2505.24298, eq. 3.
AsynchronousStep run_asynchronously(RolloutFleet const& fleet, std::vector<std::int64_t> const& lengths,
                                    Asynchrony const& how);

}  // namespace sextant
