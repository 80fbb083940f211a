#pragma once

#include "cost_models/serving/iteration_model.hpp"
#include "cost_models/serving/serving_memory.hpp"

namespace sextant {

/// Requests that are all alike.
struct RequestShape {
    static constexpr double longest = 1e8;  ///< tokens: more of either is taken for a mistake
    double prompt = 0;                      ///< tokens
    double output = 0;                      ///< tokens, the first one included
    double cached = 0;                      ///< of the prompt, found in the prefix cache
    double shared = 0;                      ///< of these, of a prefix that all requests have, which is there once
    /// An answer has tokens after the first, and so a time from token to token.
    [[nodiscard]] bool has_later_tokens() const { return output > 1; }
};

/// What a request waits for before its first token; the parts add up to `total()`.
struct FirstTokenTime {
    Seconds boundary;  ///< client, server and hand-over
    Seconds tokenise;
    Seconds queue;    ///< for a place in the batch, and for the iteration that runs
    Seconds host;     ///< scheduler and dispatch, in the iterations of its prefill
    Seconds prefill;  ///< device time of these iterations, with the decodes that share them
    [[nodiscard]] Seconds total() const { return boundary + tokenise + queue + host + prefill; }
};

/// Share of the capacity above which the time to the first token is a guide at most: it grows as 1 / (1 - use), so that
/// a capacity 2 % off makes it a fourth longer. Where the cache is what limits the batch requests are preempted and
/// computed again, and stages of a pipeline wait for each other in ways that no formula has (docs/serving.md).
inline constexpr double trusted_use = 0.9;
inline constexpr double least_trusted_use = 0.85;

/// A replica in the steady state, or one batch from beginning to end.
struct ServingEstimate {
    FirstTokenTime ttft;
    Seconds tpot;     ///< mean time from token to token; of answers without later tokens that of a step, no figure
    Seconds latency;  ///< of a request, to its last token
    double output_tokens_per_s = 0;
    double requests_per_s = 0;
    double decodes = 0;            ///< sequences that decode, of the replica
    double prompts = 0;            ///< requests whose prompt is in progress
    double cache_share = 0;        ///< of the cache's tokens that are in use, those of prompts in progress whole
    double use = 0;                ///< open loop: of the capacity
    double trusted = trusted_use;  ///< `use` up to which the queue is
    double busy = 1;               ///< share of the time in which an accelerator has a part of an iteration
    bool saturated = false;   ///< open loop: more arrives than can be served; the figures are those of the full replica
    IterationTime iteration;  ///< an iteration that only decodes, at this batch
    IterationTime chunk;      ///< one that carries a chunk of a prompt besides, or prompts alone where these go first
    /// Open loop: served, but so near to the capacity that the queue is uncertain.
    [[nodiscard]] bool near_capacity() const { return !saturated && use > trusted; }
};

/// One batch of `sequences` requests that begin together: their prompts in iterations of at most `max_batched_tokens`,
/// then output - 1 iterations of decode with a growing cache. Of several groups the one with most sequences counts.
/// Tokens a second over the whole time.
ServingEstimate static_batch(IterationModel const& model, RequestShape const& request, double sequences);

/// `concurrency` requests at all times, a new one for each that ends. With D sequences decoding, q = D / (output - 1)
/// of them end in each iteration (the last of a prompt makes the first token); a prompt takes n = ceil(prompt / room)
/// iterations, room = max_batched_tokens - D, so a share f = min(1, q n) of the iterations (1 - e^-q for n = 1: any
/// that end) carry q prompt / f prompt tokens, and
///
///     tpot = (1 - f) T(D, 0) + f T(D, q prompt / f),   concurrency = D (1 + (n + 1/2) / (output - 1)).
///
/// Where prompts go first: T(D, 0) + f T(0, q prompt / f). D and the prompts in progress are at most `max_batch` and
/// what the cache holds; what is above waits.
/// @throws InputError when not one request fits the cache.
ServingEstimate closed_loop(IterationModel const& model, RequestShape const& request, double concurrency);

/// Requests that arrive at random, `rate` a second: how many hold a place in the batch is a birth-death chain
/// (`batch_occupancy`), whose mean gives tpot by Little's law; before their first token they wait for a place and for
/// the iterations of others (`prompt_wait`).
/// @throws InputError when not one request fits the cache.
ServingEstimate open_loop(IterationModel const& model, RequestShape const& request, double rate);
/// The same with the capacity known, for many rates.
/// @param capacity `serving_capacity` of these
ServingEstimate open_loop(IterationModel const& model, RequestShape const& request, double rate, double capacity);

/// Requests a second that a replica can serve of these: the rate of its largest batch.
double serving_capacity(IterationModel const& model, RequestShape const& request);

}  // namespace sextant
