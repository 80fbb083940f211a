#include "cost_models/serving/cache_shape.hpp"

#include <algorithm>
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

CacheShape cache_shape(ModelSpec const& model, EngineProfile const& engine, std::int64_t block_tokens) {
    CacheShape shape{.block_tokens = block_tokens};
    std::int64_t const window = model.attention.window;
    if (window == 0 || engine.window_cache == WindowCache::whole) return shape;
    std::int64_t const sliding =
        std::count_if(model.layers.begin(), model.layers.end(), [](LayerKind kind) { return kind.sliding; });
    if (sliding == 0) return shape;
    std::int64_t const whole = model.layer_count() - sliding;
    std::int64_t const size = std::gcd(whole, sliding);
    shape.whole_groups = whole / size;
    shape.window_groups = sliding / size;
    shape.window_blocks = (window + block_tokens - 1) / block_tokens + 1;  // it rarely begins where a block does
    return shape;
}

}  // namespace sextant
