#include "kernels/host/element_format.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/harness/errors.hpp"

namespace sextant::bench {

int rounded(IntegerFormat const& format, double x) {
    if (std::isnan(x)) return 0;
    return static_cast<int>(
        std::clamp(std::nearbyint(x), static_cast<double>(format.lowest), static_cast<double>(format.highest)));
}

std::uint8_t encoded(IntegerFormat const& format, double x) {
    return static_cast<std::uint8_t>(rounded(format, x) & ((1 << format.bits) - 1));
}

int decoded(IntegerFormat const& format, std::uint8_t bits) {
    int const value = bits & ((1 << format.bits) - 1);
    return value > format.highest ? value - (1 << format.bits) : value;
}

namespace e8m0 {

double decoded(std::uint8_t bits) {
    return bits == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, bits - 127);
}

std::uint8_t encoded(double x) { return static_cast<std::uint8_t>(std::clamp(std::ilogb(x), -127, 127) + 127); }

}  // namespace e8m0

ElementFormat::ElementFormat(std::string const& name) {
    for (IntegerFormat const* format : {&int8_format, &int4_format})
        if (name == format->name) integer_ = format;
    if (integer_ == nullptr) floating_ = &float_format(name);
}

char const* ElementFormat::name() const { return is_integer() ? integer_->name : floating_->name; }

double ElementFormat::largest() const { return is_integer() ? static_cast<double>(integer_->highest) : floating_->max; }

int ElementFormat::largest_exponent() const { return std::ilogb(largest()); }

double ElementFormat::nearest(double x) const {
    return is_integer() ? rounded(*integer_, x) : rounded(*floating_, x, Overflow::saturate);
}

bool ElementFormat::overflows(double x) const {
    if (is_integer()) {
        double const whole = std::nearbyint(x);
        return whole < integer_->lowest || whole > integer_->highest;
    }
    if (floating_->specials != Specials::none) return !std::isfinite(rounded(*floating_, x, Overflow::special));
    // Half a step above the largest value lies the end of what rounds to it.
    double const step = std::ldexp(1.0, largest_exponent() - floating_->mantissa_bits);
    return std::abs(x) > floating_->max + step / 2;
}

double ElementFormat::rounding_error() const { return is_integer() ? 1.0 : std::ldexp(1.0, -floating_->mantissa_bits); }

}  // namespace sextant::bench
