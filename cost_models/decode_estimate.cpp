#include "core/ops/op.hpp"
#include "cost_models/attention_model.hpp"
#include "cost_models/class_scaling.hpp"
#include "cost_models/estimate_parts.hpp"
#include "cost_models/kernel_choice.hpp"
#include "cost_models/kernel_estimate.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace sextant {
namespace {

/// Whether what a decode reads comes from memory: nothing is cached, or hardly any of it could be. Not where the
/// device's own table says otherwise (the A100's), which devices of its class must not repeat.
bool reads_memory(DecodeAttention const& shape, CacheState cache, KernelChoice const& choice,
                  KernelRates const& rates) {
    constexpr double hardly = 8;  // caches that it fills
    if (cache == CacheState::cold) return true;
    return !choice.of_device() && cache_bytes(shape).base() > hardly * rates.cache;
}

}  // namespace

KernelEstimate estimate_decode(DecodeAttention const& shape, std::string_view variant,
                               AcceleratorProfile const& accelerator, CacheState cache, GroupedHeads kernels) {
    constexpr auto blocks_per_processor = static_cast<std::size_t>(DecodeConstant::blocks_per_processor);
    DecodeSharing const sharing = sharing_of(shape, kernels);
    std::string const full = std::string(variant) + "/" + std::string(name_of(sharing));
    KernelChoice choice = choose_kernel(accelerator, KernelKind::decode, full);
    if (choice.of_class()) scale_decode_compute(choice.changeable(), choice.keep->profile, accelerator);
    KernelRates const rates = kernel_rates(accelerator, two_byte_precision(accelerator));
    auto const estimate = [&](DecodeAttention const& of) {
        return finish(decode_model(of, rates, choice.constants(), cache, sharing), choice,
                      decode_coordinates(of, sharing));
    };
    KernelEstimate out = estimate(shape);
    if (sharing == DecodeSharing::unshared) {
        double const slots = rates.processors * choice.values[blocks_per_processor];
        for (DecodeAttention more = shape; static_cast<double>(more.batch * more.heads) < slots;) {
            more.batch = std::max(more.batch + 1, more.batch * 5 / 4);
            out.time = std::min(out.time, estimate(more).time);
        }
    }
    if (reads_memory(shape, cache, choice, rates)) keep_within_bandwidth(out, cache_bytes(shape), rates);
    return out;
}

DecodeAttention latent_shape(LatentDecode const& latent) {
    constexpr std::int64_t most_shared = 32;
    return {.batch = latent.batch,
            .heads = std::min(latent.heads, most_shared),
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
        DecodeAttention wide = shape;
        wide.cache_bytes = std::max(2.0, shape.cache_bytes);
        KernelChoice plain = choose_kernel(accelerator, KernelKind::decode, "bf16/bf16/grouped");
        bare_decode(plain);
        out.time = std::min(out.time, decode_model(wide, rates, plain.constants(), cache, DecodeSharing::grouped));
    }
    if (reads_memory(shape, cache, choice, rates)) keep_within_bandwidth(out, cache_bytes(shape), rates);
    double const flops = 2.0 * static_cast<double>(latent.batch * latent.keys * latent.heads) *
                         static_cast<double>(2 * latent.kv_rank + latent.rope_head_dim);
    double const peak = accelerator.peak_of(two_byte_precision(accelerator)).value.base() *
                        accelerator.attention_forward_efficiency.value;
    out.time = std::max(out.time, flops / peak * units::s);
    out.factors = assumed_kernel_factors;
    keep_above(out, out.least);
    if (out.support != KernelSupport::assumed) out.support = KernelSupport::by_class;
    return out;
}

}  // namespace sextant
