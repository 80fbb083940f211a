#include "core/ops/op.hpp"
#include "core/spec/kernel_constants.hpp"
#include "core/units.hpp"
#include "cost_models/attention_model.hpp"
#include "cost_models/class_scaling.hpp"
#include "cost_models/estimate_parts.hpp"
#include "cost_models/kernel_choice.hpp"
#include "cost_models/kernel_estimate.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sextant {
namespace {

constexpr std::int64_t most_rows = 32;  ///< heads per key-value head of the rows that grouped kernels were fitted to

std::int64_t group_of(DecodeAttention const& shape) { return shape.heads / std::max<std::int64_t>(1, shape.kv_heads); }

/// One kernel on one device.
struct DecodeKernel {
    KernelChoice const& choice;
    KernelRates const& rates;
    CacheState cache;
    DecodeSharing sharing;

    [[nodiscard]] KernelEstimate operator()(DecodeAttention const& shape) const {
        return finish(decode_model(shape, rates, choice.constants(), cache, sharing), choice,
                      decode_coordinates(shape, sharing));
    }
};

/// Whether what a decode reads comes from memory: nothing is cached, or hardly any of it could be. Not where the
/// device's own table says otherwise (the A100's), which devices of its class must not repeat.
bool reads_memory(DecodeAttention const& shape, CacheState cache, KernelChoice const& choice,
                  KernelRates const& rates) {
    constexpr double hardly = 8;  // caches that it fills
    if (cache == CacheState::cold) return true;
    return !choice.of_device() && cache_bytes(shape).base() > hardly * rates.cache;
}

/// Whether the device's table says of large decodes what no memory does: the A100's of groups, which go up to 1.69
/// times the stated bandwidth, and so tell nothing of what reaches them from there.
bool outruns_memory(DecodeKernel const& kernel, double cache_bytes_each) {
    if (!kernel.choice.of_device() || kernel.sharing == DecodeSharing::unshared) return false;
    DecodeAttention const large{.batch = 64,
                                .heads = kernel.sharing == DecodeSharing::single ? 8 : 32,
                                .kv_heads = 8,
                                .keys = 16384,
                                .head_dim = 128,
                                .cache_bytes = cache_bytes_each};
    return kernel(large).time < cache_bytes(large).base() / kernel.rates.bandwidth * units::s;
}

/// No quicker than memory brings keys and values: where the table outruns it, as it does streaming kernels.
/// Source: 38 runs of TensorRT-LLM on A100 that this concerns (trtllm-perf) are off by 23.0 % instead of 24.5.
void keep_within_memory(KernelEstimate& out, DecodeAttention const& shape, DecodeKernel const& kernel,
                        AcceleratorProfile const& accelerator) {
    if (!reads_memory(shape, kernel.cache, kernel.choice, kernel.rates)) return;
    keep_within_bandwidth(out, cache_bytes(shape), kernel.rates);
    Seconds const streamed =
        cache_bytes(shape) / (accelerator.memory_bandwidth.value * accelerator.memory_efficiency.value);
    if (out.time < streamed && outruns_memory(kernel, shape.cache_bytes)) keep_above(out, streamed);
}

/// The least that the decode and those of more sequences take, as far as these find free multiprocessors.
Seconds least_of_fuller(DecodeAttention const& shape, Seconds least, DecodeKernel const& kernel) {
    constexpr auto blocks_per_processor = static_cast<std::size_t>(DecodeConstant::blocks_per_processor);
    double const slots = kernel.rates.processors * kernel.choice.values[blocks_per_processor];
    for (DecodeAttention more = shape; static_cast<double>(more.batch * more.heads) < slots;) {
        more.batch = std::max(more.batch + 1, more.batch * 5 / 4);
        least = std::min(least, kernel(more).time);
    }
    return least;
}

/// The least that the decode and those of more sequences and keys take. What a library does with few and short
/// sequences (A100, two of 32 heads on each of two: 512 keys 34 us, 2,048 keys 21; four of 512 keys 16) is known of the
/// measured one alone; a step may run others. Source: 980 times per token of InferenceX's sample that it changes are
/// off by 8.4 % in the median instead of 8.9.
Seconds least_of_larger(DecodeAttention const& shape, Seconds least, DecodeKernel const& kernel) {
    constexpr std::int64_t most_times = 8;
    if (!kernel.choice.gridded) return least;
    for (std::int64_t keys = 1; keys <= most_times; keys *= 2)
        for (std::int64_t batch = 1; batch <= most_times; batch *= 2) {
            DecodeAttention more = shape;
            more.keys *= keys;
            more.batch *= batch;
            if (cache_bytes(more).base() / kernel.rates.bandwidth * units::s >= least) break;
            least = std::min(least, kernel(more).time);
        }
    return least;
}

/// An estimate of kernels that nobody measured: no quicker than the arithmetic at the rate that attention reaches.
void keep_above_arithmetic(KernelEstimate& out, double flops, AcceleratorProfile const& accelerator) {
    double const rate = accelerator.peak_of(two_byte_precision(accelerator)).value.base() *
                        accelerator.attention_forward_efficiency.value;
    out.time = std::max(out.time, flops / rate * units::s);
    out.factors = assumed_kernel_factors;
    keep_above(out, out.least);
    if (out.support != KernelSupport::assumed) out.support = KernelSupport::by_class;
}

/// The same with a cache of two bytes an element, where it is narrower.
DecodeAttention in_two_bytes(DecodeAttention shape) {
    shape.cache_bytes = std::max(2.0, shape.cache_bytes);
    return shape;
}

/// A group of more heads than any row had: as one of as many as these, in kernels that fold all of it into the rows of
/// their tiles, and no quicker than its arithmetic at the rate that attention reaches.
KernelEstimate estimate_wide_group(DecodeAttention const& shape, std::string_view variant,
                                   AcceleratorProfile const& accelerator, CacheState cache) {
    DecodeAttention rows = shape;
    rows.heads = most_rows * shape.kv_heads;
    KernelEstimate out = estimate_decode(rows, variant, accelerator, cache, GroupedHeads::shared);
    double const flops =
        4 * static_cast<double>(shape.batch * shape.keys) * static_cast<double>(shape.heads * shape.head_dim);
    keep_above_arithmetic(out, flops, accelerator);
    return out;
}

/// What kernels that are not the measured ones of this device do not take longer than: engines that share groups read
/// a head of its own as a group of two with half of it idle, and widen a narrow cache on the way where a device's
/// kernels for it leave long chains whole (L40S, one sequence of 131,072 keys: 2.1 ms, 0.1 in 16 bits).
void keep_below_others(KernelEstimate& out, DecodeAttention const& shape, std::string_view variant,
                       AcceleratorProfile const& accelerator, DecodeKernel const& kernel, GroupedHeads kernels) {
    bool const shares = kernels == GroupedHeads::shared;
    Seconds least = out.time;
    auto const take = [&](DecodeAttention const& other, std::string_view format) {
        bool const is_cold = kernel.cache == CacheState::cold;
        if (is_cold && cache_bytes(other) / accelerator.memory_bandwidth.value >= least) return;
        least = std::min(least, estimate_decode(other, format, accelerator, kernel.cache, kernels).time);
    };
    if (shares && kernel.sharing == DecodeSharing::single) {
        DecodeAttention pair = shape;
        pair.heads *= 2;
        take(pair, variant);
    }
    if (variant.ends_with("/fp8") && (shares || kernel.choice.of_class())) take(in_two_bytes(shape), "bf16/bf16");
    if (least >= out.time) return;
    out.time = least;
    keep_above(out, out.least);
}

}  // namespace

KernelEstimate estimate_decode(DecodeAttention const& shape, std::string_view variant,
                               AcceleratorProfile const& accelerator, CacheState cache, GroupedHeads kernels) {
    DecodeSharing const sharing = sharing_of(shape, kernels);
    if (sharing == DecodeSharing::grouped && group_of(shape) > most_rows)
        return estimate_wide_group(shape, variant, accelerator, cache);
    std::string const full = std::string(variant) + "/" + std::string(name_of(sharing));
    KernelChoice choice = choose_kernel(accelerator, KernelKind::decode, full);
    if (choice.of_class()) scale_decode_compute(choice.changeable(), choice.keep->profile, accelerator);
    KernelRates const rates = kernel_rates(accelerator, two_byte_precision(accelerator));
    DecodeKernel const kernel{.choice = choice, .rates = rates, .cache = cache, .sharing = sharing};
    KernelEstimate out = kernel(shape);
    if (sharing == DecodeSharing::unshared)
        out.time = least_of_fuller(shape, out.time, kernel);
    else if (cache == CacheState::cold && (kernels == GroupedHeads::shared || !variant.ends_with("/fp8")))
        out.time = least_of_larger(shape, out.time, kernel);
    keep_within_memory(out, shape, kernel, accelerator);
    keep_below_others(out, shape, variant, accelerator, kernel, kernels);
    return out;
}

DecodeAttention latent_shape(LatentDecode const& latent) {
    return {.batch = latent.batch,
            .heads = std::min(latent.heads, most_rows),
            .kv_heads = 1,
            .keys = latent.keys,
            .head_dim = (latent.kv_rank + latent.rope_head_dim) / 2,
            .cache_bytes = latent.cache_bytes};
}

namespace {

/// Without what is of kernels for heads with keys and values of their own: grids and arithmetic.
void bare_decode(KernelChoice& choice) {
    choice.gridded = false;
    choice.values[static_cast<std::size_t>(DecodeConstant::efficiency)] = 1;
}

}  // namespace

KernelEstimate estimate_latent_decode(LatentDecode const& latent, std::string_view variant,
                                      AcceleratorProfile const& accelerator, CacheState cache) {
    DecodeAttention const shape = latent_shape(latent);
    KernelChoice choice = choose_kernel(accelerator, KernelKind::decode,
                                        std::string(variant) + "/" + std::string(name_of(DecodeSharing::grouped)));
    bare_decode(choice);
    KernelRates const rates = kernel_rates(accelerator, two_byte_precision(accelerator));
    KernelEstimate out = finish(decode_model(shape, rates, choice.constants(), cache, DecodeSharing::grouped), choice,
                                decode_coordinates(shape, DecodeSharing::grouped));
    if (variant.ends_with("/fp8")) {  // kernels of a device that do not cut its long chains are not these
        KernelChoice plain = choose_kernel(accelerator, KernelKind::decode, "bf16/bf16/grouped");
        bare_decode(plain);
        out.time = std::min(out.time,
                            decode_model(in_two_bytes(shape), rates, plain.constants(), cache, DecodeSharing::grouped));
    }
    if (reads_memory(shape, cache, choice, rates)) keep_within_bandwidth(out, cache_bytes(shape), rates);
    double const flops = 2.0 * static_cast<double>(latent.batch * latent.keys * latent.heads) *
                         static_cast<double>(2 * latent.kv_rank + latent.rope_head_dim);
    keep_above_arithmetic(out, flops, accelerator);
    return out;
}

}  // namespace sextant
