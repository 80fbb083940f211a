#pragma once

#include <cstdint>
#include <string>

#include "kernels/harness/float_formats.hpp"

namespace sextant::bench {

/// A whole number in two's complement.
struct IntegerFormat {
    char const* name;
    int bits;
    int lowest;
    int highest;
};
inline constexpr IntegerFormat int8_format{"int8", 8, -128, 127};
inline constexpr IntegerFormat int4_format{"int4", 4, -8, 7};

/// The whole number of the format nearest to x, ties to even, saturated; its low bits, and back.
int rounded(IntegerFormat const& format, double x);
std::uint8_t encoded(IntegerFormat const& format, double x);
int decoded(IntegerFormat const& format, std::uint8_t bits);

/// A scale that is a power of two, 2^(bits - 127); 255 is NaN. Source: OCP Microscaling Formats 1.0, section 5.4.1.
namespace e8m0 {
double decoded(std::uint8_t bits);
/// Of the largest power of two that is not above x, within the format. @pre x is positive and finite.
std::uint8_t encoded(double x);
}  // namespace e8m0

/// What one element of a quantised tensor is stored as: a floating-point or an integer format.
class ElementFormat {
public:
    /// @throws BadInput for an unknown name (e2m1, e4m3, e5m2, bf16, fp16, int8, int4).
    explicit ElementFormat(std::string const& name);

    [[nodiscard]] char const* name() const;
    [[nodiscard]] bool is_integer() const { return integer_ != nullptr; }
    /// Largest value that a scale maps the largest element to: 448, 6, 127, 7, ...
    [[nodiscard]] double largest() const;
    /// Exponent of the largest power of two of the format.
    [[nodiscard]] int largest_exponent() const;
    /// Nearest value, ties to even, saturated.
    [[nodiscard]] double nearest(double x) const;
    /// Whether `nearest` had to saturate: x does not even round to the largest value.
    [[nodiscard]] bool overflows(double x) const;
    /// An error relative to the element above this comes from over- or underflow (or a subnormal), not from rounding.
    [[nodiscard]] double rounding_error() const;

private:
    FloatFormat const* floating_ = nullptr;
    IntegerFormat const* integer_ = nullptr;
};

}  // namespace sextant::bench
