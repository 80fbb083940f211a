#pragma once

#include "cost_models/serving/cache_shape.hpp"
#include "cost_models/serving/serving_case.hpp"

namespace sextant {

/// Memory of one rank of a replica, of the pipeline stage that fills up first, and how many tokens its cache holds.
struct ServingMemory {
    Bytes capacity;
    Bytes usable;  ///< what the engine fills of it, by its share of memory (`usable_memory`)
    Bytes weights;
    Bytes activations;      ///< peak of an iteration of `max_batched_tokens`
    Bytes overhead;         ///< context, communication buffers, captured graphs
    Bytes state_pool;       ///< of the states of recurrent layers, where the engine keeps them apart from the cache
    Bytes cache;            ///< what is left for the key-value cache; negative when the rest does not fit
    Bytes cache_per_token;  ///< of one rank; key-value heads are replicated when tp exceeds them
    /// Of sequences whose tokens all layers keep, in one attention data-parallel group; whole blocks.
    double cache_tokens = 0;
    Bytes state;                    ///< of the recurrent layers of one sequence, on one rank
    std::int64_t state_places = 0;  ///< sequences of a group that the pool of states lets run; 0: there is none
    CacheShape shape;               ///< of a sequence: less when it is longer than the sliding window, more for states
    /// What is there before any request.
    [[nodiscard]] Bytes fixed() const { return weights + activations + overhead + state_pool; }
    /// Cache of one sequence of `tokens`.
    [[nodiscard]] Bytes cache_of(double tokens) const { return shape.kept(tokens) * cache_per_token; }
    /// Tokens of the cache that a prefix of `shared` tokens takes, of each group, where all sequences have it.
    [[nodiscard]] double prefix_tokens(double shared) const { return shape.kept(shared) - shape.own(shared, shared); }
    /// The longest sequence that fits.
    [[nodiscard]] double longest() const { return shape.longest(cache_tokens); }
    [[nodiscard]] bool fits() const { return cache_tokens >= 1; }
};

/// Weights: every parameter by its sharding, linear layers in the format of the plan, embeddings, norms and the output
/// matrix in two bytes. Activations: the hidden state, the widest layer's intermediate and the logits of the sampled
/// tokens. Source: docs/serving.md, against what vLLM reports for its own runs.
///
/// States of recurrent layers take blocks of the cache (vLLM), or with `WindowCache::pools` have a pool of their own
/// beside it, in the ratio 0.9 to 1, of which a running sequence claims three states. Source: SGLang 0.5.6,
/// `mamba_full_memory_ratio` of server_args.py, `handle_max_mamba_cache` and
/// MAMBA_CACHE_SIZE_MAX_RUNNING_REQUESTS_RATIO of model_executor/model_runner_kv_cache_mixin.py.
ServingMemory serving_memory(ServingCase const& what);

/// Sequences of `context` tokens that fit the cache of a replica (all its attention data-parallel groups), at most
/// `max_batch`.
/// @param shared first tokens of each that are those of all: once in the cache of each group
double largest_batch(ServingCase const& what, ServingMemory const& memory, double context, double shared = 0);

}  // namespace sextant
