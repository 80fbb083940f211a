#include "kernels/harness/float_formats.hpp"

#include <cmath>
#include <vector>

#include "kernels/harness/generated_values.hpp"
#include "kernels/host/memory_kernels.hpp"
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
    CHECK(finite_values(e2m1) == std::vector<double>{0, 0.5, 1, 1.5, 2, 3, 4, 6});  // every pattern is a number
}

TEST_CASE("float formats: every value and every midpoint rounds to the nearest, ties to the even pattern", "[fp8]") {
    FloatFormat const& format = *GENERATE(&e2m1, &e4m3, &e5m2, &fp16_format, &bf16_format);
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
    FloatFormat const& format = *GENERATE(&e2m1, &e4m3, &e5m2, &fp16_format, &bf16_format);
    std::vector<double> const values = finite_values(format);
    int const sign_bit = 1 << (format.exponent_bits + format.mantissa_bits);
    for (std::size_t i = 0; i < values.size(); ++i) {
        REQUIRE(encoded(format, values[i]) == i);
        REQUIRE(decoded(format, static_cast<std::uint16_t>(i)) == values[i]);
        REQUIRE(encoded(format, -values[i]) == i + static_cast<std::size_t>(sign_bit));
    }
    double const nan = decoded(format, encoded(format, std::nan("")));
    CHECK((format.specials == Specials::none ? nan == format.max : std::isnan(nan)));
}

TEST_CASE("float formats: beyond the largest value lie infinity, NaN or saturation", "[fp8]") {
    CHECK(rounded(e4m3, 464) == 448);  // halfway to 480, which does not exist: 448 has the even mantissa
    CHECK(std::isnan(rounded(e4m3, 465)));
    CHECK(rounded(e4m3, 465, Overflow::saturate) == 448);
    CHECK(rounded(e4m3, -1e30, Overflow::saturate) == -448);
    CHECK(std::isinf(rounded(e5m2, 61440)));
    CHECK(rounded(e5m2, 61439) == 57344);
    CHECK(std::isinf(rounded(fp16_format, 65520)));
    CHECK(rounded(e2m1, 1e9) == 6);  // has neither infinity nor NaN
    CHECK(rounded(e2m1, 5) == 4);    // ties to even
    CHECK(rounded(e2m1, 0.25) == 0);
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

}  // namespace sextant::bench
