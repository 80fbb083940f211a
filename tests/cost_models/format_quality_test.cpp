#include "cost_models/serving/format_quality.hpp"
#include "core/spec/kernel_constants.hpp"
#include "tests/catch.hpp"

#include <algorithm>
#include <cmath>
#include <set>

using namespace sextant;

TEST_CASE("format quality: every format of two bytes or less that can be chosen was measured", "[quality]") {
    for (GemmFormat const& format : gemm_formats()) {
        INFO(format.name);
        CHECK(weights_quality(shipped_format_errors(), format.name).has_value() == (format.right <= 2));
        auto const by_alias = weights_quality(shipped_format_errors(), format.alias);
        CHECK(by_alias.has_value() == (format.right <= 2));
    }
    for (CacheFormat const format : {CacheFormat::bf16, CacheFormat::fp8, CacheFormat::int8, CacheFormat::int4})
        CHECK(cache_quality(shipped_format_errors(), format).has_value());
    CHECK_FALSE(weights_quality(shipped_format_errors(), "fp3").has_value());
}

TEST_CASE("format quality: the worst inputs are never better than normal ones, each scaling stands once", "[quality]") {
    for (GemmFormat const& format : gemm_formats()) {
        auto const quality = weights_quality(shipped_format_errors(), format.name);
        if (!quality) continue;
        std::set<std::string> seen;
        for (ScalingError const& s : quality->scalings) {
            INFO(format.name << " " << s.scaling);
            CHECK(seen.insert(s.scaling).second);
            CHECK(s.plain > 0);
            CHECK(s.worst >= s.plain);
            CHECK(s.worst < 1);
            CHECK(s.flushed >= 0);
            // Errors of independent operands add up as squares do.
            CHECK(s.worst == Approx(std::hypot(s.first, s.second)).epsilon(0.1));
        }
    }
}

TEST_CASE("format quality: blockwise fp8 and plain fp8 do not share a scaling", "[quality]") {
    auto const plain = weights_quality(shipped_format_errors(), "fp8");
    auto const block = weights_quality(shipped_format_errors(), "fp8-block");
    REQUIRE(block->scalings.size() == 1);
    CHECK(block->usual().scaling == "tile128+block128");
    for (ScalingError const& s : plain->scalings)
        CHECK(s.scaling != block->usual().scaling);
    CHECK(plain->usual().scaling == "per_tensor+per_tensor");
}

TEST_CASE("format quality: the error of a pair is that of its worse half", "[quality]") {
    auto const table = shipped_format_errors();
    double const int4 = *format_error_of(table, "int4-weights", CacheFormat::bf16);
    CHECK(int4 == weights_quality(table, "int4-weights")->usual().worst);
    CHECK(*format_error_of(table, "bf16", CacheFormat::int4) == cache_quality(table, CacheFormat::int4)->usual().worst);
    CHECK_FALSE(format_error_of(table, "fp32", CacheFormat::bf16).has_value());
    CHECK_FALSE(format_error_of({}, "bf16", CacheFormat::bf16).has_value());
}

TEST_CASE("format quality: a checkpoint's own weights lose nothing, what is quantised does as it is stored",
          "[quality]") {
    auto const table = shipped_format_errors();
    auto const worst = [&](ServingPlan const& plan) { return weights_quality(table, plan)->usual().worst; };
    double const wide = weights_quality(table, "bf16")->usual().worst;
    CHECK(worst({.weights = "int4-weights", .stored = "mxfp4", .released = true}) == wide);
    CHECK(worst({.weights = "bf16"}) == wide);
    // Activations that the run rounds.
    double const both = weights_quality(table, "fp8-block")->usual().worst;
    double const one = worst({.weights = "fp8-block", .released = true});
    CHECK(one < both);
    CHECK(one > wide);
    CHECK(worst({.weights = "fp8-block"}) == both);
    // Four-bit floats in blocks of 16 are measured beside activations in two bytes: not as integers in groups of 128.
    double const nvfp4 = worst({.weights = "int4-weights", .stored = "fp4"});
    CHECK(nvfp4 < weights_quality(table, "int4-weights")->usual().worst);
    CHECK(nvfp4 < weights_quality(table, "fp4")->usual().worst);
    CHECK(nvfp4 == Approx(0.095).epsilon(0.05));
    CHECK(worst({.weights = "int4-weights", .stored = "int4-weights/32"}) == worst({.weights = "int4-weights"}));
    double const fp8 = worst({.weights = "int8-weights", .stored = "fp8"});
    CHECK(fp8 == Approx(0.0265).epsilon(0.02));
    CHECK(*format_error_of(table, {.weights = "int4-weights", .stored = "mxfp4", .released = true}) ==
          std::max(wide, cache_quality(table, CacheFormat::bf16)->usual().worst));
}
