#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sextant {

/// Number format of the large matrix products of a step.
enum class Precision : std::uint8_t { fp32, tf32, fp16, bf16, fp8, fp4 };

/// Formats of products that are narrower than the 16 bit that activations are in.
constexpr bool is_narrow(Precision precision) { return precision == Precision::fp8 || precision == Precision::fp4; }

std::string_view name_of(Precision precision);

/// @throws InputError with the known names and the nearest one.
Precision precision_from(std::string_view name, std::string_view where);

/// Bytes per element of an operand held in this format (fp32 and tf32: 4, fp16 and bf16: 2, fp8: 1, fp4: 0.5).
double bytes_per_element(Precision precision);

}  // namespace sextant
