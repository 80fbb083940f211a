#pragma once

#include "core/spec/kernel_constants.hpp"

#include <string_view>

namespace sextant {

/// The format that a dtype names, in any case and with or without its library's name: as the formats themselves and
/// their tables ("bf16", "int8_wo"), as PyTorch, CUDA and XLA ("torch.bfloat16", "c10::Half", "float8_e4m3fn"), as
/// engines ("w4a16", "fp8_e4m3"); null for an unknown one. 8-bit floats are those with three bits of mantissa, "w8a8"
/// is of integers.
GemmFormat const* stated_format(std::string_view dtype);

/// The same. @throws RowSkip for an unknown one, and for one that is known and has no model.
GemmFormat const& needed_format(std::string_view dtype);

}  // namespace sextant
