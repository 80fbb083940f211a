#include "cost_models/gemm_model.hpp"

#include "core/spec/hardware_catalog.hpp"
#include "core/spec/kernel_catalog.hpp"
#include "cost_models/class_scaling.hpp"
#include "cost_models/kernel_estimate.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/seeds.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <random>

using namespace sextant;
using namespace sextant::fixtures;

namespace {

std::vector<double> starts() {
    std::vector<double> out;
    for (KernelConstant const& c : kernel_constants(KernelKind::gemm))
        out.push_back(c.start);
    return out;
}

double& value(std::vector<double>& constants, GemmConstant c) { return constants[static_cast<std::size_t>(c)]; }

KernelRates const rates{.peak = 1000e12, .bandwidth = 3e12, .cache = 50e6, .processors = 100};
GemmFormat const& bf16 = gemm_format(Precision::bf16);

/// Constants that leave one term alone.
std::vector<double> bare() {
    auto c = starts();
    value(c, GemmConstant::efficiency) = 1;
    value(c, GemmConstant::memory) = 1;
    value(c, GemmConstant::tile_overhead) = 0;
    value(c, GemmConstant::step_latency) = 0;
    value(c, GemmConstant::launch) = 0;
    value(c, GemmConstant::ramp) = 0;
    value(c, GemmConstant::heat) = 1;
    value(c, GemmConstant::feed) = 1e6;
    value(c, GemmConstant::wave_rounding) = 1;
    value(c, GemmConstant::reduction) = 1e18;
    value(c, GemmConstant::overlap) = 100;
    return c;
}

double seconds(GemmShape const& shape, std::vector<double> const& constants, GemmUse const& use = {}) {
    return gemm_model(shape, bf16, rates, constants, use).base();
}

/// The same where memory is no bound.
double compute_seconds(GemmShape const& shape, std::vector<double> const& constants) {
    KernelRates fast = rates;
    fast.bandwidth *= 1e6;
    return gemm_model(shape, bf16, fast, constants, {}).base();
}

std::int64_t size(std::mt19937_64& random) { return static_cast<std::int64_t>(std::exp2(uniform(random, 0, 15))); }

}  // namespace

TEST_CASE("gemm_model: full waves of whole tiles run at the peak, one tile more costs a wave") {
    auto const c = bare();
    // 100 multiprocessors, 100 tiles of 256 x 128.
    double const full = 2.0 * 256 * 12800 * 65536 / 1000e12;
    CHECK(compute_seconds({.m = 256, .n = 12800, .k = 65536}, c) == Approx(full));
    // The next column makes a second wave of the best tile that covers it; small tiles keep that cheap.
    CHECK(compute_seconds({.m = 256, .n = 12801, .k = 65536}, c) > 1.02 * full);
    auto smooth = c;
    value(smooth, GemmConstant::wave_rounding) = 0;
    CHECK(compute_seconds({.m = 256, .n = 12801, .k = 65536}, smooth) < 1.02 * full);
}

TEST_CASE("gemm_model: a product of few operations takes what its operands take from memory, or from cache when hot") {
    auto c = bare();
    double const bytes = 2.0 * (16.0 * 4096 + 4096.0 * 4096 + 16.0 * 4096);
    CHECK(seconds({.m = 16, .n = 4096, .k = 4096}, c) == Approx(bytes / 3e12).epsilon(0.01));
    value(c, GemmConstant::cache_share) = 2;  // 33 MB of 100 MB
    value(c, GemmConstant::cache_edge) = 10;
    value(c, GemmConstant::cache_speed) = 4;
    CHECK(seconds({.m = 16, .n = 4096, .k = 4096}, c, {.cache = CacheState::hot}) ==
          Approx(bytes / 12e12).epsilon(0.03));
    CHECK(seconds({.m = 16, .n = 65536, .k = 65536}, c, {.cache = CacheState::hot}) ==
          Approx(seconds({.m = 16, .n = 65536, .k = 65536}, c)).epsilon(0.01));
}

TEST_CASE("gemm_model: copies of the weights that take turns fill the cache, five at most") {
    CHECK(rotated_copies(1e6, 50e6) == 5);
    CHECK(rotated_copies(20e6, 50e6) == 3);
    CHECK(rotated_copies(48 * 1048576.0, 96e6) == 2);  // 96 MB of a data sheet are 96 MiB
    CHECK(rotated_copies(49 * 1048576.0, 96e6) == 2);
    CHECK(rotated_copies(96 * 1048576.0, 96e6) == 1);
    CHECK(rotated_copies(1e9, 50e6) == 1);
    auto c = bare();
    value(c, GemmConstant::cache_share) = 1;
    value(c, GemmConstant::cache_edge) = 40;
    auto const at = [&](std::int64_t n, CacheState cache) {
        return seconds({.m = 1, .n = n, .k = 4096}, c, {.cache = cache});
    };
    // 8 MB five times are in the cache, 16 MB four times are not, though once they would be.
    CHECK(at(1024, CacheState::rotated) == Approx(at(1024, CacheState::hot)).epsilon(0.01));
    CHECK(at(2048, CacheState::rotated) == Approx(at(2048, CacheState::cold)).epsilon(0.01));
    CHECK(at(2048, CacheState::hot) < 0.5 * at(2048, CacheState::cold));
    for (std::int64_t n = 64; n <= 65536; n *= 2) {
        CAPTURE(n);
        CHECK(at(n, CacheState::hot) <= at(n, CacheState::rotated));
        CHECK(at(n, CacheState::rotated) <= at(n, CacheState::cold));
    }
}

TEST_CASE("gemm_model: splitting k helps where there are fewer tiles than multiprocessors") {
    auto c = bare();
    double const single = compute_seconds({.m = 16, .n = 16, .k = 65536}, c);
    value(c, GemmConstant::reduction) = 0.05;
    CHECK(compute_seconds({.m = 16, .n = 16, .k = 65536}, c) < 0.1 * single);
    CHECK(compute_seconds({.m = 16, .n = 16, .k = 128}, c) == compute_seconds({.m = 16, .n = 16, .k = 128}, bare()));
}

TEST_CASE("gemm_model: more rows, columns, depth or groups never take less time", "[INV-15]") {
    std::mt19937_64 random(seeded(3));
    auto const c = starts();
    for (int i = 0; i < 500; ++i) {
        GemmShape const shape{.groups = 1 + size(random) % 8, .m = size(random), .n = size(random), .k = size(random)};
        std::int64_t const more = size(random);
        CAPTURE(shape.groups, shape.m, shape.n, shape.k, more);
        double const time = seconds(shape, c);
        GemmShape larger = shape;
        larger.m += more;
        CHECK(seconds(larger, c) >= time);
        larger = shape;
        larger.n += more;
        CHECK(seconds(larger, c) >= time);
        larger = shape;
        larger.groups += more;
        CHECK(seconds(larger, c) >= time);
    }
}

TEST_CASE("gemm_model: never faster than the peak or the memory allow", "[INV-14]") {
    std::mt19937_64 random(seeded(5));
    auto const c = starts();
    for (int i = 0; i < 500; ++i) {
        GemmShape const s{.m = size(random), .n = size(random), .k = size(random)};
        auto const m = double(s.m), n = double(s.n), k = double(s.k);
        CAPTURE(s.m, s.n, s.k);
        CHECK(seconds(s, c) >= 2 * m * n * k / rates.peak);
        CHECK(seconds(s, c) >= 2 * (m * k + k * n + m * n) / rates.bandwidth);
    }
}

TEST_CASE("gemm_wave_coordinates: whole waves lose nothing, one tile more loses nearly one of them") {
    KernelRates const rates{.peak = 1e15, .bandwidth = 1e12, .cache = 1e7, .processors = 100};
    auto const full = gemm_wave_coordinates({.m = 10 * 128, .n = 20 * 256, .k = 1024}, rates);
    CHECK(full[0] == Approx(1));  // 200 tiles: two waves
    CHECK(full[1] == Approx(0).margin(1e-12));
    CHECK(full[2] == 10);
    auto const one_more = gemm_wave_coordinates({.m = 128, .n = 101 * 256, .k = 1}, rates);
    CHECK(one_more[1] == Approx(std::log2(200. / 101)));
    // A tile that is not full counts as one.
    CHECK(gemm_wave_coordinates({.m = 1, .n = 1, .k = 1}, rates)[0] == Approx(std::log2(0.01)));
}

TEST_CASE("estimate_product: grids of a class are for devices of its measured chip", "[INV-14]") {
    auto const of_class = std::make_shared<KernelCalibration>(*find_accelerator("b200-sxm", "test").kernels);
    of_class->devices.clear();
    of_class->generation = "blackwell";
    AcceleratorProfile device = find_accelerator("b200-sxm", "test");
    auto const estimate = [&] {
        return estimate_product({.m = 512, .n = 4096, .k = 4096}, gemm_format(Precision::bf16), device,
                                {.cache = CacheState::hot});
    };
    KernelEstimate const own = estimate();
    device.kernels = of_class;
    KernelEstimate const bare = estimate();
    of_class->grid_multiprocessors = device.multiprocessors.value;
    KernelEstimate const same_chip = estimate();
    CHECK(own.support == KernelSupport::measured);
    for (KernelEstimate const& e : {bare, same_chip})
        CHECK(e.support == KernelSupport::by_class);
    // The constants of a class are scaled by what the profile says of the device, its grids are not.
    KernelFit const& fit = *of_class->find(KernelKind::gemm, "bf16");
    double const grids = fit.residual.value(gemm_coordinates({.groups = 1, .m = 512, .n = 4096, .k = 4096})) +
                         fit.waves.value(gemm_wave_coordinates({.groups = 1, .m = 512, .n = 4096, .k = 4096},
                                                               kernel_rates(device, Precision::bf16)));
    CHECK(std::abs(grids) > 1e-3);
    CHECK(std::log(same_chip.time / bare.time) == Approx(grids));
    CHECK(bare.factors.high == fit.outside.high);
    CHECK(same_chip.factors.high == own.factors.high);
}

TEST_CASE("estimate_product: no grid of a calibration makes a product faster than its device", "[INV-14]") {
    std::mt19937_64 random(seeded(5));
    for (char const* const name : {"a100-sxm-80gb", "h100-sxm", "h200-sxm", "b200-sxm", "l40s", "a100-sxm-40gb",
                                   "h800-sxm", "gh200-144gb", "gb200", "b100-sxm", "l40"}) {
        AcceleratorProfile const device = find_accelerator(name, "test");
        for (int i = 0; i < 2000; ++i) {
            auto const size = [&] { return static_cast<std::int64_t>(std::exp2(fixtures::uniform(random, 0, 17))); };
            GemmShape const shape{.groups = 1, .m = size(), .n = size(), .k = size()};
            double const work =
                2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
            INFO(name << " " << shape.m << " x " << shape.n << " x " << shape.k);
            auto const estimate = estimate_product(shape, gemm_format(Precision::bf16), device,
                                                   {.cache = CacheState::hot}, Quantising::included);
            CHECK(estimate.time.base() >= work / device.peak_of(Precision::bf16).value.base());
        }
    }
}

TEST_CASE("estimate_product: a higher peak never makes a product slower, on any device", "[INV-15]") {
    std::mt19937_64 random(seeded(7));
    auto const size = [&] { return static_cast<std::int64_t>(std::exp2(fixtures::uniform(random, 4, 14))); };
    for (AcceleratorProfile const& device : all_accelerators()) {
        if (is_host(device)) continue;
        AcceleratorProfile better = device;
        double const factor = std::vector{1.2, 2.0, 4.0}[random() % 3];
        for (auto& [precision, peak] : better.peak)
            peak.value *= factor;
        for (int i = 0; i < 50; ++i) {
            GemmShape const shape{.m = size(), .n = size(), .k = size()};
            auto const seconds = [&](AcceleratorProfile const& on) {
                return estimate_product(shape, gemm_format(two_byte_precision(on)), on, {}).time.base();
            };
            CAPTURE(device.name, factor, shape.m, shape.n, shape.k);
            CHECK(seconds(better) <= seconds(device) * (1 + 1e-9));
        }
    }
}

TEST_CASE("profiles: a device of few large cores works on several tiles in each, a GPU's multiprocessor on one") {
    CHECK(known_accelerator("gb200")->tiles_each == 1);
    CHECK(known_accelerator("b200-sxm")->tiles_each == 1);
    CHECK(known_accelerator("tpu-v5p")->tiles_each == 15);
    CHECK(known_accelerator("gaudi3")->tiles_each == 14);
}

TEST_CASE("estimate_product: int8 runs at the device's own int8 peak, whatever its 16-bit one is", "[INV-14]") {
    GemmFormat const& int8 = *find_gemm_format("int8");
    GemmShape const large{.groups = 1, .m = 16384, .n = 16384, .k = 16384};
    double const work = 2 * std::pow(16384.0, 3);
    for (char const* name : {"tpu-v4", "mi250x-gcd", "b300-sxm", "a100-sxm-80gb", "rtx-4090", "t4"}) {
        AcceleratorProfile device = find_accelerator(name, "test");
        CAPTURE(name);
        auto const time = [&] { return estimate_product(large, int8, device, {}).time.base(); };
        double const stated = time();
        CHECK(stated >= work / device.peak_of(int8).value.base());
        device.int8_peak->value = 0.5 * device.int8_peak->value;
        CHECK(time() > 1.5 * stated);
        device.int8_peak.reset();
        CHECK_THROWS_WITH(time(), contains("has no int8 products"));
    }
}

TEST_CASE("estimate_product: int8 on a slower card of the chip is slower as its other products are", "[INV-14]") {
    GemmShape const large{.groups = 1, .m = 8192, .n = 8192, .k = 8192};
    auto const seconds = [&](char const* name, char const* format) {
        return estimate_product(large, *find_gemm_format(format), find_accelerator(name, "test"), {}).time.base();
    };
    for (char const* const name : {"h100-pcie", "h800-pcie"}) {
        double const others = seconds(name, "bf16") / seconds("h100-sxm", "bf16");
        CHECK(seconds(name, "int8") / seconds("h100-sxm", "int8") == Approx(others).epsilon(0.1));
    }
}

TEST_CASE("estimate_product: a device's own fit to small products promises no large one above its peak", "[INV-14]") {
    AcceleratorProfile device = find_accelerator("h100-sxm", "test");
    auto own = *device.kernels;
    for (KernelFit& fit : own.fits)
        if (fit.kind == KernelKind::gemm && fit.variant == "bf16") {
            std::vector<double> quicker = fit.residual.values();
            for (double& value : quicker)
                value -= 1;
            fit.residual = {fit.residual.axes(), quicker};
        }
    device.kernels = std::make_shared<KernelCalibration const>(own);
    double const peak = device.peak_of(Precision::bf16).value.base();
    for (std::int64_t const size : {1024, 2048, 4096, 16384}) {
        GemmShape const shape{.groups = 1, .m = size, .n = size, .k = size};
        double const least = 2.0 * std::pow(static_cast<double>(size), 3) / peak;
        auto const estimate = estimate_product(shape, gemm_format(Precision::bf16), device, {.cache = CacheState::hot});
        CHECK(estimate.time.base() >= least);
        CHECK(estimate.time.base() * estimate.factors.low >= least * (1 - 1e-12));
    }
}

TEST_CASE("gemm formats: every name and alias finds its format, and weights-only ones read fewer bytes") {
    for (GemmFormat const& format : gemm_formats()) {
        CHECK(find_gemm_format(format.name) == &format);
        CHECK(find_gemm_format(format.alias) == &format);
    }
    CHECK(find_gemm_format("q7") == nullptr);
    auto const c = starts();
    GemmShape const decode{.m = 4, .n = 8192, .k = 8192};
    CHECK(gemm_model(decode, *find_gemm_format("int4-weights"), rates, c, {}) <
          gemm_model(decode, *find_gemm_format("int8-weights"), rates, c, {}));
    CHECK(gemm_model(decode, *find_gemm_format("int8-weights"), rates, c, {}) < gemm_model(decode, bf16, rates, c, {}));
}

TEST_CASE("gemm_model: formats whose kernels keep k whole take as much longer as k is") {
    auto c = bare();
    value(c, GemmConstant::step_latency) = 1e-7;
    value(c, GemmConstant::reduction) = 0.05;
    auto const longer = [&](char const* format) {
        auto const seconds = [&](std::int64_t k) {
            return gemm_model({.m = 16, .n = 128, .k = k}, *find_gemm_format(format), rates, c, {}).base();
        };
        return seconds(65536) / seconds(8192);
    };
    for (char const* format : {"fp8-block", "fp4", "int4-weights", "int8-weights"}) {
        CAPTURE(format);
        CHECK(longer(format) == Approx(8).epsilon(0.01));
    }
    // Those that split it begin with a 16th of the chain.
    GemmShape const deep{.m = 16, .n = 128, .k = 65536};
    CHECK(gemm_model(deep, *find_gemm_format("fp8-block"), rates, c, {}) >
          8 * gemm_model(deep, *find_gemm_format("fp8"), rates, c, {}));
    // So does a device without measurements of its own.
    AcceleratorProfile device = find_accelerator("l40s", "test");
    device.multiprocessors.value -= 10;
    device.kernels = shipped_kernel_calibration("class-ada");
    auto const seconds = [&](AcceleratorProfile const& on) {
        return estimate_product({.m = 16, .n = 128, .k = 65536}, *find_gemm_format("fp8-block"), on, {}).time.base();
    };
    CHECK(seconds(device) == Approx(seconds(find_accelerator("l40s", "test"))).epsilon(0.25));
}

TEST_CASE("gemm_model: heat slows nothing beyond the largest products that were measured") {
    auto c = bare();
    value(c, GemmConstant::heat) = 1.1;
    auto const reached = [&](std::int64_t size) {
        return 2 * std::pow(static_cast<double>(size), 3) / compute_seconds({.m = size, .n = size, .k = size}, c);
    };
    CHECK(reached(8192) < 0.95 * reached(2048));
    CHECK(reached(131072) == Approx(reached(32768)).epsilon(0.01));
    CHECK(heat_factor(1.1, 1e11) == Approx(1 + 0.1 * std::log10(2.0)));
    CHECK(heat_factor(1.1, 1e16) == heat_factor(1.1, most_heating));
}

TEST_CASE("scale_heat: a device of less peak for its power loses less, and a product of 8192 takes as long") {
    AcceleratorProfile const h100 = find_accelerator("h100-sxm", "test");
    AcceleratorProfile h20 = find_accelerator("h20-sxm", "test");
    ClassProfile const hopper{.flops_per_joule = flops_per_joule(h100)};
    auto const starts_with = [](double heat) {
        auto c = bare();
        value(c, GemmConstant::heat) = heat;
        return c;
    };
    auto scaled = starts_with(1.1);
    scale_heat(scaled, hopper, h20);
    CHECK(value(scaled, GemmConstant::heat) == Approx(1 + 0.1 * (148.0 / 400) / (989.4 / 700)).epsilon(1e-3));
    GemmShape const stated{.m = 8192, .n = 8192, .k = 8192};
    CHECK(compute_seconds(stated, scaled) == Approx(compute_seconds(stated, starts_with(1.1))));
    GemmShape const larger{.m = 32768, .n = 32768, .k = 32768};
    CHECK(compute_seconds(larger, scaled) < 0.95 * compute_seconds(larger, starts_with(1.1)));
    auto own = starts_with(1.1);
    scale_heat(own, hopper, h100);
    CHECK(own == starts_with(1.1));
    h20.power_watts.value = 0;  // not stated
    scale_heat(own, hopper, h20);
    CHECK(own == starts_with(1.1));
}

TEST_CASE("estimate_product: grids of products that were measured alone leave the quantising beside them alone") {
    GemmFormat const& int8 = *find_gemm_format("int8");
    for (char const* const name : {"h100-sxm", "h800-sxm"}) {
        AcceleratorProfile const device = find_accelerator(name, "test");
        auto const fit_of = [&](AcceleratorProfile const& of) {
            auto const& own = *of.kernels;
            KernelFit const* const fit = own.find(KernelKind::gemm, "int8");
            return fit != nullptr ? fit : shipped_kernel_calibration("class-hopper")->find(KernelKind::gemm, "int8");
        };
        CHECK_FALSE(fit_of(device)->with_quantising);
        double before = 0;
        for (std::int64_t const k : {32, 128, 512, 1024, 2048}) {
            CAPTURE(name, k);
            auto const seconds = [&](Quantising quantising) {
                return estimate_product({.m = 64, .n = 512, .k = k}, int8, device, {.cache = CacheState::hot},
                                        quantising)
                    .time.base();
            };
            double const beside = seconds(Quantising::included) - seconds(Quantising::apart);
            CHECK(beside > 7e-6);
            CHECK(beside >= before);
            before = beside;
        }
    }
}

TEST_CASE("estimate_product: with nothing in the cache no product is quicker than memory brings its weights") {
    std::mt19937_64 random(seeded(6));
    auto const size = [&] { return static_cast<std::int64_t>(std::exp2(fixtures::uniform(random, 0, 15))); };
    for (char const* const name : {"l40s", "h100-sxm", "b200-sxm", "a100-sxm-80gb", "gb200", "mi300x"}) {
        AcceleratorProfile const device = find_accelerator(name, "test");
        for (char const* const format_name : {"bf16", "fp8", "fp8-block", "int4-weights"}) {
            GemmFormat const& format = *find_gemm_format(format_name);
            if (!device.multiplies(format)) continue;
            for (int i = 0; i < 300; ++i) {
                GemmShape const shape{.groups = 1 + i % 3, .m = 1 + i % 40, .n = size(), .k = size()};
                CAPTURE(name, format_name, shape.groups, shape.m, shape.n, shape.k);
                double const weights =
                    static_cast<double>(shape.groups * shape.n) * static_cast<double>(shape.k) * format.right;
                auto const estimate = estimate_product(shape, format, device, {.cache = CacheState::cold});
                CHECK(estimate.time.base() >= weights / device.memory_bandwidth.value.base());
            }
        }
    }
}

TEST_CASE("quantise_model: a constant and three bytes per activation at the memory's rate") {
    auto c = starts();
    value(c, GemmConstant::quantise) = 5e-6;
    value(c, GemmConstant::quantise_passes) = 2;
    value(c, GemmConstant::memory) = 0.5;
    CHECK(quantise_model({.m = 1000, .n = 7, .k = 1000}, rates, c).base() == Approx(5e-6 + 2 * 3e6 / 1.5e12));
}

TEST_CASE("estimate_product: a device's own fit in one 16-bit format serves the other, before those of its class") {
    AcceleratorProfile device = find_accelerator("h100-sxm", "test");
    auto const mine = std::make_shared<KernelCalibration>(*device.kernels);
    device.kernels = mine;
    auto const estimate = [&](Precision precision) {
        return estimate_product({.m = 512, .n = 4096, .k = 4096}, gemm_format(precision), device,
                                {.cache = CacheState::hot});
    };
    for (auto const& [measured, other] :
         {std::pair(Precision::bf16, Precision::fp16), std::pair(Precision::fp16, Precision::bf16)}) {
        auto const fit = std::find_if(mine->fits.begin(), mine->fits.end(), [](KernelFit const& f) {
            return f.kind == KernelKind::gemm && (f.variant == "bf16" || f.variant == "fp16");
        });
        fit->variant = gemm_format(measured).name;
        KernelEstimate const own = estimate(measured);
        KernelEstimate const sister = estimate(other);
        CHECK(own.support == KernelSupport::measured);
        CHECK(sister.support == KernelSupport::by_format);
        CHECK(sister.time == own.time);
        CHECK(sister.factors.high == Approx(std::pow(own.factors.high, 1.5)));
    }
    // Where the rates differ, so do the kernels.
    device.peak.at(Precision::fp16).value = 0.5 * device.peak.at(Precision::fp16).value;
    CHECK(estimate(Precision::bf16).support == KernelSupport::by_class);
}

namespace {

/// Of the peak, what a large product reaches on the device.
double share_of_peak(char const* name, GemmFormat const& format, Quantising quantising, std::int64_t size = 8192) {
    AcceleratorProfile const device = find_accelerator(name, "test");
    double const seconds =
        estimate_product({.m = size, .n = size, .k = size}, format, device, {}, quantising).time.base();
    return 2 * std::pow(static_cast<double>(size), 3) / (seconds * device.peak_of(format).value.base());
}

}  // namespace

TEST_CASE("estimate_product: large products in fp8 reach what the profile states, by other chips of a generation") {
    GemmFormat const& fp8 = gemm_format(Precision::fp8);
    auto const stated = [](char const* name) {
        return find_accelerator(name, "test").gemm_efficiency_of(Precision::fp8);
    };
    for (char const* const name : {"h20-sxm", "rtx-5090", "rtx-4090", "h100-pcie"}) {
        CAPTURE(name);
        CHECK(share_of_peak(name, fp8, Quantising::included) == Approx(stated(name)).epsilon(0.05));
    }
    // The same chip keeps its constants in every format that is scaled by the same statement.
    for (char const* const format : {"fp8", "fp8-block"}) {
        CAPTURE(format);
        CHECK(share_of_peak("gh200-144gb", *find_gemm_format(format), Quantising::included) ==
              Approx(share_of_peak("h100-sxm", *find_gemm_format(format), Quantising::included)).epsilon(0.06));
    }
}

TEST_CASE("estimate_product: cards of Blackwell multiply as Ada's, but for what only sm_120 has") {
    auto const seconds = [](char const* name, char const* format, std::int64_t rows) {
        return estimate_product({.m = rows, .n = 64, .k = 1536}, *find_gemm_format(format),
                                find_accelerator(name, "test"), {}, Quantising::included)
            .time.base();
    };
    for (char const* const format : {"bf16", "fp8"})
        for (std::int64_t const rows : {256, 2048, 16384}) {
            CAPTURE(format, rows);
            CHECK(seconds("rtx-pro-6000", format, rows) < 1.05 * seconds("l40s", format, rows));
        }
    AcceleratorProfile const card = find_accelerator("rtx-5090", "test");
    CHECK(kernel_class(card, KernelKind::gemm, "fp8") == "class-ada");
    CHECK(kernel_class(card, KernelKind::gemm, "fp8-block") == "class-blackwell");
    CHECK(kernel_class(card, KernelKind::gemm, "fp4") == "class-blackwell");
    CHECK(kernel_class(find_accelerator("b200-sxm", "test"), KernelKind::gemm, "fp8") == "class-blackwell");
}

TEST_CASE("estimate_product: larger products keep the rate of large ones") {
    for (char const* const name : {"h20-sxm", "rtx-4090", "mi300x", "h100-sxm"}) {
        CAPTURE(name);
        GemmFormat const& bf16_format = gemm_format(Precision::bf16);
        double const large = share_of_peak(name, bf16_format, Quantising::apart, 32768);
        CHECK(share_of_peak(name, bf16_format, Quantising::apart, 131072) > 0.98 * large);
    }
    CHECK(share_of_peak("h20-sxm", gemm_format(Precision::bf16), Quantising::apart, 32768) >
          0.96 * share_of_peak("h20-sxm", gemm_format(Precision::bf16), Quantising::apart, 8192));
}

TEST_CASE("estimate_product: what a profile states scales no constant above the peak", "[INV-14]") {
    for (char const* const name : {"rtx-4090", "rtx-4080", "rtx-6000-ada"}) {
        CAPTURE(name);
        GemmFormat const& format = gemm_format(two_byte_precision(find_accelerator(name, "test")));
        CHECK(share_of_peak(name, format, Quantising::apart, 4096) < 0.97);
    }
}

TEST_CASE("estimates by class: what the profile states of its memory scales what waits for it") {
    auto const ratios = [](char const* name) {
        AcceleratorProfile const device = find_accelerator(name, "test");
        AcceleratorProfile slow = device;
        slow.memory_efficiency.value = 0.5 * device.memory_efficiency.value;
        auto const ratio = [&](auto const& seconds) { return seconds(slow) / seconds(device); };
        return std::array{
            ratio([](AcceleratorProfile const& on) {
                GemmShape const shape{.m = 1, .n = 32768, .k = 32768};
                return estimate_product(shape, gemm_format(Precision::bf16), on, {}).time.base();
            }),
            ratio([](AcceleratorProfile const& on) {
                DecodeAttention const shape{.batch = 256, .heads = 8, .kv_heads = 8, .keys = 16384, .head_dim = 128};
                return estimate_decode(shape, "bf16/bf16", on, CacheState::cold).time.base();
            }),
            ratio([](AcceleratorProfile const& on) {
                return estimate_memory_kernel(4 * units::GB, "rmsnorm bf16", on, CacheState::cold).time.base();
            })};
    };
    auto const by_class = ratios("max-1550");
    CHECK(by_class[0] > 1.7);
    CHECK(by_class[1] > 1.4);
    CHECK(by_class[2] > 1.7);
    auto const own = ratios("h100-sxm");
    CHECK(own[0] == 1);
    CHECK(own[1] == 1);
}

TEST_CASE("estimate_product: by the grids of its chip no product takes longer than one of rows that fill its tiles") {
    for (auto const& [name, format] : {std::pair("gh200-96gb", "fp8-block"), std::pair("l40", "bf16")}) {
        AcceleratorProfile const device = find_accelerator(name, "test");
        for (std::int64_t const width : {128, 4096, 8192})
            for (auto const& [m, full] : {std::pair(1, 16), std::pair(8, 16), std::pair(33, 64), std::pair(100, 128),
                                          std::pair(129, 256), std::pair(1000, 1024)}) {
                auto const seconds = [&](std::int64_t rows) {
                    return estimate_product({.m = rows, .n = width, .k = 4096}, *find_gemm_format(format), device, {})
                        .time.base();
                };
                CAPTURE(name, width, m);
                CHECK(seconds(m) <= seconds(full));
            }
    }
}
