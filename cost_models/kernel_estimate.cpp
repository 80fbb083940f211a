#include "cost_models/kernel_estimate.hpp"

#include "core/ops/work.hpp"
#include "cost_models/class_scaling.hpp"
#include "cost_models/kernel_choice.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sextant {
namespace {

/// assumed: what libraries make of the other 16-bit format differs by less than their times from the model's
TimeInterval widened_for_sister(TimeInterval const& factors) {
    constexpr double power = 1.5;
    return {.low = std::pow(factors.low, power), .high = std::pow(factors.high, power)};
}

KernelSupport support_of(KernelChoice const& choice, bool inside) {
    if (choice.sister) return KernelSupport::by_format;
    if (!choice.own) return KernelSupport::by_class;
    return inside ? KernelSupport::measured : KernelSupport::extended;
}

/// The model's time with the residual and the interval that belong to the choice.
KernelEstimate finish(Seconds time, KernelChoice const& choice, std::span<double const> at) {
    KernelEstimate out{.time = time, .factors = assumed_kernel_factors, .support = KernelSupport::assumed};
    if (choice.fit == nullptr) return out;
    if (choice.borrowed) {  // its grids and intervals are of another format's kernels
        out.support = KernelSupport::by_class;
        return out;
    }
    if (choice.gridded) out.time *= std::exp(choice.fit->residual.value(at));
    bool const inside = choice.gridded && choice.fit->residual.covers(at);
    out.support = support_of(choice, inside);
    out.factors =
        inside ? interval_at(choice.fit->intervals, out.time.base(), choice.fit->outside) : choice.fit->outside;
    if (choice.sister) out.factors = widened_for_sister(out.factors);
    return out;
}

/// Multiplies the rate of a kernel that was not measured on this device by what its profile says of it. `reached`: what
/// `efficiency` is of the devices that were; 0: not known.
double profile_scale(KernelChoice const& choice, double efficiency, double start, double reached) {
    if (choice.fit == nullptr) return efficiency / start;
    return choice.of_device() || reached <= 0 ? 1 : efficiency / reached;
}

/// The estimate and its interval no quicker than this.
void keep_above(KernelEstimate& estimate, Seconds least) {
    estimate.least = std::max(estimate.least, least);
    estimate.time = std::max(estimate.time, least);
    estimate.factors.low = std::max(estimate.factors.low, std::min(1.0, least / estimate.time));
}

/// Grids of the same chip at a higher clock or power know nothing of this device's peak, nor do those of small products
/// of its own what large ones reach. A device that was measured above its peak is taken at that.
void keep_below_peak(KernelEstimate& estimate, double work, double peak, KernelChoice const& choice) {
    double const share = choice.of_device() ? std::max(1.0, choice.fit->large_efficiency) : 1;
    keep_above(estimate, work / (peak * share) * units::s);
}

/// Of the memory bandwidth, what a decode or product reads that begins with nothing in the cache. Source: the most that
/// 490 decodes of over 0.4 GB reach on H100, H200, B200 and L40S is 0.96, and 655 products with weights of over eight
/// times the cache 0.90. Decodes of the A100's table go up to 1.69 where heads share keys and values, so that they
/// cannot have read what they say.
constexpr double most_of_bandwidth = 0.95;

void keep_within_bandwidth(KernelEstimate& estimate, Bytes least_read, KernelRates const& rates) {
    keep_above(estimate, least_read.base() / (rates.bandwidth * most_of_bandwidth) * units::s);
}

/// Whether what a decode reads comes from memory: nothing is cached, or hardly any of it could be. Not where the
/// device's own table says otherwise (the A100's), which devices of its class must not repeat.
bool reads_memory(DecodeAttention const& shape, CacheState cache, KernelChoice const& choice,
                  KernelRates const& rates) {
    constexpr double hardly = 8;  // caches that it fills
    if (cache == CacheState::cold) return true;
    return !choice.of_device() && cache_bytes(shape).base() > hardly * rates.cache;
}

/// Weights of a product, which come from memory where nothing is cached.
Bytes weight_bytes(GemmShape const& shape, GemmFormat const& format) {
    return format.right * static_cast<double>(shape.groups * shape.n) * static_cast<double>(shape.k) * units::B;
}

/// Of NVIDIA's GPUs those since Volta have them; a processor's are not told apart from its vector units.
bool has_matrix_units(AcceleratorProfile const& accelerator) {
    return accelerator.generation != "pascal" && !is_host(accelerator);
}

/// What large products of the class's devices reach of the peak in the format that profiles state: of fp8 for scales of
/// every 128 values, of a format of two bytes for integers and narrow weights.
double large_efficiency_of(KernelChoice const& choice, GemmFormat const& format) {
    if (choice.fit == nullptr) return 0;
    KernelFit const* const plain = choice.keep->find(KernelKind::gemm, gemm_format(format.precision).name);
    return plain != nullptr && plain->large_efficiency > 0 ? plain->large_efficiency : choice.fit->large_efficiency;
}

/// Scales the rate of products that were not measured on this device by what its profile states of large ones. The rows
/// of formats that quantise have that in them, and so have the shares that profiles of a measured generation state.
/// Of other generations the ratio alone counts: steps on MI300X and MI325X are nearer to it (a source left out: 95 %
/// within 14 %) than to the share that their profiles state (28 %).
void scale_products(KernelChoice& choice, GemmFormat const& format, KernelRates const& rates,
                    AcceleratorProfile const& accelerator) {
    double const stated = accelerator.gemm_efficiency_of(format.precision);
    auto& efficiency = choice.values[static_cast<std::size_t>(GemmConstant::efficiency)];
    double const reached = large_efficiency_of(choice, format);
    bool const of_generation = choice.of_class() && !choice.of_any();
    if (of_generation) scale_heat(choice.changeable(), choice.keep->profile, accelerator);
    efficiency *= profile_scale(choice, stated, efficiency, reached);
    if (!of_generation) return;
    efficiency = std::min(1.0, efficiency);
    if (choice.gridded || !format.quantises || !choice.fit->with_quantising || reached <= 0) return;
    efficiency = efficiency_for(stated * choice.fit->large_efficiency / reached, format, rates, choice.constants());
}

/// Products of one launch by the constants and grids of the choice.
KernelEstimate product_estimate(GemmShape const& shape, GemmFormat const& format, KernelRates const& rates,
                                KernelChoice const& choice, GemmUse const& use, Quantising quantising) {
    bool const quantises = quantising == Quantising::included && format.quantises;
    Seconds const beside = quantises ? quantise_model(shape, rates, choice.constants()) : Seconds{};
    // Grids of products alone say nothing of quantising.
    bool const in_grids = choice.fit == nullptr || choice.fit->with_quantising;
    Seconds time = gemm_model(shape, format, rates, choice.constants(), use);
    if (in_grids) time += beside;
    KernelEstimate out = finish(time, choice, gemm_coordinates(shape));
    if (shape.groups > 1) {  // the grids belong to single products
        out.time = time;
        if (out.support == KernelSupport::measured) out.support = KernelSupport::extended;
    } else if (choice.gridded && !choice.fit->waves.empty()) {
        out.time *= std::exp(choice.fit->waves.value(gemm_wave_coordinates(shape, rates)));
    }
    if (!in_grids) out.time += beside;
    double const work =
        2 * static_cast<double>(shape.groups * shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
    keep_below_peak(out, work, rates.peak, choice);
    if (use.cache == CacheState::cold) keep_within_bandwidth(out, weight_bytes(shape, format), rates);
    return out;
}

/// What products take at least and at most whose narrow weights are widened to the activations' format, where no device
/// of the generation was measured: at most what this device's own in that format take over the share of them that
/// devices measured in both reach, and at least the same with what reading fewer bytes takes off by the same constants.
struct WidenedBounds {
    Seconds least;
    Seconds most;
};

WidenedBounds widened_bounds(GemmShape const& shape, GemmFormat const& format, AcceleratorProfile const& accelerator,
                             GemmUse const& use) {
    GemmFormat const& wide = gemm_format(two_byte_precision(accelerator));
    KernelRates const rates = kernel_rates(accelerator, wide);
    Seconds const most = estimate_product(shape, wide, accelerator, use).time / widened_share(format);
    KernelChoice choice = choose_kernel(accelerator, KernelKind::gemm, wide.name);
    scale_products(choice, wide, rates, accelerator);
    Seconds const narrow = gemm_model(shape, format, rates, choice.constants(), use);
    double const shorter = std::min(1.0, narrow / gemm_model(shape, wide, rates, choice.constants(), use));
    return {.least = most * shorter, .most = most};
}

/// The next number of rows that fills tiles: 16, a power of two up to 128, then multiples of that.
std::int64_t full_rows(std::int64_t m) {
    constexpr std::int64_t tile = 128;
    if (m >= tile) return (m + tile - 1) / tile * tile;
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(16, m))));
}

}  // namespace

TimeInterval interval_at(std::span<KernelInterval const> bands, double seconds, TimeInterval below) {
    for (KernelInterval const& band : bands)
        if (seconds >= band.from_seconds) below = band.factors;
    return below;
}

std::string_view name_of(KernelSupport support) {
    switch (support) {
        case KernelSupport::measured: return "measured";
        case KernelSupport::extended: return "extended";
        case KernelSupport::by_format: return "by format";
        case KernelSupport::by_class: return "by class";
        case KernelSupport::assumed: return "assumed";
    }
    return "?";
}

Precision two_byte_precision(AcceleratorProfile const& accelerator) {
    for (Precision const precision : {Precision::bf16, Precision::fp16, Precision::tf32})
        if (accelerator.peak.contains(precision)) return precision;
    return Precision::fp32;
}

KernelRates kernel_rates(AcceleratorProfile const& accelerator, Precision precision) {
    return {.peak = accelerator.peak_of(precision).value.base(),
            .bandwidth = accelerator.memory_bandwidth.value.base(),
            .cache = std::max(1.0, accelerator.l2.value.base()),
            .caches = static_cast<double>(accelerator.l2_caches),
            .processors = static_cast<double>(accelerator.multiprocessors.value * accelerator.tiles_each),
            .rows = has_matrix_units(accelerator) ? 16.0 : 1.0};
}

KernelRates kernel_rates(AcceleratorProfile const& accelerator, GemmFormat const& format) {
    KernelRates rates = kernel_rates(accelerator, two_byte_precision(accelerator));
    rates.peak = accelerator.peak_of(format).value.base();
    return rates;
}

bool is_host(AcceleratorProfile const& accelerator) { return accelerator.generation == "cpu"; }

KernelKind product_kind(AcceleratorProfile const& accelerator) {
    return is_host(accelerator) ? KernelKind::host_gemm : KernelKind::gemm;
}

std::vector<double> constants_on(AcceleratorProfile const& accelerator, KernelFit const& of_class) {
    std::vector<double> out = of_class.constants;
    auto const scale = [&](std::size_t first, std::size_t end, double efficiency, double reached) {
        for (std::size_t i = first; i < end && reached > 0; ++i)
            out[i] *= efficiency / reached;
    };
    if (of_class.kind == KernelKind::gemm) {
        GemmFormat const* const format = find_gemm_format(of_class.variant);
        constexpr auto rate = static_cast<std::size_t>(GemmConstant::efficiency);
        if (format != nullptr)
            scale(rate, rate + 1, accelerator.gemm_efficiency_of(format->precision), of_class.large_efficiency);
    } else if (of_class.kind == KernelKind::prefill) {
        scale(static_cast<std::size_t>(PrefillConstant::efficiency_64), out.size(),
              accelerator.attention_forward_efficiency.value, of_class.profile_efficiency);
    }
    auto const specs = kernel_constants(of_class.kind);
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = std::clamp(out[i], specs[i].low, specs[i].high);
    return out;
}

KernelEstimate estimate_product(GemmShape const& shape, GemmFormat const& format, AcceleratorProfile const& accelerator,
                                GemmUse const& use, Quantising quantising) {
    KernelRates const rates = kernel_rates(accelerator, format);
    if (is_host(accelerator)) {
        KernelChoice const host = choose_kernel(accelerator, KernelKind::host_gemm, format.name);
        return finish(host_gemm_model(shape, format, rates, host.constants(), use), host, gemm_coordinates(shape));
    }
    KernelChoice choice = choose_kernel(accelerator, KernelKind::gemm, format.name);
    bool const is_foreign = choice.of_any() && choice.fit->variant == format.name;
    bool const is_widened = is_foreign && format.widens() && gemm_format(two_byte_precision(accelerator)).left == 2;
    scale_products(choice, format, rates, accelerator);
    KernelEstimate out = product_estimate(shape, format, rates, choice, use, quantising);
    if (is_widened) {  // launches and tiles of another device's library are not this one's
        WidenedBounds const bounds = widened_bounds(shape, format, accelerator, use);
        out.time = std::max(out.least, std::clamp(out.time, bounds.least, bounds.most));
        return out;
    }
    if (!choice.of_class() || !choice.gridded || shape.groups > 1) return out;
    // Where another device's libraries are slow for a few shapes: rows added to fill a tile cost this one no less time.
    GemmShape full = shape;
    full.m = full_rows(shape.m);
    if (full.m == shape.m) return out;
    out.time = std::min(out.time, product_estimate(full, format, rates, choice, use, quantising).time);
    return out;
}

KernelEstimate estimate_prefill(Attention const& shape, std::string_view variant, AcceleratorProfile const& accelerator,
                                PrefillUse const& use) {
    KernelChoice choice = choose_kernel(accelerator, KernelKind::prefill, variant);
    if (choice.fit != nullptr && needs_fitted_neighbours(shape, choice.constants(), choice.fit->spreads))
        fill_head_sizes_of(choice, variant);
    bool const training = use.library == AttentionLibrary::training;
    if (training) choice.own = false;  // another kernel: its level is the profile's
    double reached = 0;
    if (choice.fit != nullptr) reached = training ? choice.fit->large_efficiency : choice.fit->profile_efficiency;
    PrefillUse scaled = use;
    scaled.rate *= profile_scale(choice, accelerator.attention_forward_efficiency.value,
                                 choice.values[static_cast<std::size_t>(PrefillConstant::efficiency_128)], reached);
    KernelRates const rates = kernel_rates(accelerator, two_byte_precision(accelerator));
    Seconds const time = prefill_model(shape, rates, choice.constants(), scaled);
    KernelEstimate out = finish(time, choice, prefill_coordinates(shape));
    if (training) out.time = time;  // the residual belongs to the measured kernel
    // No fit has rows of windows, or of queries after a past.
    bool const is_unlike_rows = attended_keys(shape) < shape.keys || shape.past > 0;
    if (out.support == KernelSupport::measured && is_unlike_rows) {
        out.support = KernelSupport::extended;
        out.factors = choice.fit->outside;
    }
    // A class's kernels with a cache in fp8 multiply in it, whatever the queries come in; those of a device's own fit
    // are held to the peak that their rows were.
    bool const is_fp8 = variant.starts_with("fp8/") || (choice.of_class() && variant.ends_with("/fp8"));
    bool const narrow = is_fp8 && accelerator.peak.contains(Precision::fp8);
    double const peak = narrow ? kernel_rates(accelerator, Precision::fp8).peak : rates.peak;
    keep_below_peak(out, work_of(Op{.name = "attention", .what = shape}, Pass::forward).executed.base() * use.work,
                    peak, choice);
    return out;
}

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

KernelEstimate estimate_latent_decode(LatentDecode const& latent, std::string_view variant,
                                      AcceleratorProfile const& accelerator, CacheState cache) {
    DecodeAttention const shape = latent_shape(latent);
    KernelChoice choice = choose_kernel(accelerator, KernelKind::decode,
                                        std::string(variant) + "/" + std::string(name_of(DecodeSharing::grouped)));
    // The grids and the arithmetic are of kernels for heads with keys and values of their own.
    choice.gridded = false;
    choice.values[static_cast<std::size_t>(DecodeConstant::efficiency)] = 1;
    KernelRates const rates = kernel_rates(accelerator, two_byte_precision(accelerator));
    KernelEstimate out = finish(decode_model(shape, rates, choice.constants(), cache, DecodeSharing::grouped), choice,
                                decode_coordinates(shape, DecodeSharing::grouped));
    if (reads_memory(shape, cache, choice, rates)) keep_within_bandwidth(out, cache_bytes(shape), rates);
    double const flops = 2.0 * static_cast<double>(latent.batch * latent.keys * latent.heads) *
                         static_cast<double>(2 * latent.kv_rank + latent.rope_head_dim);
    double const peak = accelerator.peak_of(two_byte_precision(accelerator)).value.base() *
                        accelerator.attention_forward_efficiency.value;
    out.time = std::max(out.time, flops / peak * units::s);
    out.factors = assumed_kernel_factors;
    if (out.support != KernelSupport::assumed) out.support = KernelSupport::by_class;
    return out;
}

KernelEstimate estimate_memory_kernel(Bytes moved, std::string_view variant, AcceleratorProfile const& accelerator,
                                      CacheState cache) {
    KernelChoice const choice = choose_kernel(accelerator, KernelKind::memory, variant);
    KernelRates const rates = kernel_rates(accelerator, two_byte_precision(accelerator));
    return finish(memory_model(moved, rates, choice.constants(), cache), choice, memory_coordinates(moved));
}

}  // namespace sextant
