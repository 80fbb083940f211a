#include "cost_models/serving/cache_shape.hpp"
#include "core/spec/parameters.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>

namespace sextant {
namespace {

/// Layers of one kind with attention, and what a rank keeps of a token in each of them, in bytes; a whole number, as
/// heads are.
struct CachedLayers {
    std::int64_t layers = 0;
    std::int64_t each = 0;
    [[nodiscard]] std::int64_t bytes() const { return layers * each; }
};

CachedLayers cached_layers(ModelSpec const& model, ServingPlan const& plan, bool sliding) {
    CachedLayers out;
    for (LayerKind const kind : model.layers)
        if (kind.mixer == Mixer::attention && kind.sliding == sliding) {
            ++out.layers;
            out.each = std::llround(cached_bytes(model.attention_of(kind), bytes_per_value(plan.cache), plan.tp));
        }
    return out;
}

/// Models whose windows have a pool in SGLang, by `model_type`.
bool has_window_pool(ModelSpec const& model) {
    constexpr std::array<std::string_view, 7> known{"gpt_oss", "gemma4", "gemma4_text", "mimo_v2_flash",
                                                    "step3p5", "llama4", "llama4_text"};
    return std::find(known.begin(), known.end(), model.architecture) != known.end();
}

std::int64_t rounded_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

void reduce(CacheShape& shape) {
    std::int64_t const common = std::gcd(std::gcd(shape.whole_groups, shape.window_groups), shape.memory_groups);
    shape.whole_groups /= common;
    shape.window_groups /= common;
    shape.memory_groups /= common;
}

void share_one_pool(CacheShape& shape, CachedLayers const& whole, CachedLayers const& sliding) {
    std::int64_t const least = std::min(whole.layers, sliding.layers);
    std::int64_t const most = std::max(whole.layers, sliding.layers);
    std::int64_t const size = 2 * most < 3 * least ? most : std::max<std::int64_t>(1, least);
    shape.whole_groups = rounded_up(whole.layers, size) * whole.each;
    shape.window_groups = rounded_up(sliding.layers, size) * sliding.each;
    shape.memory_groups = whole.bytes() + sliding.bytes();
    reduce(shape);
}

void take_apart(CacheShape& shape, CachedLayers const& whole, CachedLayers const& sliding) {
    // swa_full_tokens_ratio, 0.8 by default.
    shape.whole_groups = 5 * whole.bytes() + 4 * sliding.bytes();
    shape.memory_groups = 5 * (whole.bytes() + sliding.bytes());
    reduce(shape);
}

}  // namespace

double CacheShape::kept(double tokens) const {
    double const window = std::min(tokens, static_cast<double>(window_blocks * block_tokens));
    return (static_cast<double>(state_blocks * block_tokens) + static_cast<double>(whole_groups) * tokens +
            static_cast<double>(window_groups) * window) /
           static_cast<double>(groups());
}

double CacheShape::own(double tokens, double shared) const {
    if (state_blocks > 0) return kept(tokens);
    auto const block = static_cast<double>(block_tokens);
    double const once = std::floor(shared / block) * block;
    return kept(tokens) - once * static_cast<double>(whole_groups) / static_cast<double>(groups());
}

double CacheShape::copied(double tokens) const {
    double const window = std::min(tokens, static_cast<double>(window_blocks * block_tokens));
    return static_cast<double>(state_blocks * block_tokens) / static_cast<double>(groups()) + apart_tokens +
           (1 - window_share) * tokens + window_share * window;
}

double CacheShape::longest(double kept_tokens) const {
    double const held = kept_tokens * static_cast<double>(groups()) - static_cast<double>(state_blocks * block_tokens);
    double const window = static_cast<double>(window_blocks * block_tokens);
    auto const each = static_cast<double>(whole_groups + window_groups);
    if (window_groups == 0 || held <= each * window) return held / each;
    if (whole_groups == 0) return std::numeric_limits<double>::infinity();
    return (held - static_cast<double>(window_groups) * window) / static_cast<double>(whole_groups);
}

CacheShape cache_shape(ModelSpec const& model, EngineProfile const& engine, ServingPlan const& plan) {
    CacheShape shape{.block_tokens = plan.block_tokens};
    std::int64_t const window = model.attention.window;
    if (window == 0 || engine.window_cache == WindowCache::whole) return shape;
    if (engine.window_cache == WindowCache::pools && !has_window_pool(model)) return shape;
    CachedLayers const whole = cached_layers(model, plan, false);
    CachedLayers const sliding = cached_layers(model, plan, true);
    if (sliding.bytes() == 0) return shape;
    shape.window_blocks = (window + plan.block_tokens - 1) / plan.block_tokens + 1;  // it rarely begins with a block
    shape.window_share = static_cast<double>(sliding.bytes()) / static_cast<double>(whole.bytes() + sliding.bytes());
    if (engine.window_cache == WindowCache::pools)
        take_apart(shape, whole, sliding);
    else
        share_one_pool(shape, whole, sliding);
    return shape;
}

}  // namespace sextant
