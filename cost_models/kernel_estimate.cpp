#include "cost_models/kernel_estimate.hpp"

#include "core/ops/work.hpp"
#include "cost_models/estimate_parts.hpp"
#include "cost_models/kernel_choice.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace sextant {
namespace {

/// assumed: what libraries make of the other 16-bit format differs by less than their times from the model's
TimeInterval widened_for_sister(TimeInterval const& factors) {
    constexpr double power = 1.5;
    return {.low = std::pow(factors.low, power), .high = std::pow(factors.high, power)};
}

/// Units that read operands from memory of theirs that programs fill (a TPU's VMEM, SRAM of Gaudi and Trainium), not
/// through a cache that all of them share.
bool holds_operands(AcceleratorProfile const& accelerator) {
    constexpr std::array<std::string_view, 3> generations{"tpu", "gaudi", "trainium"};
    return std::find(generations.begin(), generations.end(), accelerator.generation) != generations.end();
}

KernelSupport support_of(KernelChoice const& choice, bool inside) {
    if (choice.sister) return KernelSupport::by_format;
    if (!choice.own) return KernelSupport::by_class;
    return inside ? KernelSupport::measured : KernelSupport::extended;
}

/// Of NVIDIA's GPUs those since Volta have them; a processor's are not told apart from its vector units.
bool has_matrix_units(AcceleratorProfile const& accelerator) {
    return accelerator.generation != "pascal" && !is_host(accelerator);
}

/// Of what devices with twice the peak in fp8, which its constants were fitted on, gain by it.
double fp8_gain(AcceleratorProfile const& accelerator) {
    auto const narrow = accelerator.peak.find(Precision::fp8);
    if (narrow == accelerator.peak.end()) return 1;
    double const wide = accelerator.peak_of(two_byte_precision(accelerator)).value.base();
    return std::min(1.0, narrow->second.value.base() / (2 * wide));
}

}  // namespace

KernelEstimate finish(Seconds time, KernelChoice const& choice, std::span<double const> at) {
    KernelEstimate out{.time = time, .factors = assumed_kernel_factors, .support = KernelSupport::assumed};
    if (choice.fit == nullptr) return out;
    if (choice.borrowed) {  // its grids and intervals are of another format's kernels
        out.support = KernelSupport::by_class;
        return out;
    }
    if (choice.gridded) out.time *= std::exp(choice.fit->residual.value(at));
    KernelFit const& fit = *choice.fit;
    bool const covered = choice.gridded && fit.residual.covers(at);
    bool const near = covered && fit.is_near_rows(at);
    bool const inside = near || (covered && !fit.apart.empty());
    out.support = support_of(choice, inside);
    out.factors = outside_of(choice);
    if (!inside) return out;
    out.factors = interval_at(near ? fit.intervals : fit.apart, out.time.base(), fit.outside);
    if (choice.sister) out.factors = widened_for_sister(out.factors);
    return out;
}

TimeInterval outside_of(KernelChoice const& choice) {
    return choice.sister ? widened_for_sister(choice.fit->outside) : choice.fit->outside;
}

double profile_scale(KernelChoice const& choice, double efficiency, double start, double reached) {
    if (choice.fit == nullptr) return efficiency / start;
    return choice.of_device() || reached <= 0 ? 1 : efficiency / reached;
}

void keep_above(KernelEstimate& estimate, Seconds least) {
    estimate.least = std::max(estimate.least, least);
    estimate.time = std::max(estimate.time, least);
    estimate.factors.low = std::max(estimate.factors.low, std::min(1.0, least / estimate.time));
}

void keep_below_peak(KernelEstimate& estimate, double work, double peak, KernelChoice const& choice) {
    double const share = choice.of_device() ? std::max(1.0, choice.fit->large_efficiency) : 1;
    keep_above(estimate, work / (peak * share) * units::s);
}

namespace {

/// Of the memory bandwidth, what a decode or product reads that begins with nothing in the cache. Source: the most that
/// 490 decodes of over 0.4 GB reach on H100, H200, B200 and L40S is 0.96, and 655 products with weights of over eight
/// times the cache 0.90. Decodes of the A100's table go up to 1.69 where heads share keys and values, so that they
/// cannot have read what they say.
constexpr double most_of_bandwidth = 0.95;

}  // namespace

void keep_within_bandwidth(KernelEstimate& estimate, Bytes least_read, KernelRates const& rates) {
    keep_above(estimate, least_read.base() / (rates.bandwidth * most_of_bandwidth) * units::s);
}

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
            .held = holds_operands(accelerator),
            .rows = has_matrix_units(accelerator) ? 16.0 : 1.0};
}

KernelRates kernel_rates(AcceleratorProfile const& accelerator, GemmFormat const& format) {
    KernelRates rates = kernel_rates(accelerator, two_byte_precision(accelerator));
    rates.peak = accelerator.peak_of(format).value.base();
    return rates;
}

double row_share(std::int64_t n, std::int64_t k, double element_bytes, Precision precision,
                 AcceleratorProfile const& accelerator) {
    bool const any_rows = precision == Precision::fp32 || holds_operands(accelerator) || is_host(accelerator);
    return any_rows ? 1 : row_share(n, k, element_bytes);
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

namespace {

/// Share of the time of a few queries after a past that is left where the keys are split over the multiprocessors that
/// have no block, without what puts the parts together; 1 where there are none. No row says which kernels do it:
/// FlashAttention-3 and FlashInfer do, FlashAttention-2 for single queries alone.
double share_with_keys_split(Attention const& shape, KernelRates const& rates, std::span<double const> constants,
                             PrefillUse const& use) {
    constexpr std::int64_t tile = 128;
    std::int64_t const blocks = shape.batch * shape.heads * ((shape.queries + tile - 1) / tile);
    std::int64_t const parts = std::min(static_cast<std::int64_t>(rates.processors) / blocks, shape.past / tile);
    if (parts < 2) return 1;
    Attention part = shape;
    part.batch *= parts;
    part.past = shape.past / parts;
    part.keys = part.past + shape.queries;
    return std::min(1.0, prefill_model(part, rates, constants, use) / prefill_model(shape, rates, constants, use));
}

}  // namespace

KernelEstimate estimate_prefill(Attention const& shape, std::string_view variant, AcceleratorProfile const& accelerator,
                                PrefillUse const& use) {
    KernelChoice choice = choose_kernel(accelerator, KernelKind::prefill, variant);
    if (choice.fit != nullptr && needs_fitted_neighbours(shape, choice.constants(), choice.fit->spreads))
        fill_head_sizes_of(choice, variant);
    bool const training = use.library == AttentionLibrary::training;
    if (training) choice.own = false;  // another kernel: its level is the profile's
    if (training || use.pads || choice.of_class()) pad_head_sizes(choice.changeable());
    double reached = 0;
    if (choice.fit != nullptr) reached = training ? choice.fit->large_efficiency : choice.fit->profile_efficiency;
    PrefillUse scaled = use;
    scaled.rate *= profile_scale(choice, accelerator.attention_forward_efficiency.value,
                                 choice.values[static_cast<std::size_t>(PrefillConstant::efficiency_128)], reached);
    KernelRates const rates = kernel_rates(accelerator, two_byte_precision(accelerator));
    if (variant.ends_with("/fp8") && choice.of_class()) scaled.rate *= fp8_gain(accelerator);
    Seconds const time = prefill_model(shape, rates, choice.constants(), scaled);
    KernelEstimate out = finish(time, choice, prefill_coordinates(shape));
    if (training) out.time = time;  // the residual belongs to the measured kernel
    // No fit has rows of windows, or of queries after a past.
    bool const is_unlike_rows = attended_keys(shape) < shape.keys || shape.past > 0;
    if (out.support == KernelSupport::measured && is_unlike_rows) {
        out.support = KernelSupport::extended;
        out.factors = choice.fit->outside;
    }
    out.factors.low *= share_with_keys_split(shape, rates, choice.constants(), scaled);
    // A class's kernels with a cache in fp8 multiply in it, whatever the queries come in; those of a device's own fit
    // are held to the peak that their rows were.
    bool const is_fp8 = variant.starts_with("fp8/") || (choice.of_class() && variant.ends_with("/fp8"));
    bool const narrow = is_fp8 && accelerator.peak.contains(Precision::fp8);
    double const peak = narrow ? kernel_rates(accelerator, Precision::fp8).peak : rates.peak;
    keep_below_peak(out, work_of(Op{.name = "attention", .what = shape}, Pass::forward).executed.base() * use.work,
                    peak, choice);
    return out;
}

KernelEstimate estimate_memory_kernel(Bytes moved, std::string_view variant, AcceleratorProfile const& accelerator,
                                      CacheState cache) {
    KernelChoice const choice = choose_kernel(accelerator, KernelKind::memory, variant);
    KernelRates const rates = kernel_rates(accelerator, two_byte_precision(accelerator));
    return finish(memory_model(moved, rates, choice.constants(), cache), choice, memory_coordinates(moved));
}

}  // namespace sextant
