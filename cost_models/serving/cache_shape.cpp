#include "cost_models/serving/cache_shape.hpp"
#include "core/spec/parameters.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace sextant {

double CacheShape::kept(double tokens) const {
    double const state = static_cast<double>(state_blocks * block_tokens) / static_cast<double>(groups());
    if (window_groups == 0) return tokens + state;
    double const window = std::min(tokens, static_cast<double>(window_blocks * block_tokens));
    return state + (static_cast<double>(whole_groups) * tokens + static_cast<double>(window_groups) * window) /
                       static_cast<double>(groups());
}

double CacheShape::longest(double kept_tokens) const {
    kept_tokens -= static_cast<double>(state_blocks * block_tokens) / static_cast<double>(groups());
    double const window = static_cast<double>(window_blocks * block_tokens);
    if (window_groups == 0 || kept_tokens <= window) return kept_tokens;
    if (whole_groups == 0) return std::numeric_limits<double>::infinity();
    double const beyond = kept_tokens * static_cast<double>(groups()) - static_cast<double>(window_groups) * window;
    return beyond / static_cast<double>(whole_groups);
}

CacheShape cache_shape(ModelSpec const& model, EngineProfile const& engine, ServingPlan const& plan) {
    CacheShape shape{.block_tokens = plan.block_tokens};
    std::int64_t const window = model.attention.window;
    if (window == 0 || engine.window_cache == WindowCache::whole) return shape;
    // What a rank keeps of a token, in bytes; a whole number, as heads are.
    std::int64_t whole = 0;
    std::int64_t sliding = 0;
    for (LayerKind const kind : model.layers)
        if (kind.mixer == Mixer::attention)
            (kind.sliding ? sliding : whole) +=
                std::llround(cached_bytes(model.attention_of(kind), bytes_per_value(plan.cache), plan.tp));
    if (sliding == 0) return shape;
    std::int64_t const size = std::gcd(whole, sliding);
    shape.whole_groups = whole / size;
    shape.window_groups = sliding / size;
    shape.window_blocks = (window + plan.block_tokens - 1) / plan.block_tokens + 1;  // it rarely begins with a block
    return shape;
}

}  // namespace sextant
