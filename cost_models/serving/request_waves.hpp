#pragma once

#include "cost_models/serving/steady_state.hpp"

namespace sextant {

/// `concurrency` requests of the very same length at all times, as benchmarks put them.
///
/// The first of them begin together, and where prompts go before decodes so do all that follow: in n = ceil(concurrency
/// prompt / max_batched_tokens) iterations, P seconds in all, every prompt is processed, the i-th part of them after
/// P i / n, in the mean after (n + 1) / (2 n) P. Where prompts share iterations with decodes, requests end one chunk
/// after the other, and the next prompts find an iteration of their own, C. With w the engine's `wave_share`,
///
///     first = w (n + 1) / (2 n) P + (1 - w) (C + T / 2),   cycle = P + (output - 1 - (n - 1) / 2) T,
///     ttft = boundary + first,   tpot = (cycle - first) / (output - 1),
///
/// T the mean time of an iteration that only decodes. Against the steady state of `closed_loop` the cycle is as long,
/// but more of it stands before the first token.
/// Where the batch does not hold all, those that it holds go in turns, and the rest waits for them.
/// @throws InputError when not one request fits the cache.
ServingEstimate request_waves(IterationModel const& model, RequestShape const& request, double concurrency);

}  // namespace sextant
