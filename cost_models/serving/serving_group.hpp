#pragma once

#include "cost_models/serving/prompt_mix.hpp"

namespace sextant {

/// Groups of a replica: with attention data parallelism and pipelining each has its own sequences in flight.
double groups_of(IterationModel const& model);

/// As many prompts begin as answers end.
/// @param requests of the group that hold a place
PromptMix steady_mix(IterationModel const& model, RequestShape const& request, double decodes, double requests);

/// What a prompt of a loop waits for those of others, where an iteration takes no more. By iterations, as these go on
/// with each: a loop of one request less, by mean values, has u R of them in their prefill, R = 1 + (1 - 1 / c) (u R -
/// u / 2) in units of one, u the share of what iterations take. Those whose answers ended in the iterations without
/// prompts of a `boundary` come together; where prompts go first, those of one step.
/// @param requests c, that have a place
/// Source: Reiser, Lavenberg, J. ACM 27, 1980, in Schweitzer's approximation.
Seconds prompt_wait(PromptMix const& mix, RequestShape const& request, double decodes, double requests,
                    Seconds boundary);

/// Steps of the others' decodes that pass while a prompt waits and is processed.
double prefill_steps(PromptMix const& mix, Seconds wait);

/// Sequences of `requests` that decode in a step of theirs, where each is `outside` for so many between its answers.
double decodes_of(RequestShape const& request, double requests, double outside);

/// Requests of a group that hold a place at a time: a batch of all ages holds the blocks of the mean.
/// @throws InputError when not one request fits the cache.
double most_requests(IterationModel const& model, RequestShape const& request);

/// A group in which a new request begins for each that ends.
struct ServingGroup {
    double decodes = 0;  ///< sequences that decode in a step
    PromptMix mix;
    double rate = 0;  ///< requests a second
};

/// `requests` hold a place, of which as many decode as leave room among the tokens of an iteration for the prompts that
/// follow them. Answers of one token are never in the batch: as many prompts at a time as an iteration takes.
ServingGroup group_of(IterationModel const& model, RequestShape const& request, double requests);
/// As many as the places and the cache take.
ServingGroup full_group(IterationModel const& model, RequestShape const& request);

/// All but what a request waits for before its own iterations.
ServingEstimate estimate_at(IterationModel const& model, RequestShape const& request, double decodes,
                            PromptMix const& mix);

/// Prompts in progress, latency, tokens a second and share of the cache, from the rest.
void finish(ServingEstimate& out, IterationModel const& model, RequestShape const& request);
/// The same of a batch that begins together: its sequences are counted once.
void finish_batch(ServingEstimate& out, IterationModel const& model, RequestShape const& request);

/// Share of its time that a stage works with so many requests: with fewer than stages, one at a time.
double working_share(IterationModel const& model, double requests);

}  // namespace sextant
