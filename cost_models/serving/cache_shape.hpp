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

    [[nodiscard]] std::int64_t groups() const { return whole_groups + window_groups; }
    /// Of a sequence of so many tokens.
    [[nodiscard]] std::int64_t blocks(std::int64_t tokens) const {
        std::int64_t const each = (tokens + block_tokens - 1) / block_tokens;
        return (tokens > 0 ? state_blocks : 0) + whole_groups * each +
               window_groups * (each < window_blocks ? each : window_blocks);
    }
    /// Tokens kept by all layers that take as much memory as a sequence of so many: fewer beyond the window.
    [[nodiscard]] double kept(double tokens) const;
    /// The longest sequence that takes no more than so many tokens kept by all layers; infinite where every layer has a
    /// window that fits.
    [[nodiscard]] double longest(double kept_tokens) const;
};

/// Of a model in an engine: one group where that keeps all tokens of all layers, or where no layer has a window.
/// Source: the cache managers of vLLM (groups of layers that share blocks), SGLang and TensorRT-LLM (a pool for each
/// window) free what a window has left behind.
CacheShape cache_shape(ModelSpec const& model, EngineProfile const& engine, ServingPlan const& plan);

}  // namespace sextant
