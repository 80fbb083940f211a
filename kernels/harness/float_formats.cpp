#include "kernels/harness/float_formats.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/harness/errors.hpp"

namespace sextant::bench {

FloatFormat const& float_format(std::string const& name) {
    for (FloatFormat const* format : {&e2m1, &e4m3, &e5m2, &fp16_format, &bf16_format})
        if (name == format->name) return *format;
    throw BadInput("no floating-point format \"" + name + "\" (e2m1, e4m3, e5m2, bf16, fp16)");
}

double rounded(FloatFormat const& format, double x, Overflow overflow) {
    if (x == 0 || std::isnan(x)) return x;
    double const beyond = overflow == Overflow::saturate || format.specials == Specials::none ? format.max
                          : format.specials == Specials::infinity_and_nan ? std::numeric_limits<double>::infinity()
                                                                          : std::numeric_limits<double>::quiet_NaN();
    if (std::isinf(x)) return std::copysign(beyond, x);
    int const exponent = std::max(std::ilogb(x), format.smallest_exponent());
    int const quantum = exponent - format.mantissa_bits;
    // Scaling by a power of two is exact, and nearbyint rounds ties to even in the default mode.
    double const nearest = std::ldexp(std::nearbyint(std::ldexp(x, -quantum)), quantum);
    return std::abs(nearest) > format.max ? std::copysign(beyond, x) : nearest;
}

std::uint16_t encoded(FloatFormat const& format, double x, Overflow overflow) {
    double const value = rounded(format, x, overflow);
    int const mantissa_range = 1 << format.mantissa_bits;
    int const top_exponent = (1 << format.exponent_bits) - 1;
    auto const assemble = [&](int exponent, int mantissa) {
        int const sign = std::signbit(value) ? 1 : 0;
        return static_cast<std::uint16_t>(((sign << format.exponent_bits | exponent) << format.mantissa_bits) |
                                          mantissa);
    };
    if (std::isnan(value)) return assemble(top_exponent, mantissa_range - 1);
    if (std::isinf(value)) return assemble(top_exponent, 0);
    if (value == 0) return assemble(0, 0);
    int const exponent = std::ilogb(value);
    if (exponent < format.smallest_exponent())
        return assemble(
            0, static_cast<int>(std::ldexp(std::abs(value), format.mantissa_bits - format.smallest_exponent())));
    int const mantissa =
        static_cast<int>(std::ldexp(std::abs(value), format.mantissa_bits - exponent)) - mantissa_range;
    return assemble(exponent + format.bias(), mantissa);
}

namespace {

/// As std::ldexp(1, exponent), in a fraction of its time, for the exponents of all formats here.
double power_of_two(int exponent) { return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52); }

}  // namespace

double decoded(FloatFormat const& format, std::uint16_t bits) {
    int const mantissa = bits & ((1 << format.mantissa_bits) - 1);
    int const exponent = (bits >> format.mantissa_bits) & ((1 << format.exponent_bits) - 1);
    double const sign = (bits >> (format.mantissa_bits + format.exponent_bits)) & 1 ? -1.0 : 1.0;
    int const top = (1 << format.exponent_bits) - 1;
    int const all_ones = (1 << format.mantissa_bits) - 1;
    if (format.specials == Specials::infinity_and_nan && exponent == top)
        return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                             : std::numeric_limits<double>::quiet_NaN();
    if (format.specials == Specials::nan && exponent == top && mantissa == all_ones)
        return std::numeric_limits<double>::quiet_NaN();
    if (exponent == 0) return sign * mantissa * power_of_two(format.smallest_exponent() - format.mantissa_bits);
    return sign * (mantissa + (1 << format.mantissa_bits)) *
           power_of_two(exponent - format.bias() - format.mantissa_bits);
}

}  // namespace sextant::bench
