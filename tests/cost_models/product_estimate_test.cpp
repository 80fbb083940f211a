#include "core/spec/hardware_catalog.hpp"
#include "cost_models/kernel_estimate.hpp"
#include "tests/catch.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

using namespace sextant;

namespace {

KernelEstimate cold_product(std::string_view device, std::string_view format, GemmShape const& shape) {
    return estimate_product(shape, *find_gemm_format(format), find_accelerator(device, "test"), {});
}

}  // namespace

TEST_CASE("estimate_product: beyond the rows of its grids no product takes longer than one that fills its tiles") {
    struct Case {
        std::string_view device;
        std::string_view format;
        GemmShape shape;
        GemmShape fuller;
    };
    for (Case const& c :
         {Case{"a100-sxm-80gb", "int8", {.m = 1, .n = 131072, .k = 8}, {.m = 16, .n = 131072, .k = 8}},
          Case{"l40s", "fp8", {.m = 1, .n = 131072, .k = 8}, {.m = 16, .n = 131072, .k = 8}},
          Case{"l40s", "bf16", {.m = 8, .n = 8, .k = 4096}, {.m = 128, .n = 8, .k = 4096}},
          Case{"l40s", "bf16", {.m = 8, .n = 8, .k = 4096}, {.m = 16, .n = 128, .k = 4096}},
          Case{"rtx-6000-ada", "bf16", {.m = 16, .n = 8, .k = 4096}, {.m = 16, .n = 128, .k = 4096}},
          Case{"l40s", "fp8-block", {.m = 2048, .n = 4096, .k = 16}, {.m = 2048, .n = 4096, .k = 128}}}) {
        CAPTURE(c.device, c.format, c.shape.m, c.shape.n, c.shape.k);
        CHECK(cold_product(c.device, c.format, c.shape).time <=
              1.0001 * cold_product(c.device, c.format, c.fuller).time);
    }
}

TEST_CASE("estimate_product: in a step, few rows take no more than a tenth longer than as many as fill tiles") {
    for (auto const& [device, format] :
         {std::pair{"a100-sxm-80gb", "int8"}, std::pair{"a100-sxm-80gb", "bf16"}, std::pair{"l40s", "bf16"},
          std::pair{"l40", "bf16"}, std::pair{"b200-sxm", "bf16"}, std::pair{"h200-sxm", "bf16"}})
        for (auto const& [n, k] : {std::pair{65536, 128}, std::pair{65536, 512}, std::pair{16384, 128},
                                   std::pair{64, 4096}, std::pair{256, 4096}, std::pair{4096, 1024}})
            for (std::int64_t const m : {1, 2, 4, 8, 16, 48, 64})
                for (std::int64_t const fuller : {16, 64, 128}) {
                    if (fuller <= m) continue;
                    CAPTURE(device, format, m, n, k, fuller);
                    CHECK(cold_product(device, format, {.m = m, .n = n, .k = k}).time <=
                          1.1001 * cold_product(device, format, {.m = fuller, .n = n, .k = k}).time);
                }
    // A benchmark that repeats a product has what its library chooses.
    auto const rotated = [](std::int64_t m) {
        return estimate_product({.m = m, .n = 65536, .k = 128}, *find_gemm_format("int8"),
                                find_accelerator("a100-sxm-80gb", "test"), {.cache = CacheState::rotated},
                                Quantising::included)
            .time;
    };
    CHECK(rotated(2) > 2 * rotated(16));
}

TEST_CASE("estimate_product: in a step, narrow weights take no longer than wide ones do") {
    for (std::string_view const device : {"a100-sxm-80gb", "a800-sxm-80gb", "a10g", "rtx-3090", "h100-sxm", "l40s"})
        for (std::string_view const format : {"int4-weights", "int8-weights"})
            for (std::int64_t const m : {1, 16, 256, 4096})
                for (auto const& [n, k] : {std::pair{64, 4096}, std::pair{256, 8192}, std::pair{4096, 4096},
                                           std::pair{1024, 65536}, std::pair{28672, 8192}}) {
                    GemmShape const shape{.m = m, .n = n, .k = k};
                    CAPTURE(device, format, m, n, k);
                    CHECK(cold_product(device, format, shape).time <= 1.04 * cold_product(device, "bf16", shape).time);
                }
    // Where bytes are all, they take less by these.
    CHECK(cold_product("a100-sxm-80gb", "int4-weights", {.m = 1, .n = 28672, .k = 8192}).time <
          0.4 * cold_product("a100-sxm-80gb", "bf16", {.m = 1, .n = 28672, .k = 8192}).time);
}

TEST_CASE("estimate_product: several products take no less than one and about no more than one after the other") {
    constexpr double apart = 1.1;
    for (auto const& [device, format] :
         {std::pair{"l40s", "bf16"}, std::pair{"l40", "fp8-block"}, std::pair{"a100-sxm-80gb", "int8"},
          std::pair{"h100-sxm-96gb", "tf32"}, std::pair{"b200-sxm", "fp4"}})
        for (std::int64_t const m : {1, 4, 64, 4096})
            for (std::int64_t const n : {64, 2048, 14336})
                for (std::int64_t const k : {64, 2048}) {
                    GemmShape shape{.groups = 1, .m = m, .n = n, .k = k};
                    Seconds const one = cold_product(device, format, shape).time;
                    for (std::int64_t const groups : {2, 8}) {
                        shape.groups = groups;
                        KernelEstimate const several = cold_product(device, format, shape);
                        CAPTURE(device, format, groups, m, n, k);
                        CHECK(several.time >= one);
                        // Long work heats: up to what two decades more of it take.
                        double const heat = static_cast<double>(groups * m * n * k) > 1e10 ? 1.4 : 1;
                        CHECK(several.time <= 1.01 * apart * heat * static_cast<double>(groups) * one);
                    }
                }
}

TEST_CASE("estimate_product: several products are like no row, and have the interval beyond the rows") {
    KernelEstimate const one = cold_product("h100-sxm", "bf16", {.groups = 1, .m = 1024, .n = 4096, .k = 4096});
    KernelEstimate const several = cold_product("h100-sxm", "bf16", {.groups = 8, .m = 1024, .n = 4096, .k = 4096});
    CHECK(one.support == KernelSupport::measured);
    CHECK(several.support == KernelSupport::extended);
    AcceleratorProfile const device = find_accelerator("h100-sxm", "test");
    CHECK(several.factors.high == device.kernels->find(KernelKind::gemm, "bf16")->outside.high);
    CHECK(several.factors.high > one.factors.high);
}

TEST_CASE("estimate_product: large products in fp4 are hardly slower than in fp8 on any device with both") {
    for (AcceleratorProfile const& device : all_accelerators()) {
        if (!device.peak.contains(Precision::fp4) || !device.peak.contains(Precision::fp8)) continue;
        auto const seconds = [&](std::string_view format) {
            return estimate_product({.m = 8192, .n = 8192, .k = 8192}, *find_gemm_format(format), device, {})
                .time.base();
        };
        CAPTURE(device.name);
        CHECK(seconds("fp4") <= 1.1 * seconds("fp8"));
    }
}
