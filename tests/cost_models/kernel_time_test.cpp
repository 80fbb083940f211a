#include "cost_models/kernel_time.hpp"

#include "core/ops/work.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "cost_models/kernel_estimate.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/seeds.hpp"

#include <algorithm>
#include <cmath>

using namespace sextant;
using namespace sextant::fixtures;

namespace {

/// Every rate times `factor`, every latency divided by it.
AcceleratorProfile faster(AcceleratorProfile a, double factor) {
    for (auto& [precision, peak] : a.peak)
        peak.value *= factor;
    a.vector_peak.value *= factor;
    a.memory_bandwidth.value *= factor;
    a.launch_latency.value /= factor;
    return a;
}

std::int64_t size(std::mt19937_64& random) { return static_cast<std::int64_t>(std::exp2(uniform(random, 0, 15))); }

Op random_op(std::mt19937_64& random) {
    switch (random() % 4) {
        case 0: return {.name = "gemm", .what = Gemm{.m = size(random), .n = size(random), .k = size(random)}};
        case 1: {
            std::int64_t const groups = pick<std::int64_t>(random, {2, 8, 64});
            return {.name = "grouped",
                    .what = GroupedGemm{
                        .groups = groups, .m = groups * size(random), .n = size(random), .k = size(random)}};
        }
        case 2: {
            std::int64_t const tokens = 1 + size(random);
            return {.name = "attention",
                    .what = Attention{.batch = pick<std::int64_t>(random, {1, 4}),
                                      .heads = 16,
                                      .kv_heads = 4,
                                      .queries = tokens,
                                      .keys = tokens,
                                      .head_dim = pick<std::int64_t>(random, {64, 128}),
                                      .value_head_dim = 128,
                                      .kernel = pick(random, {AttentionKernel::flash, AttentionKernel::unfused,
                                                              AttentionKernel::eager})}};
        }
        default:
            return {.name = "stream",
                    .what = Streaming{.forward = uniform(random, 1, 1e9) * units::B,
                                      .backward = uniform(random, 1, 1e9) * units::B,
                                      .kernels = pick<std::int64_t>(random, {1, 5})}};
    }
}

}  // namespace

TEST_CASE("kernel_time: a machine twice as fast in every respect takes half the time", "[INV-13]") {
    std::mt19937_64 random(seeded(1));
    AcceleratorProfile const machine = accelerator();
    AcceleratorProfile const twice = faster(machine, 2);
    FrameworkTiming const framework = neutral_timing();
    for (int i = 0; i < 500; ++i) {
        Op const op = random_op(random);
        for (Pass const pass : {Pass::forward, Pass::backward}) {
            CAPTURE(op.name);
            CHECK(kernel_time(op, pass, twice, framework).base() ==
                  Approx(0.5 * kernel_time(op, pass, machine, framework).base()).epsilon(1e-12));
        }
    }
}

TEST_CASE("kernel_time: never shorter than the work at full rate", "[INV-14]") {
    std::mt19937_64 random(seeded(2));
    AcceleratorProfile const machine = accelerator();
    FrameworkTiming const framework = neutral_timing();
    for (int i = 0; i < 500; ++i) {
        Op const op = random_op(random);
        for (Pass const pass : {Pass::forward, Pass::backward}) {
            Work const work = work_of(op, pass);
            Seconds const time = kernel_time(op, pass, machine, framework);
            CAPTURE(op.name, work.executed.base(), work.moved.base());
            CHECK(time >= work.executed / machine.peak_of(Precision::bf16).value);
            // Fused attention reads less than it moves on paper: what it keeps of the forward pass is counted there.
            if (op.op_class() != OpClass::attention) CHECK(time >= work.moved / machine.memory_bandwidth.value);
        }
    }
}

TEST_CASE("gemm_time: a large square product reaches the efficiency of the profile, small ones do not", "[INV-14]") {
    AcceleratorProfile const machine = accelerator();
    auto const fraction = [&](std::int64_t n) {
        Flops const flops = 2 * std::pow(static_cast<double>(n), 3) * units::flop;
        return flops / gemm_time(n, n, n, Precision::bf16, machine, neutral_timing()) /
               machine.peak_of(Precision::bf16).value;
    };
    CHECK(fraction(8192) > 0.9 * 0.8);
    CHECK(fraction(8192) <= 0.8);
    CHECK(fraction(1024) < fraction(8192));
    CHECK(fraction(128) < 0.05);
}

TEST_CASE("a product with rows that are no multiple of 16 bytes takes longer than a larger one, in all its passes") {
    auto const head = [](std::int64_t columns, Pass pass) {
        Gemm const product{.m = 8192, .n = columns, .k = 2048, .precision = Precision::fp16};
        return kernel_time({.name = "head", .what = product}, pass, accelerator(), neutral_timing());
    };
    for (Pass const pass : {Pass::forward, Pass::backward}) {
        Seconds const padded = head(50304, pass);
        CHECK(head(50264, pass) <= padded);                           // 16 bytes
        CHECK(head(50260, pass) / padded == Approx(2).epsilon(0.1));  // 8
        CHECK(head(50257, pass) / padded == Approx(1 / 0.35).epsilon(0.1));
    }
}

TEST_CASE("gemm_time: more rows, columns or groups never take less time, where rows start at 16 bytes", "[INV-15]") {
    std::mt19937_64 random(seeded(3));
    AcceleratorProfile const machine = accelerator();
    FrameworkTiming const framework = neutral_timing();
    auto const time_of = [&](std::int64_t groups, std::int64_t m, std::int64_t n, std::int64_t k) {
        GroupedGemm const experts{.groups = groups, .m = groups * m, .n = n, .k = k};
        return kernel_time({.name = "experts", .what = experts}, Pass::forward, machine, framework);
    };
    for (int i = 0; i < 500; ++i) {
        std::int64_t const m = size(random), n = 8 * size(random), k = 8 * size(random), more = 8 * size(random);
        Seconds const time = time_of(2, m, n, k);
        CAPTURE(m, n, k, more);
        CHECK(time_of(2, m + more, n, k) >= time);
        CHECK(time_of(2, m, n + more, k) >= time);
        CHECK(time_of(2 + more, m, n, k) >= time);
    }
}

TEST_CASE("kernel_time: a rank's only expert is a product of experts, not one of the dense layers") {
    AcceleratorProfile const machine = accelerator();
    FrameworkTiming framework = neutral_timing();
    auto const seconds = [&](std::int64_t groups) {
        GroupedGemm const experts{.groups = groups, .m = 8192, .n = 4096, .k = 4096};
        return kernel_time({.name = "experts", .what = experts}, Pass::forward, machine, framework).base();
    };
    double const one = seconds(1), two = seconds(2);
    framework.grouped_gemm_scale.value = 0.6;
    CHECK(seconds(1) > 1.5 * one);
    CHECK(seconds(2) > 1.5 * two);
    CHECK(seconds(1) == Approx(seconds(2)).epsilon(0.1));
}

TEST_CASE("kernel_time: experts have whole rows, the busiest one's, and those without any cost nothing") {
    AcceleratorProfile const machine = accelerator();
    auto const seconds = [&](std::int64_t groups, std::int64_t rows) {
        GroupedGemm const experts{.groups = groups, .m = rows, .n = 4096, .k = 4096};
        return kernel_time({.name = "experts", .what = experts}, Pass::forward, machine, neutral_timing()).base();
    };
    CHECK(seconds(64, 64 * 256 + 1) == seconds(64, 64 * 257));
    CHECK(seconds(64, 3) == seconds(3, 3));
    CHECK(seconds(64, 1) < 0.1 * seconds(64, 64));
}

TEST_CASE("kernel_time: products of experts take as long as those of the busiest rank") {
    AcceleratorProfile const machine = accelerator();
    auto const seconds = [&](std::int64_t rows, double busiest, Pass pass) {
        GroupedGemm const experts{.groups = 8, .m = rows, .n = 4096, .k = 4096, .busiest = busiest};
        return kernel_time({.name = "experts", .what = experts}, pass, machine, neutral_timing());
    };
    for (Pass const pass : {Pass::forward, Pass::backward}) {
        CHECK(seconds(8192, 1.5, pass) == seconds(12288, 1, pass));
        CHECK(seconds(8192, 1.5, pass) > 1.2 * seconds(8192, 1, pass));
    }
}

TEST_CASE("gemm_time: fp8 with twice the peak is never slower than bf16", "[INV-15]") {
    std::mt19937_64 random(seeded(4));
    AcceleratorProfile const machine = accelerator();
    for (int i = 0; i < 200; ++i) {
        std::int64_t const m = size(random), n = size(random), k = size(random);
        CHECK(gemm_time(m, n, k, Precision::fp8, machine, neutral_timing()) <=
              gemm_time(m, n, k, Precision::bf16, machine, neutral_timing()));
    }
}

TEST_CASE("kernel_time: a framework that reaches half of the speed takes twice as long on large work", "[INV-13]") {
    AcceleratorProfile const machine = accelerator();
    FrameworkTiming half = neutral_timing();
    half.gemm_scale.value = half.attention_scale.value = half.memory_scale.value = 0.5;
    Op const products[] = {{.name = "gemm", .what = Gemm{.m = 16384, .n = 16384, .k = 16384}},
                           {.name = "attention",
                            .what = Attention{.batch = 4,
                                              .heads = 32,
                                              .kv_heads = 8,
                                              .queries = 32768,
                                              .keys = 32768,
                                              .head_dim = 128,
                                              .value_head_dim = 128}},
                           {.name = "stream", .what = Streaming{.forward = 10 * units::GB, .backward = {}}}};
    for (Op const& op : products) {
        double const slower =
            kernel_time(op, Pass::forward, machine, half) / kernel_time(op, Pass::forward, machine, neutral_timing());
        CHECK(slower == Approx(2).epsilon(0.05));
    }
}

TEST_CASE("attention_time: long sequences approach the profile's efficiency, flash beats unfused there", "[INV-14]") {
    AcceleratorProfile const machine = accelerator();
    Attention const a{.batch = 1,
                      .heads = 32,
                      .kv_heads = 32,
                      .queries = 32768,
                      .keys = 32768,
                      .head_dim = 128,
                      .value_head_dim = 128};
    auto const reached = [&](Pass pass) {
        return work_of({.name = "attention", .what = a}, pass).executed /
               attention_time(a, pass, machine, neutral_timing()) / machine.peak_of(Precision::bf16).value;
    };
    CHECK(reached(Pass::forward) == Approx(0.6).epsilon(0.06));
    CHECK(reached(Pass::backward) == Approx(0.5).epsilon(0.06));
    Attention unfused = a;
    unfused.kernel = AttentionKernel::unfused;
    CHECK(attention_time(unfused, Pass::forward, machine, neutral_timing()) >
          attention_time(a, Pass::forward, machine, neutral_timing()));
}

TEST_CASE("attention_time: of values of four bytes it is that of three products in TF32, or of the vector units",
          "[INV-14]") {
    Attention a{
        .batch = 1, .heads = 32, .kv_heads = 32, .queries = 8192, .keys = 8192, .head_dim = 128, .value_head_dim = 128};
    for (char const* const name : {"a100-sxm-80gb", "h100-sxm", "v100-sxm2-32gb", "mi250x-gcd"}) {
        AcceleratorProfile const device = find_accelerator(name, "test");
        CAPTURE(name);
        for (Pass const pass : {Pass::forward, Pass::backward}) {
            a.precision = Precision::bf16;
            double const narrow = attention_time(a, pass, device, neutral_timing()).base();
            double const work = work_of({.name = "attention", .what = a}, pass).executed.base();
            a.precision = Precision::fp32;
            double const fp32 = attention_time(a, pass, device, neutral_timing()).base();
            CHECK(fp32 > 1.5 * narrow);
            bool const has_tf32 = device.peak.contains(Precision::tf32);
            double const most =
                has_tf32 ? device.peak_of(Precision::tf32).value.base() / 3 : device.vector_peak.value.base();
            CHECK(work / fp32 <= most);
            CHECK(work / fp32 > 0.2 * most);
            a.precision = Precision::tf32;
            CHECK(attention_time(a, pass, device, neutral_timing()).base() == fp32);
        }
    }
}

TEST_CASE("attention whose scores are in memory multiplies in the plan's format and moves its bytes", "[INV-14]") {
    AcceleratorProfile const device = find_accelerator("a100-sxm-80gb", "test");
    for (AttentionKernel const kernel : {AttentionKernel::unfused, AttentionKernel::eager}) {
        Attention a{.batch = 1,
                    .heads = 32,
                    .kv_heads = 32,
                    .queries = 4096,
                    .keys = 4096,
                    .head_dim = 128,
                    .value_head_dim = 128,
                    .kernel = kernel};
        Seconds const narrow = attention_time(a, Pass::forward, device, neutral_timing());
        a.precision = Precision::tf32;
        Seconds const tf32 = attention_time(a, Pass::forward, device, neutral_timing());
        a.precision = Precision::fp32;
        CHECK(attention_time(a, Pass::forward, device, neutral_timing()) > tf32);
        if (kernel == AttentionKernel::unfused) CHECK(tf32 > 1.6 * narrow);
        CHECK(tf32 < 2.5 * narrow);
    }
}

TEST_CASE(
    "attention_time: on no accelerator of the catalog are scores in memory faster than a fused kernel that fills it",
    "[INV-14]") {
    FrameworkTiming const framework = neutral_timing();
    std::size_t compared = 0;
    for (AcceleratorProfile const& machine : all_accelerators()) {
        double const processors = kernel_rates(machine, usual_precision(machine)).processors;
        for (std::int64_t const head_dim : {64, 80, 96, 128, 192, 256})  // those that FlashAttention has kernels for
            for (std::int64_t const tokens : {2048, 4096, 8192, 32768})
                for (std::int64_t const window : {0, 128, 1024, 4096})
                    for (std::int64_t const heads : {1, 4, 8, 16, 32, 64}) {
                        // Two tiles of 128 queries for each processor: with fewer, products spread better over them.
                        if (static_cast<double>(heads * tokens / 128) < 2 * processors) continue;
                        Attention a{.batch = 1,
                                    .heads = heads,
                                    .kv_heads = heads,
                                    .queries = tokens,
                                    .keys = tokens,
                                    .window = window,
                                    .head_dim = head_dim,
                                    .value_head_dim = head_dim};
                        auto const time = [&](AttentionKernel kernel) {
                            a.kernel = kernel;
                            return attention_time(a, Pass::forward, machine, framework) +
                                   attention_time(a, Pass::backward, machine, framework);
                        };
                        CAPTURE(machine.name, head_dim, tokens, window, heads);
                        Seconds const unfused = time(AttentionKernel::unfused);
                        // With wide heads and few tokens the fused kernel's second pass over the scores costs about
                        // what moving half of them saves.
                        double const bound = head_dim >= 192 && tokens <= 8192 ? 1.06 : 1;
                        CHECK(time(AttentionKernel::flash) < bound * unfused);
                        CHECK(time(AttentionKernel::eager) > unfused);
                        ++compared;
                    }
    }
    CHECK(compared > 10'000);
}

TEST_CASE("attention_time: products with scores in memory are never faster than the device's matrix products",
          "[INV-14]") {
    std::mt19937_64 random(seeded(5));
    for (AcceleratorProfile const& machine : all_accelerators())
        for (int i = 0; i < 10; ++i) {
            Attention const a{.batch = 1,
                              .heads = pick<std::int64_t>(random, {1, 8, 32}),
                              .kv_heads = 1,
                              .queries = 8192,
                              .keys = 8192,
                              .head_dim = pick<std::int64_t>(random, {64, 128, 256, 512}),
                              .value_head_dim = 128,
                              .kernel = AttentionKernel::unfused};
            for (Pass const pass : {Pass::forward, Pass::backward}) {
                Flops const work = work_of({.name = "attention", .what = a}, pass).executed;
                Precision const precision = usual_precision(machine);
                CAPTURE(machine.name, a.heads, a.head_dim);
                // What is stated is of usual large products; where their traffic hides (without matrix units, or at
                // half their rate), shorter ones are above it.
                FlopsPerSecond products = machine.peak_of(precision).value * machine.gemm_efficiency_of(precision);
                for (Gemm const& g : {Gemm{.m = a.queries, .n = a.keys, .k = a.head_dim},
                                      Gemm{.m = a.queries, .n = a.value_head_dim, .k = a.keys},
                                      Gemm{.m = a.keys, .n = a.head_dim, .k = a.queries}}) {
                    GemmShape const shape{.m = g.m, .n = g.n, .k = g.k};
                    products =
                        std::max(products, work_of({.name = "product", .what = g}, Pass::forward).executed /
                                               estimate_product(shape, gemm_format(precision), machine, {}).time);
                }
                CHECK(work / attention_time(a, pass, machine, neutral_timing()) / products <= 1.02);
            }
        }
}

TEST_CASE("streaming_time: bytes over the reached bandwidth, a launch per kernel, unfused passes multiply",
          "[INV-14]") {
    AcceleratorProfile const machine = accelerator();
    FrameworkTiming framework = neutral_timing();
    CHECK(streaming_time(3015 * units::MB, 1, machine, framework).in(units::us) ==
          Approx(1000 + 4));  // 3,350 GB/s * 0.9
    CHECK(streaming_time({}, 5, machine, framework).in(units::us) == Approx(20));
    framework.activation_passes.value = 3;
    CHECK(streaming_time(3015 * units::MB, 1, machine, framework).in(units::us) == Approx(3000 + 4));
}

TEST_CASE("kernel_count: one per product forward, two backward, none in a pass the op is not in", "[INV-14]") {
    Op op{.name = "gemm", .what = Gemm{.m = 64, .n = 64, .k = 64}};
    CHECK(kernel_count(op, Pass::forward) == 1);
    CHECK(kernel_count(op, Pass::backward) == 2);
    op.passes = Passes::forward;
    CHECK(kernel_count(op, Pass::backward) == 0);
    CHECK(kernel_time(op, Pass::backward, accelerator(), neutral_timing()) == Seconds{});
    CHECK(kernel_count({.name = "stream", .what = Streaming{.forward = {}, .backward = {}, .kernels = 5}},
                       Pass::backward) == 5);
}

TEST_CASE("fp8 by blocks runs at the rates of its own kernels, mxfp8 at those of fp8, and each where it can") {
    FrameworkTiming const framework = neutral_framework().timing.front();
    auto const time = [&](char const* device, Precision precision, std::int64_t m) {
        return gemm_time(m, 8192, 8192, precision, find_accelerator(device, "test"), framework);
    };
    // Large products by blocks are a little slower on Hopper, whose units do not apply the scales.
    double const slower = time("h100-sxm", Precision::fp8_block, 16384) / time("h100-sxm", Precision::fp8, 16384);
    CHECK(slower > 1.01);
    CHECK(slower < 1.5);
    CHECK(time("b200-sxm", Precision::mxfp8, 16384) == time("b200-sxm", Precision::fp8, 16384));
    auto const peak = [](char const* device, Precision precision) {
        return find_accelerator(device, "test").peak_of(precision).value;
    };
    CHECK(peak("mi355x", Precision::mxfp8) == peak("mi355x", Precision::fp8));
    CHECK_THROWS_WITH(peak("h100-sxm", Precision::mxfp8), contains("mxfp8 is for Blackwell and CDNA 4"));
    CHECK_THROWS_WITH(peak("a100-sxm-80gb", Precision::fp8_block), contains("has no fp8-block"));
}
