#pragma once

#include "core/spec/precision.hpp"

#include <algorithm>

namespace sextant {

/// Bytes of a value between products of this format: two, or four where these are in fp32 or tf32.
inline double working_bytes(Precision precision) { return std::max(2.0, bytes_per_element(precision)); }

/// Of a value in 16 bits: 1, or 2.
inline double working_width(Precision precision) { return working_bytes(precision) / 2; }

/// Bytes per value that is rounded to this format along a row or a column, with its share of their scales: fp8-block
/// one of four bytes for 128 values, mxfp8 one of a byte for 32, fp4 one of a byte for 16.
inline double rounded_bytes(Precision precision) {
    double const value = bytes_per_element(precision);
    switch (precision) {
        case Precision::fp8_block: return value + 4.0 / 128;
        case Precision::mxfp8: return value + 1.0 / 32;
        case Precision::fp4: return value + 1.0 / 16;
        default: return value;
    }
}

/// The same of a weight: in fp8-block squares of 128 values have a scale.
inline double rounded_weight_bytes(Precision precision) {
    return precision == Precision::fp8_block ? bytes_per_element(precision) : rounded_bytes(precision);
}

}  // namespace sextant
