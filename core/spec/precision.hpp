#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sextant {

/// Number format of the large matrix products of a step. `fp8` has a scale for each tensor (delayed or current),
/// `fp8_block` one for each 1 x 128 values of activations and gradients and 128 x 128 of weights (arXiv:2412.19437 sec.
/// 3.3), `mxfp8` one for each 32 values, which the matrix units apply (OCP Microscaling Formats 1.0).
enum class Precision : std::uint8_t { fp32, tf32, fp16, bf16, fp8, fp8_block, mxfp8, fp4 };

/// Formats of products that are narrower than the 16 bit that activations are in.
constexpr bool is_narrow(Precision precision) { return precision >= Precision::fp8; }
/// The format without its scales: what a device has a peak for, and what a framework's constants are of.
constexpr Precision unscaled(Precision precision) {
    return precision == Precision::fp8_block || precision == Precision::mxfp8 ? Precision::fp8 : precision;
}

std::string_view name_of(Precision precision);

/// @throws InputError with the known names and the nearest one.
Precision precision_from(std::string_view name, std::string_view where);

/// Bytes per element of an operand held in this format (fp32 and tf32: 4, fp16 and bf16: 2, of fp8: 1, fp4: 0.5).
double bytes_per_element(Precision precision);

}  // namespace sextant
