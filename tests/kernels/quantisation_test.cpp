#include "kernels/host/quantisation.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "kernels/harness/errors.hpp"
#include "kernels/harness/generated_values.hpp"
#include "kernels/host/accuracy_tests.hpp"
#include "tests/catch.hpp"

namespace sextant::bench {
namespace {

double rms_error(Quantised const& got, std::vector<double> const& x) {
    ErrorSum sum;
    sum.add(got.values, x);
    return sum.rms();
}

Quantised quantised(char const* format, Scaling scaling, std::vector<double> const& x) {
    return quantise(ElementFormat(format), scaling, 1, static_cast<std::int64_t>(x.size()), x);
}

}  // namespace

TEST_CASE("integer formats: every pattern decodes to its own number and encodes back", "[quantise]") {
    IntegerFormat const& format = *GENERATE(&int8_format, &int4_format);
    std::set<int> seen;
    for (int bits = 0; bits < 1 << format.bits; ++bits) {
        int const value = decoded(format, static_cast<std::uint8_t>(bits));
        REQUIRE(value >= format.lowest);
        REQUIRE(value <= format.highest);
        REQUIRE(encoded(format, value) == bits);
        seen.insert(value);
    }
    CHECK(seen.size() == std::size_t{1} << format.bits);
}

TEST_CASE("integer formats: ties go to the even number, and beyond the ends they saturate", "[quantise]") {
    IntegerFormat const& format = *GENERATE(&int8_format, &int4_format);
    for (int low = format.lowest; low < format.highest; ++low) {
        double const middle = low + 0.5;
        REQUIRE(rounded(format, middle) == (low % 2 == 0 ? low : low + 1));
        REQUIRE(rounded(format, std::nextafter(middle, -1000)) == low);
        REQUIRE(rounded(format, std::nextafter(middle, 1000)) == low + 1);
    }
    CHECK(rounded(format, 1e300) == format.highest);
    CHECK(rounded(format, -INFINITY) == format.lowest);
    CHECK(rounded(format, std::nan("")) == 0);
}

TEST_CASE("e8m0: every pattern but NaN is the power of two that encodes to it", "[quantise]") {
    for (int bits = 0; bits < 255; ++bits) {
        double const value = e8m0::decoded(static_cast<std::uint8_t>(bits));
        REQUIRE(value == std::pow(2.0, bits - 127));
        REQUIRE(e8m0::encoded(value) == bits);
        REQUIRE(e8m0::encoded(1.99 * value) == bits);  // down, not to the nearest
    }
    CHECK(std::isnan(e8m0::decoded(255)));
    CHECK(e8m0::encoded(1e-300) == 0);
    CHECK(e8m0::encoded(1e300) == 254);
}

TEST_CASE("element formats: what overflows is what does not round to the largest value", "[quantise]") {
    CHECK_FALSE(ElementFormat("e2m1").overflows(7));
    CHECK(ElementFormat("e2m1").overflows(std::nextafter(7, 8)));
    CHECK_FALSE(ElementFormat("e4m3").overflows(-464));
    CHECK(ElementFormat("e4m3").overflows(-465));
    CHECK_FALSE(ElementFormat("int8").overflows(127.4));
    CHECK(ElementFormat("int8").overflows(127.6));
    CHECK_FALSE(ElementFormat("int4").overflows(-8.5));
    CHECK(ElementFormat("int4").overflows(-8.6));
    CHECK_THROWS_AS(ElementFormat("fp4"), BadInput);
    CHECK_THROWS_AS(ElementFormat(""), BadInput);
}

TEST_CASE("quantise: per-tensor scaling never overflows, and finer scaling never underflows more", "[quantise]") {
    ElementFormat const format(GENERATE("e4m3", "e5m2", "int8", "int4"));
    std::int64_t const rows = 8, columns = 512;
    std::vector<double> x;
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(rows * columns); ++i)
        x.push_back(static_cast<double>(value_at(11, i)) * std::pow(10.0, static_cast<double>(i % 9) - 6));
    x[5] = 1e4;
    Quantised const tensor = quantise(format, Scaling::per_tensor, rows, columns, x),
                    row = quantise(format, Scaling::per_row, rows, columns, x),
                    block = quantise(format, Scaling::block128, rows, columns, x);
    CHECK(tensor.overflow == 0);
    CHECK(row.overflow == 0);
    CHECK(block.overflow == 0);
    CHECK(row.underflow <= tensor.underflow);
    CHECK(block.underflow <= row.underflow);
    CHECK(block.underflow < tensor.underflow);
}

TEST_CASE("quantise: without scaling, overflow and underflow are those that can be counted by hand", "[quantise]") {
    std::vector<double> const x{0, 1, 449, 464, 465, -1000, std::pow(2.0, -10), std::pow(2.0, -9)};
    Quantised const got = quantised("e4m3", Scaling::none, x);
    CHECK(got.overflow == 2);   // 465 and -1000
    CHECK(got.underflow == 1);  // 2^-10; zero itself is no underflow
    CHECK(got.values == std::vector<double>{0, 1, 448, 448, 448, -448, 0, std::pow(2.0, -9)});
    CHECK_THROWS_AS(scaling_named("per_cow"), BadInput);
}

TEST_CASE("quantise: a group of zeros stays zero under every scaling", "[quantise]") {
    for (Scaling const scaling : all_scalings()) {
        INFO(name_of(scaling));
        CHECK(scaling_named(name_of(scaling)) == scaling);
        CHECK(quantised("int4", scaling, {0, 0, 0}).values == std::vector<double>{0, 0, 0});
    }
}

TEST_CASE("quantise: values that lie on the grid of a scale come back exactly", "[quantise]") {
    for (char const* format : {"int4", "int8", "e4m3", "e5m2", "e2m1"})
        for (Scaling const scaling : {Scaling::per_tensor, Scaling::per_row, Scaling::block128, Scaling::tile128,
                                      Scaling::group128, Scaling::block32_e8m0}) {
            ElementFormat const element(format);
            std::vector<double> x;
            for (int i = -20; i <= 20; ++i)
                x.push_back(element.nearest(i / 4.0) / 8);
            x[3] = element.largest() / 8;
            INFO(format << " " << name_of(scaling));
            // The largest value of int4 is 7, of which 2^floor(log2 7) is 4: the scale of MX holds it.
            CHECK(quantised(format, scaling, x).values == x);
        }
}

TEST_CASE("quantise: the MX scale is a power of two and cuts what lies above the largest element", "[quantise]") {
    Quantised const got = quantised("e2m1", Scaling::block32_e8m0, {7.9, 6, 1, 0.2});
    CHECK(got.values == std::vector<double>{6, 6, 1, 0});  // 2^(2 - 2): 7.9 saturates, 0.2 is below a half of 0.5
    CHECK(got.overflow == 1);
    CHECK(got.underflow == 1);
}

TEST_CASE("quantise: NVFP4 keeps the largest element of each block of 16 within the rounding of its scale",
          "[quantise]") {
    std::vector<double> x(64);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<double>(value_at(5, i)) * std::pow(4.0, static_cast<double>(i / 16));
    Quantised const got = quantised("e2m1", Scaling::block16_e4m3, x);
    for (std::size_t block = 0; block < 4; ++block) {
        double amax = 0, kept = 0;
        for (std::size_t i = 16 * block; i < 16 * block + 16; ++i) {
            amax = std::max(amax, std::abs(x[i]));
            kept = std::max(kept, std::abs(got.values[i]));
        }
        CHECK(kept == Approx(amax).epsilon(1.0 / 16));
    }
    // A block far below the tensor's largest one loses its scale to underflow.
    x[20] = 1e12;
    CHECK(quantised("e2m1", Scaling::block16_e4m3, x).underflow >= 48);
}

TEST_CASE("quantise: a zero point spends no codes on a sign that does not occur", "[quantise]") {
    std::vector<double> x;
    for (std::uint64_t i = 0; i < 128; ++i)
        x.push_back(3 + static_cast<double>(value_at(9, i)));
    double const symmetric = rms_error(quantised("int4", Scaling::group128, x), x);
    double const asymmetric = rms_error(quantised("int4", Scaling::group128_asymmetric, x), x);
    CHECK(asymmetric < 0.6 * symmetric);
    CHECK_THROWS_AS(quantised("e4m3", Scaling::group128_asymmetric, x), BadInput);
}

TEST_CASE("quantise: uniform values lose what the step of the format says", "[quantise]") {
    // Uniform on [-1, 1): error step / sqrt(12) with step 1 / 127, over rms 1 / sqrt(3).
    std::vector<double> x;
    for (std::uint64_t i = 0; i < 4096; ++i)
        x.push_back(value_at(2, i));
    CHECK(rms_error(quantised("int8", Scaling::per_tensor, x), x) == Approx(0.5 / 127).epsilon(0.05));
    CHECK(rms_error(quantised("int4", Scaling::per_tensor, x), x) == Approx(0.5 / 7).epsilon(0.05));
    ErrorSum sum;
    sum.add(std::vector<double>{0.9, 1.1}, std::vector<double>{1, 1});
    CHECK(sum.signal_db() == Approx(20));
}

TEST_CASE("accuracy: errors of both operands add up in the product as squares do", "[quantise]") {
    auto const rms = [](Prepared const& prepared) {
        auto const at = prepared.note.find("rms_error=");
        return std::stod(prepared.note.substr(at + 10));
    };
    double const both = rms(prepare_gemm("normal+normal", "per_row+per_row", "e4m3+e4m3", 3));
    double const one = rms(prepare_gemm("normal+normal", "per_row+none", "e4m3+bf16", 3));
    CHECK(both == Approx(std::sqrt(2.0) * one).epsilon(0.05));
    CHECK(rms(prepare_attention("normal", "block128", "int8", 3)) <
          rms(prepare_attention("normal", "block128", "int4", 3)));
    CHECK_THROWS_AS(prepare_gemm("normal", "none+none", "bf16+bf16", 1), BadInput);
    CHECK_THROWS_AS(prepare_attention("lumpy", "none", "bf16", 1), BadInput);
}

}  // namespace sextant::bench
