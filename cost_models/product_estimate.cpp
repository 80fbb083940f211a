#include "cost_models/class_scaling.hpp"
#include "cost_models/estimate_parts.hpp"
#include "cost_models/kernel_choice.hpp"
#include "cost_models/kernel_estimate.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <vector>

namespace sextant {
namespace {

/// Weights of a product, which come from memory where nothing is cached.
Bytes weight_bytes(GemmShape const& shape, GemmFormat const& format) {
    return format.right * static_cast<double>(shape.groups * shape.n) * static_cast<double>(shape.k) * units::B;
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

double flops_of(GemmShape const& shape) {
    return 2 * static_cast<double>(shape.groups * shape.m) * static_cast<double>(shape.n) *
           static_cast<double>(shape.k);
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
        if (choice.fit != nullptr && !choice.borrowed) out.factors = outside_of(choice);
    } else if (choice.gridded && !choice.fit->waves.empty()) {
        out.time *= std::exp(choice.fit->waves.value(gemm_wave_coordinates(shape, rates)));
    }
    if (!in_grids) out.time += beside;
    keep_below_peak(out, flops_of(shape), rates.peak, choice);
    if (use.cache == CacheState::cold) keep_within_bandwidth(out, weight_bytes(shape, format), rates);
    return out;
}

/// Whether a product's narrow weights are widened to two bytes on the device.
bool widens_on(AcceleratorProfile const& accelerator, GemmFormat const& format) {
    return format.widens() && gemm_format(two_byte_precision(accelerator)).left == 2;
}

/// What the device's own products in the activations' format take over the share of them that those of weights that are
/// widened reach where both were measured. Source: TensorRT-LLM's kernels on A100 keep a depth whole that those of 16
/// bits cut (one row by 256 columns, a depth of 8,192: 29 us in int4, 8 in bf16), others' do not: with this bound 7
/// runs of gpt-fast there are off by 13.8 % instead of 21.7, 8 of TensorRT-LLM by 13.2 instead of 12.8.
Seconds most_widened(GemmShape const& shape, GemmFormat const& format, AcceleratorProfile const& accelerator,
                     GemmUse const& use) {
    GemmFormat const& wide = gemm_format(two_byte_precision(accelerator));
    return estimate_product(shape, wide, accelerator, use).time / widened_share(format);
}

/// What products take at least and at most whose narrow weights are widened to the activations' format, where no device
/// of the generation was measured: at most `most_widened`, and at least the same with what reading fewer bytes takes
/// off by the constants of the activations' format.
struct WidenedBounds {
    Seconds least;
    Seconds most;
};

WidenedBounds widened_bounds(GemmShape const& shape, GemmFormat const& format, AcceleratorProfile const& accelerator,
                             GemmUse const& use) {
    GemmFormat const& wide = gemm_format(two_byte_precision(accelerator));
    KernelRates const rates = kernel_rates(accelerator, wide);
    Seconds const most = most_widened(shape, format, accelerator, use);
    KernelChoice choice = choose_kernel(accelerator, KernelKind::gemm, wide.name);
    scale_products(choice, wide, rates, accelerator);
    Seconds const narrow = gemm_model(shape, format, rates, choice.constants(), use);
    double const shorter = std::min(1.0, narrow / gemm_model(shape, wide, rates, choice.constants(), use));
    return {.least = most * shorter, .most = most};
}

/// Launches and the fill of pipelines are the device's own kernels', not those of another device's library (A100's in
/// TensorRT-LLM: 6 to 10 us a call, where its own in 16 bits take 1 to 3).
void take_own_latencies(KernelChoice& choice, AcceleratorProfile const& accelerator) {
    KernelChoice const wide =
        choose_kernel(accelerator, KernelKind::gemm, gemm_format(two_byte_precision(accelerator)).name);
    for (GemmConstant const each : {GemmConstant::launch, GemmConstant::tile_overhead, GemmConstant::ramp}) {
        auto const i = static_cast<std::size_t>(each);
        choice.values[i] = wide.constants()[i];
    }
}

constexpr std::int64_t filled = 128;  ///< rows, columns or depth of a full tile

/// The next number of rows that fills tiles: 16, a power of two up to 128, then multiples of that.
std::int64_t full_rows(std::int64_t m) {
    if (m >= filled) return (m + filled - 1) / filled * filled;
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(16, m))));
}

/// Another time for the estimate, above what peak and memory allow, and its interval with it.
void take(KernelEstimate& estimate, Seconds time) {
    estimate.time = time;
    keep_above(estimate, estimate.least);
}

/// How far a point lies beyond the knots of a grid along the axis where it is farthest, in doublings; 0: inside.
double beyond(ResidualGrid const& grid, std::span<double const> at) {
    double most = 0;
    for (std::size_t i = 0; i < grid.axes().size(); ++i) {
        std::vector<double> const& knots = grid.axes()[i].knots;
        most = std::max({most, knots.front() - at[i], at[i] - knots.back()});
    }
    return most;
}

/// The least that the product, and those of rows, columns and depth added to fill tiles of 16 to 128, take.
template <class Estimate>
Seconds least_padded(GemmShape const& shape, Seconds least, Estimate estimate) {
    GemmShape wide = shape;
    wide.n = std::max(shape.n, filled);
    wide.k = std::max(shape.k, filled);
    bool const is_wide = wide.n != shape.n || wide.k != shape.k;
    for (std::int64_t m = full_rows(shape.m);; m *= 2) {
        if (m != shape.m) least = std::min(least, estimate({.m = m, .n = shape.n, .k = shape.k}));
        if (is_wide) least = std::min(least, estimate({.m = m, .n = wide.n, .k = wide.k}));
        if (m >= filled) return least;
    }
}

/// The least that products of more rows take, 16 to 128.
template <class Estimate>
Seconds least_of_rows(GemmShape const& shape, Seconds least, Estimate estimate) {
    GemmShape full = shape;
    for (full.m = full_rows(shape.m);; full.m *= 2) {
        if (full.m != shape.m) least = std::min(least, estimate(full));
        if (full.m >= filled) return least;
    }
}

/// assumed: what a library chooses or one kernel gains over several is no more
constexpr double apart = 1.1;

/// Where grids say more than rows did, nothing takes longer than a product of as many rows, columns and depth more as
/// fill tiles: of another device of the chip its libraries' slow shapes; of any device, from an octave beyond the rows
/// on, their continuation (61 us for one row of 131,072 columns and a depth of 8 in int8 on A100, 13 for sixteen). In a
/// step not much longer than with more rows on the device itself either: of rows that no fit saw such choices foretell
/// nothing (one row by 65,536 columns and a depth of 128 in int8 on A100: 51 us by a row of two that took 53, sixteen
/// rows 14. Held out, products are as near with it as without: A100 3.8 %, B200 2.6, H100 2.2, H200 2.3, L40S 3.7).
template <class Estimate>
void keep_below_padded(KernelEstimate& out, GemmShape const& shape, KernelChoice const& choice, CacheState cache,
                       Estimate estimate) {
    if (shape.groups > 1) return;
    if (choice.of_class()) take(out, least_of_rows(shape, out.time, estimate));
    if (!choice.of_class() && cache == CacheState::cold) {
        Seconds const least = apart * least_of_rows(shape, out.time, estimate);
        if (least < out.time) take(out, least);
    }
    double const share = std::min(1.0, beyond(choice.fit->residual, gemm_coordinates(shape)));
    if (share <= 0) return;
    Seconds const least = least_padded(shape, out.time, estimate);
    if (least < out.time) take(out, out.time * std::pow(least / out.time, share));
}

/// Scales of blocks take no time off: where plain products of the format are another class's kernels than those with
/// scales (cards of Blackwell multiply as Ada does), what quantising takes on one device says little of the other.
void keep_above_plain(KernelEstimate& out, GemmShape const& shape, GemmFormat const& format,
                      AcceleratorProfile const& accelerator, KernelChoice const& choice, GemmUse const& use,
                      Quantising quantising) {
    GemmFormat const& plain = gemm_format(unscaled(format.precision));
    if (choose_kernel(accelerator, KernelKind::gemm, plain.name).keep == choice.keep) return;
    take(out, std::max(out.time, estimate_product(shape, plain, accelerator, use, quantising).time));
}

/// Several products take no less than one of them, whose grids they do not have, and about no more than one after the
/// other, `calls` times one.
void keep_near_single(KernelEstimate& out, Seconds single, double calls) {
    take(out, std::clamp(out.time, single, apart * calls * single));
}

}  // namespace

KernelEstimate estimate_product(GemmShape const& shape, GemmFormat const& format, AcceleratorProfile const& accelerator,
                                GemmUse const& use, Quantising quantising) {
    KernelRates const rates = kernel_rates(accelerator, format);
    if (is_host(accelerator)) {
        KernelChoice const host = choose_kernel(accelerator, KernelKind::host_gemm, format.name);
        return finish(host_gemm_model(shape, format, rates, host.constants(), use), host, gemm_coordinates(shape));
    }
    KernelChoice choice = choose_kernel(accelerator, KernelKind::gemm, format.name);
    bool const is_foreign = choice.of_any() && choice.fit->variant == format.name;
    bool const is_widened = widens_on(accelerator, format);
    if (is_foreign && is_widened) take_own_latencies(choice, accelerator);
    scale_products(choice, format, rates, accelerator);
    KernelEstimate out = product_estimate(shape, format, rates, choice, use, quantising);
    if (is_foreign && is_widened) {  // tiles of another device's library are not this one's
        WidenedBounds const bounds = widened_bounds(shape, format, accelerator, use);
        take(out, std::clamp(out.time, bounds.least, bounds.most));
    } else if (is_widened && use.cache == CacheState::cold) {  // a step may run others than the measured library's
        take(out, std::min(out.time, most_widened(shape, format, accelerator, use)));
    }
    if (format.tiled && choice.of_class()) keep_above_plain(out, shape, format, accelerator, choice, use, quantising);
    if (choice.gridded) {
        keep_below_padded(out, shape, choice, use.cache, [&](GemmShape const& other) {
            return product_estimate(other, format, rates, choice, use, quantising).time;
        });
    }
    if (shape.groups > 1) {
        GemmShape one = shape;
        one.groups = 1;
        double const heat = choice.values[static_cast<std::size_t>(GemmConstant::heat)];
        double const hotter = heat_factor(heat, flops_of(shape)) / heat_factor(heat, flops_of(one));
        keep_near_single(out, estimate_product(one, format, accelerator, use, quantising).time,
                         static_cast<double>(shape.groups) * hotter);
    }
    return out;
}

}  // namespace sextant
