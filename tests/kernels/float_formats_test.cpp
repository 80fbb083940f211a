#include "kernels/harness/float_formats.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/harness/errors.hpp"
#include "kernels/harness/generated_values.hpp"
#include "kernels/host/memory_kernels.hpp"
#include "kernels/host/quantisation.hpp"
#include "tests/catch.hpp"

namespace sextant::bench {
namespace {

/// All finite values that are not negative, in order, by the definition of the format alone.
std::vector<double> finite_values(FloatFormat const& format) {
    std::vector<double> values;
    for (int mantissa = 0; mantissa < 1 << format.mantissa_bits; ++mantissa)
        values.push_back(mantissa * std::pow(2.0, format.smallest_exponent() - format.mantissa_bits));
    for (int exponent = format.smallest_exponent();; ++exponent)
        for (int mantissa = 0; mantissa < 1 << format.mantissa_bits; ++mantissa) {
            double const value = std::pow(2.0, exponent) * (1.0 + mantissa / std::pow(2.0, format.mantissa_bits));
            if (value > format.max) return values;
            values.push_back(value);
        }
}

}  // namespace

TEST_CASE("fp8: the largest values are 448 and 57344, the smallest 2^-9 and 2^-16", "[fp8]") {
    CHECK(finite_values(e4m3).size() == 127);  // 128 patterns, one is NaN
    CHECK(finite_values(e5m2).size() == 124);  // 128 patterns, infinity and three NaN
    CHECK(finite_values(e4m3).back() == 448);
    CHECK(finite_values(e5m2).back() == 57344);
    CHECK(finite_values(e4m3)[1] == std::pow(2.0, -9));
    CHECK(finite_values(e5m2)[1] == std::pow(2.0, -16));
}

TEST_CASE("float formats: every value and every midpoint rounds to the nearest, ties to the even pattern", "[fp8]") {
    FloatFormat const& format = *GENERATE(&e4m3, &e5m2, &fp16_format, &bf16_format);
    std::vector<double> const values = finite_values(format);
    std::size_t const step = values.size() > 1000 ? 37 : 1;
    for (std::size_t i = 0; i + 1 < values.size(); i += step) {
        double const low = values[i], high = values[i + 1], middle = low + (high - low) / 2;
        double const even = i % 2 == 0 ? low : high;
        REQUIRE(rounded(format, low) == low);
        REQUIRE(rounded(format, middle) == even);
        REQUIRE(rounded(format, std::nextafter(middle, low)) == low);
        REQUIRE(rounded(format, std::nextafter(middle, high)) == high);
        REQUIRE(rounded(format, -middle) == -even);
    }
}

TEST_CASE("float formats: encoding is the pattern's number, and decoding undoes it", "[fp8]") {
    FloatFormat const& format = *GENERATE(&e4m3, &e5m2, &fp16_format, &bf16_format);
    std::vector<double> const values = finite_values(format);
    int const sign_bit = 1 << (format.exponent_bits + format.mantissa_bits);
    for (std::size_t i = 0; i < values.size(); ++i) {
        REQUIRE(encoded(format, values[i]) == i);
        REQUIRE(decoded(format, static_cast<std::uint16_t>(i)) == values[i]);
        REQUIRE(encoded(format, -values[i]) == i + static_cast<std::size_t>(sign_bit));
    }
    CHECK(std::isnan(decoded(format, encoded(format, std::nan("")))));
}

TEST_CASE("float formats: beyond the largest value lie infinity, NaN or saturation", "[fp8]") {
    CHECK(rounded(e4m3, 464) == 448);  // halfway to 480, which does not exist: 448 has the even mantissa
    CHECK(std::isnan(rounded(e4m3, 465)));
    CHECK(rounded(e4m3, 465, Overflow::saturate) == 448);
    CHECK(rounded(e4m3, -1e30, Overflow::saturate) == -448);
    CHECK(std::isinf(rounded(e5m2, 61440)));
    CHECK(rounded(e5m2, 61439) == 57344);
    CHECK(std::isinf(rounded(fp16_format, 65520)));
    CHECK(rounded(e4m3, std::pow(2.0, -10)) == 0);
    CHECK(rounded(e4m3, 1.001 * std::pow(2.0, -10)) == std::pow(2.0, -9));
}

TEST_CASE("cast_to_bf16: agrees with the general rounding", "[fp8]") {
    std::vector<float> x;
    for (std::uint64_t i = 0; i < 2000; ++i)
        x.push_back(value_at(3, i) * std::pow(10.0f, static_cast<float>(i % 60) - 30));
    x.insert(x.end(), {0.0f, -0.0f, std::nanf(""), INFINITY, -INFINITY, 3.4e38f, 1.00390625f, 1.01171875f});
    std::vector<std::uint16_t> y(x.size());
    host_kernels::cast_to_bf16(static_cast<std::int64_t>(x.size()), x.data(), y.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
        double const wanted = rounded(bf16_format, static_cast<double>(x[i])), got = decoded(bf16_format, y[i]);
        INFO(x[i]);
        CHECK((std::isnan(wanted) ? std::isnan(got) : got == wanted));
    }
}

TEST_CASE("quantise: per-tensor scaling never overflows, and finer scaling never underflows more", "[fp8]") {
    FloatFormat const& format = *GENERATE(&e4m3, &e5m2);
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

TEST_CASE("quantise: without scaling, overflow and underflow are those that can be counted by hand", "[fp8]") {
    std::vector<double> const x{0, 1, 449, 464, 465, -1000, std::pow(2.0, -10), std::pow(2.0, -9)};
    Quantised const got = quantise(e4m3, Scaling::none, 1, 8, x);
    CHECK(got.overflow == 2);   // 465 and -1000
    CHECK(got.underflow == 1);  // 2^-10; zero itself is no underflow
    CHECK(got.values == std::vector<double>{0, 1, 448, 448, 448, -448, 0, std::pow(2.0, -9)});
    CHECK(quantise(e4m3, Scaling::per_tensor, 1, 2, {0, 0}).values == std::vector<double>{0, 0});
    CHECK_THROWS_AS(scaling_named("per_cow"), BadInput);
    CHECK_THROWS_AS(float_format("fp4"), BadInput);
}

}  // namespace sextant::bench
