#include "cost_models/gemm_model.hpp"

#include "cost_models/memory_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace sextant {
namespace {

struct Tile {
    double m;
    double n;
};

/// What libraries have kernels for, from large to small.
constexpr std::array tiles{Tile{256, 128}, Tile{128, 256}, Tile{128, 128}, Tile{128, 64}, Tile{64, 128},
                           Tile{64, 256},  Tile{64, 64},   Tile{128, 32},  Tile{64, 32},  Tile{32, 64},
                           Tile{32, 32},   Tile{16, 64},   Tile{16, 128},  Tile{64, 16}};
constexpr std::array<double, 8> splits{1, 2, 3, 4, 6, 8, 12, 16};
constexpr double k_step = 64;
constexpr double least_split_depth = 128;  ///< of k, assumed

/// The next whole number of a positive one; without a call into the C library, which counts here.
double round_up(double x) {
    auto const whole = static_cast<double>(static_cast<std::int64_t>(x));
    return whole < x ? whole + 1 : whole;
}

double log2_of(std::int64_t count) { return std::log2(static_cast<double>(std::max<std::int64_t>(1, count))); }

/// Whether the format's kernels cut k. Those of fp4, of scales for every 128 values and of weights that are widened do
/// not: at m to 64 and n to 512 their times grow as k does, while bf16 and fp8 take 1.5 to 2 times as long for 8 times
/// the k (16384 to 65536, medians: fp8-block 22 to 74 us on H100, 54 to 205 on L40S; fp4 36 to 127 on B200;
/// int4-weights 43 to 122 and int8-weights 42 to 92 on A100; bf16 7 to 14 on H100). Source: AIConfigurator's tables.
bool splits_depth(GemmFormat const& format) {
    return !format.tiled && format.left == format.right && format.precision != Precision::fp4;
}

/// Constants by name.
struct Values {
    std::span<double const> all;
    double operator[](GemmConstant c) const { return all[static_cast<std::size_t>(c)]; }
};

/// Seconds on the multiprocessors, at the best pair of tile and split.
double compute_time(double groups, double m, double n, double k, GemmFormat const& format, KernelRates const& rates,
                    Values c, double rate_factor) {
    double const slower = heat_factor(c[GemmConstant::heat], 2 * groups * m * n * k);
    double const rate = rates.peak * c[GemmConstant::efficiency] * rate_factor / (rates.processors * slower);
    double const feed = rates.held ? std::numeric_limits<double>::infinity()
                                   : c[GemmConstant::feed] * 2.5 * rates.bandwidth / rates.processors;
    double const operand = std::max(format.left, format.right);
    double const sum_rate = rates.bandwidth * c[GemmConstant::memory] * c[GemmConstant::cache_speed];
    double const rounding = c[GemmConstant::wave_rounding];
    double const overhead = c[GemmConstant::tile_overhead];
    auto const menu = std::span(splits).first(splits_depth(format) ? splits.size() : 1);
    double best = std::numeric_limits<double>::infinity();
    for (Tile const& tile : tiles) {
        double const count = groups * round_up(m / tile.m) * round_up(n / tile.n);
        double const step = std::max({k_step * 2 * tile.m * tile.n / rate, k_step * (tile.m + tile.n) * operand / feed,
                                      c[GemmConstant::step_latency]});
        for (double const split : menu) {
            if (split > 1 && (k / split < least_split_depth || count * split > 8 * rates.processors)) break;
            double const share = count * split / rates.processors;
            double const waves = rounding * round_up(share) + (1 - rounding) * std::max(1.0, share);
            double time = waves * (round_up(k / (k_step * split)) * step + overhead);
            if (split > 1) time += c[GemmConstant::reduction] * 8 * split * groups * m * n / sum_rate + overhead;
            best = std::min(best, time);
        }
    }
    return best;
}

}  // namespace

double row_share(std::int64_t n, std::int64_t k, double element_bytes) {
    constexpr double load = 16;
    double const bytes = static_cast<double>(std::gcd(n, k)) * element_bytes;
    if (std::fmod(bytes, load) == 0) return 1;
    return std::fmod(bytes, 4) == 0 ? 0.5 : 0.35;
}

double heat_factor(double heat, double work) {
    return 1 + (heat - 1) * std::log10(1 + std::min(work, most_heating) / 1e11);
}

Seconds gemm_model(GemmShape const& shape, GemmFormat const& format, KernelRates const& rates,
                   std::span<double const> constants, GemmUse const& use) {
    Values const c{constants};
    auto const groups = static_cast<double>(shape.groups);
    auto const m = static_cast<double>(shape.m);
    auto const n = static_cast<double>(shape.n);
    auto const k = static_cast<double>(shape.k);
    double const compute = compute_time(groups, m, n, k, format, rates, c, use.rate);
    double const bytes = groups * (format.left * m * k + format.right * k * n + format.out * m * n);
    double const memory_rate = rates.bandwidth * c[GemmConstant::memory];
    double held = bytes;
    if (use.cache == CacheState::rotated) {
        double const weights = groups * format.right * k * n;
        held += (rotated_copies(weights, rates.cache) - 1) * weights;
    }
    double const memory = bytes / memory_rate *
                          cached_share_of_time(held, rates,
                                               {.speed = c[GemmConstant::cache_speed],
                                                .share = c[GemmConstant::cache_share],
                                                .edge = c[GemmConstant::cache_edge]},
                                               use.cache);
    double const norm = c[GemmConstant::overlap];
    double const larger = std::max(compute, memory);
    double const smaller = std::min(compute, memory);
    double const joined = larger * std::pow(1 + std::pow(smaller / larger, norm), 1 / norm);
    return (c[GemmConstant::launch] + c[GemmConstant::ramp] * std::log2(1 + bytes / 1e6) + joined) * units::s;
}

double rotated_copies(double weight_bytes, double cache_bytes) {
    constexpr double unit = 1.048576;  // data sheets count the bytes of caches in units of 2^20
    return std::clamp(std::ceil(unit * cache_bytes / weight_bytes), 1.0, 5.0);
}

Seconds quantise_model(GemmShape const& shape, KernelRates const& rates, std::span<double const> constants) {
    Values const c{constants};
    double const bytes = 3 * static_cast<double>(shape.groups * shape.m) * static_cast<double>(shape.k);
    double const rate = rates.bandwidth * c[GemmConstant::memory];
    return (c[GemmConstant::quantise] + c[GemmConstant::quantise_passes] * bytes / rate) * units::s;
}

std::array<double, 3> gemm_coordinates(GemmShape const& shape) {
    return {log2_of(shape.groups * shape.m), log2_of(shape.n), log2_of(shape.k)};
}

std::array<double, 3> gemm_wave_coordinates(GemmShape const& shape, KernelRates const& rates) {
    constexpr Tile tile{128, 256};
    double const count =
        round_up(static_cast<double>(shape.m) / tile.m) * round_up(static_cast<double>(shape.n) / tile.n);
    double const waves = count / rates.processors;
    return {std::log2(waves), std::log2(round_up(waves) / waves), log2_of(shape.k)};
}

}  // namespace sextant
