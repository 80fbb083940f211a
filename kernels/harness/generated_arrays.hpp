#pragma once

#include <cstdint>
#include <vector>

#include "kernels/harness/float_formats.hpp"
#include "kernels/harness/generated_values.hpp"

namespace sextant::bench {

/// Elements [first, first + count) of the input `seed` as the kernel sees them, that is rounded to its dtype
/// ("fp32", "bf16", "fp16", "e4m3", "e5m2"), times `scale` before rounding.
std::vector<double> generated(std::uint64_t seed, std::int64_t first, std::int64_t count, char const* dtype,
                              double scale = 1.0);

}  // namespace sextant::bench
