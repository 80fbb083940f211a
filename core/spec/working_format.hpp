#pragma once

#include "core/spec/precision.hpp"

#include <algorithm>

namespace sextant {

/// Bytes of a value between products of this format: two, or four where these are in fp32 or tf32.
inline double working_bytes(Precision precision) { return std::max(2.0, bytes_per_element(precision)); }

/// Of a value in 16 bits: 1, or 2.
inline double working_width(Precision precision) { return working_bytes(precision) / 2; }

}  // namespace sextant
