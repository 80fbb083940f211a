#include "core/spec/hardware_catalog.hpp"
#include "core/spec/kernel_catalog.hpp"
#include "cost_models/kernel_choice.hpp"
#include "cost_models/kernel_estimate.hpp"
#include "tests/catch.hpp"

#include <array>
#include <cmath>
#include <string>

using namespace sextant;

namespace {

KernelEstimate product(std::string const& device, std::string_view format, GemmShape const& shape) {
    return estimate_product(shape, *find_gemm_format(format), find_accelerator(device, "test"),
                            {.cache = CacheState::cold});
}

constexpr std::array devices{"h100-sxm", "h200-sxm", "b200-sxm",  "l40s",    "h100-pcie",
                             "rtx-4090", "mi300x",   "gb200-sxm", "tpu-v6e", "h20-sxm"};
constexpr std::array<std::string_view, 2> narrow{"int4-weights", "int8-weights"};

}  // namespace

TEST_CASE("narrow weights that no device of the generation was measured with are no slower than two bytes",
          "[INV-15]") {
    for (char const* const device : devices)
        for (std::int64_t const m : {1, 4, 16, 64})
            for (auto const& [n, k] :
                 {std::pair{768, 2048}, std::pair{4096, 4096}, std::pair{4096, 14336}, std::pair{28672, 8192}}) {
                GemmShape const shape{.groups = 1, .m = m, .n = n, .k = k};
                double const two_bytes = product(device, "bf16", shape).time.base();
                CAPTURE(device, m, n, k);
                for (std::string_view const format : narrow)
                    CHECK(product(device, format, shape).time.base() <=
                          1.0001 * two_bytes / widened_share(*find_gemm_format(format)));
            }
    // What is read decides: a quarter of it takes less than half of the time.
    GemmShape const wide{.groups = 1, .m = 8, .n = 28672, .k = 8192};
    CHECK(product("h100-sxm", "int4-weights", wide).time < 0.5 * product("h100-sxm", "bf16", wide).time);
    // Nor do launches of another device's library hide it where a product takes few of them.
    GemmShape const short_one{.groups = 1, .m = 16, .n = 4096, .k = 14336};
    auto const share = [&](char const* device) {
        return product(device, "int4-weights", short_one).time / product(device, "bf16", short_one).time;
    };
    CHECK(share("h100-sxm") < 0.6);
    CHECK(share("b200-sxm") < 0.85);
    CHECK(share("mi300x") < 0.95);
}

TEST_CASE("narrow weights of large products take what the format that they are widened to does, over a share",
          "[INV-14]") {
    GemmShape const large{.groups = 1, .m = 16384, .n = 8192, .k = 8192};
    for (std::string_view const format : narrow) {
        double const share = widened_share(*find_gemm_format(format));
        CHECK(share > 0.9);
        CHECK(share < 1.1);
        for (char const* const device : devices) {
            KernelEstimate const estimate = product(device, format, large);
            CAPTURE(device, format);
            CHECK(estimate.time.base() == Approx(product(device, "bf16", large).time.base() / share).epsilon(0.03));
            CHECK(estimate.support == KernelSupport::by_class);
            CHECK(estimate.factors.high == 2);
        }
    }
}

TEST_CASE("narrow weights on the device that they were measured on keep their own fit") {
    GemmShape const few{.groups = 1, .m = 16, .n = 4096, .k = 4096};
    KernelEstimate const own = product("a100-sxm-80gb", "int4-weights", few);
    CHECK(own.support == KernelSupport::measured);
    CHECK(own.time.base() > 9e-6);  // the launch of that library's kernel
}

TEST_CASE("products in fp32 have no intervals or grids of another format's kernels") {
    GemmShape const shape{.groups = 1, .m = 4096, .n = 4096, .k = 4096};
    for (char const* const device : {"h100-sxm", "a100-sxm-80gb", "l40s"}) {
        KernelEstimate const fp32 = product(device, "fp32", shape);
        CAPTURE(device);
        CHECK(fp32.support == KernelSupport::by_class);
        CHECK(fp32.factors.low >= assumed_kernel_factors.low);  // the peak cuts it
        CHECK(fp32.factors.high == assumed_kernel_factors.high);
        KernelChoice const choice = choose_kernel(find_accelerator(device, "test"), KernelKind::gemm, "fp32");
        CHECK(choice.borrowed);
        CHECK_FALSE(choice.gridded);
    }
    CHECK_FALSE(choose_kernel(find_accelerator("h100-sxm", "test"), KernelKind::gemm, "fp16").borrowed);
}

TEST_CASE("narrow weights: no interval of theirs begins below what the peak allows", "[INV-14]") {
    GemmShape const deep{.groups = 1, .m = 512, .n = 256, .k = 65536};
    double const work = 2.0 * 512 * 256 * 65536;
    for (char const* const device : {"l40", "p100-pcie-16gb", "mi300x"})
        for (std::string_view const format : narrow) {
            AcceleratorProfile const profile = find_accelerator(device, "test");
            KernelEstimate const estimate = product(device, format, deep);
            CAPTURE(device, format);
            CHECK(estimate.time.base() * estimate.factors.low >=
                  0.999 * work / profile.peak_of(*find_gemm_format(format)).value.base());
        }
}

TEST_CASE("scales of blocks take no time off where another class's kernels multiply", "[INV-15]") {
    for (char const* const device : {"gb10", "rtx-5090", "rtx-pro-6000"})
        for (std::int64_t const size : {512, 4096, 16384}) {
            GemmShape const shape{.groups = 1, .m = size, .n = size, .k = size};
            CAPTURE(device, size);
            CHECK(product(device, "fp8-block", shape).time >= product(device, "fp8", shape).time);
        }
}

TEST_CASE("units that hold their operands are not fed through a cache, and any row length is one") {
    GemmShape const shape{.groups = 1, .m = 4096, .n = 4096, .k = 4096};
    double const gain = product("tpu-v6e", "bf16", shape).time / product("tpu-v6e", "int8", shape).time;
    CHECK(gain > 1.4);  // twice the peak
    auto const share = [](char const* device, Precision precision) {
        return row_share(4097, 4096, bytes_per_element(precision), precision, find_accelerator(device, "test"));
    };
    CHECK(share("h100-sxm", Precision::bf16) < 1);
    CHECK(share("mi300x", Precision::bf16) < 1);
    CHECK(share("tpu-v5p", Precision::bf16) == 1);
    CHECK(share("trainium2", Precision::bf16) == 1);
    CHECK(share("v100-sxm-32gb", Precision::fp32) == 1);  // no matrix units, and so none of their loads
}
