#pragma once

#include <cstdint>
#include <string>

namespace sextant::bench {

/// A binary floating-point format of at most 16 bits.
struct FloatFormat {
    char const* name;
    int exponent_bits;
    int mantissa_bits;
    double max;  ///< largest finite value
    bool has_infinity;

    constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
    constexpr int smallest_exponent() const { return 1 - bias(); }  ///< of a normal number
};

/// Source: Micikevicius et al., FP8 Formats for Deep Learning, arXiv:2209.05433 (table 1); IEEE 754-2019 for fp16.
inline constexpr FloatFormat e4m3{"e4m3", 4, 3, 448.0, false};
inline constexpr FloatFormat e5m2{"e5m2", 5, 2, 57344.0, true};
inline constexpr FloatFormat fp16_format{"fp16", 5, 10, 65504.0, true};
inline constexpr FloatFormat bf16_format{"bf16", 8, 7, 3.3895313892515355e38, true};

/// @throws BadInput for another name (e4m3, e5m2, bf16, fp16).
FloatFormat const& float_format(std::string const& name);

enum class Overflow {
    saturate,  ///< to the largest finite value, as CUDA's fp8 conversions do (__NV_SATFINITE)
    special,   ///< to infinity, or NaN where the format has none
};

/// The value of `format` nearest to x, ties to the even mantissa, with subnormals.
double rounded(FloatFormat const& format, double x, Overflow overflow = Overflow::special);

/// Bits of `rounded(x)`: sign, exponent, mantissa; right-aligned.
std::uint16_t encoded(FloatFormat const& format, double x, Overflow overflow = Overflow::special);
double decoded(FloatFormat const& format, std::uint16_t bits);

}  // namespace sextant::bench
