#pragma once

#include <cstdint>
#include <string>

namespace sextant::bench {

/// Which patterns of a format are no finite numbers.
enum class Specials {
    infinity_and_nan,  ///< the top exponent, as in IEEE 754
    nan,               ///< all ones only
    none,
};

/// A binary floating-point format of at most 16 bits.
struct FloatFormat {
    char const* name;
    int exponent_bits;
    int mantissa_bits;
    double max;  ///< largest finite value
    Specials specials;

    constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
    constexpr int smallest_exponent() const { return 1 - bias(); }  ///< of a normal number
};

/// Source: Micikevicius et al., FP8 Formats for Deep Learning, arXiv:2209.05433 (table 1); IEEE 754-2019 for fp16; OCP
/// Microscaling Formats specification 1.0 (2023), section 5.3, for e2m1.
inline constexpr FloatFormat e2m1{"e2m1", 2, 1, 6.0, Specials::none};
inline constexpr FloatFormat e4m3{"e4m3", 4, 3, 448.0, Specials::nan};
inline constexpr FloatFormat e5m2{"e5m2", 5, 2, 57344.0, Specials::infinity_and_nan};
inline constexpr FloatFormat fp16_format{"fp16", 5, 10, 65504.0, Specials::infinity_and_nan};
inline constexpr FloatFormat bf16_format{"bf16", 8, 7, 3.3895313892515355e38, Specials::infinity_and_nan};

/// @throws BadInput for another name (e2m1, e4m3, e5m2, bf16, fp16).
FloatFormat const& float_format(std::string const& name);

enum class Overflow {
    saturate,  ///< to the largest finite value, as CUDA's fp8 conversions do (__NV_SATFINITE)
    special,   ///< to infinity, or NaN where the format has none; saturates where it has neither
};

/// The value of `format` nearest to x, ties to the even mantissa, with subnormals.
double rounded(FloatFormat const& format, double x, Overflow overflow = Overflow::special);

/// Bits of `rounded(x)`: sign, exponent, mantissa; right-aligned. NaN becomes the largest value where the format has no
/// NaN.
std::uint16_t encoded(FloatFormat const& format, double x, Overflow overflow = Overflow::special);
double decoded(FloatFormat const& format, std::uint16_t bits);

}  // namespace sextant::bench
