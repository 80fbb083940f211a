#pragma once

#include "core/spec/engine_profile.hpp"
#include "core/spec/model_spec.hpp"
#include "core/spec/serving_plan.hpp"

#include <cstdint>

namespace sextant {

/// How the paged cache of a sequence grows. Layers are taken together in groups of equally many bytes, each of layers
/// that see everything or of layers with a sliding window; a block of the cache holds `block_tokens` tokens of one
/// group. The first kind keep all blocks of a sequence, the second those that their window touches. The states of
/// recurrent layers take as many blocks whatever the length.
struct CacheShape {
    std::int64_t block_tokens = 16;
    std::int64_t whole_groups = 1;
    std::int64_t window_groups = 0;
    std::int64_t window_blocks = 0;  ///< that a window touches at most, in each of its groups
    std::int64_t state_blocks = 0;   ///< of a sequence, of any group, for the states of recurrent layers
    /// Groups that the memory of a token in all layers is worth, where that is not the groups that a token takes: more
    /// than the layers fill them (padding), or fewer (a pool for windows that is not asked for). 0: as many.
    std::int64_t memory_groups = 0;
    double window_share = 0;  ///< of a token's bytes, in layers whose window leaves it behind
    double apart_tokens = 0;  ///< that states in a pool of their own are worth, of a sequence; they take no blocks

    [[nodiscard]] std::int64_t groups() const {
        return memory_groups > 0 ? memory_groups : whole_groups + window_groups;
    }
    /// Of a sequence of so many tokens.
    [[nodiscard]] std::int64_t blocks(std::int64_t tokens) const {
        std::int64_t const each = (tokens + block_tokens - 1) / block_tokens;
        return (tokens > 0 ? state_blocks : 0) + whole_groups * each +
               window_groups * (each < window_blocks ? each : window_blocks);
    }
    /// Tokens kept by all layers that take as much memory as a sequence of so many: fewer beyond the window, more
    /// within it where groups are padded.
    [[nodiscard]] double kept(double tokens) const;
    /// The same of what is there to be copied: neither padding nor what a pool holds back.
    [[nodiscard]] double copied(double tokens) const;
    /// What of `kept` a sequence has to itself when its first `shared` tokens are those of others too: whole blocks of
    /// these are there once. Layers with a window keep that of each sequence; states at the end of a prefix are not
    /// kept at all, so that nothing is shared then.
    [[nodiscard]] double own(double tokens, double shared) const;
    /// The longest sequence that takes no more than so many tokens kept by all layers; infinite where every layer has a
    /// window that fits.
    [[nodiscard]] double longest(double kept_tokens) const;
};

/// Of a model in an engine (`WindowCache`): one group where that keeps all tokens of all layers, or where no layer has
/// a window.
///
/// `window`: groups of as many layers as the rarer kind has, the last of each kind padded, or of as many as the other
/// kind has where these are less than 1.5 times as many. Where layers of the two kinds take unequal bytes, their blocks
/// hold unequal numbers of tokens: here a layer is as many groups as it has times the common divisor of both.
///
/// `pools`: one pool of t tokens for layers that see everything and one of r t for those with a window, r = 0.8, so
/// that of the bytes w of a token in layers with a window r w are held back for each token that is kept, however long
/// the sequence. Left out: sequences shorter than the window over r, of which the second pool holds fewer (r t).
///
/// Source: vLLM 0.15, v1/core/kv_cache_utils.py, _get_kv_cache_groups_uniform_page_size; SGLang 0.5.6,
/// model_runner_kv_cache_mixin.py, set_num_tokens_hybrid_swa, and `is_hybrid_swa_model`. Llama 4's chunks are windows
/// in both (vLLM: VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE, the default since pull request 29627).
/// TensorRT-LLM 1.1 keeps everything unless `max_attention_window` is set (pyexecutor/resource_manager.py).
CacheShape cache_shape(ModelSpec const& model, EngineProfile const& engine, ServingPlan const& plan);

}  // namespace sextant
