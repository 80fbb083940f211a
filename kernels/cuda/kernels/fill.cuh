#pragma once

#include "kernels/cuda/kernels/common.cuh"
#include "kernels/harness/generated_values.hpp"

namespace sextant::bench::device {

/// x[i] = scale * value_at(seed, i), rounded to T.
template <class T>
__global__ void fill_values(std::int64_t count, std::uint64_t seed, float scale, T* x) {
    for (std::int64_t i = global_thread(); i < count; i += global_threads())
        x[i] = from_float<T>(scale * value_at(seed, static_cast<std::uint64_t>(i)));
}

/// x[i] = |value_at(seed, i)|, rounded to T.
template <class T>
__global__ void fill_magnitudes(std::int64_t count, std::uint64_t seed, T* x) {
    for (std::int64_t i = global_thread(); i < count; i += global_threads())
        x[i] = from_float<T>(fabsf(value_at(seed, static_cast<std::uint64_t>(i))));
}

/// Pairs of e2m1, the first in the low bits: element i is integer_at(seed, i, bound), of at most 4, which it has
/// exactly.
__global__ inline void fill_fp4_pairs(std::int64_t pairs, std::uint64_t seed, int bound, unsigned char* x) {
    for (std::int64_t i = global_thread(); i < pairs; i += global_threads()) {
        unsigned both = 0;
        for (int half = 0; half < 2; ++half) {
            int const value = integer_at(seed, static_cast<std::uint64_t>(2 * i + half), bound);
            int const size = value < 0 ? -value : value;
            // Sign, two bits of exponent, one of mantissa: 1 is 0b010, 2 is 0b100, 3 is 0b101, 4 is 0b110.
            unsigned const bits = size == 0 ? 0u : static_cast<unsigned>(size == 1 ? 2 : size + 2);
            both |= (bits | (value < 0 ? 8u : 0u)) << (4 * half);
        }
        x[i] = static_cast<unsigned char>(both);
    }
}

/// x[i] = integer_at(seed, i, bound).
template <class Integer>
__global__ void fill_integers(std::int64_t count, std::uint64_t seed, int bound, Integer* x) {
    for (std::int64_t i = global_thread(); i < count; i += global_threads())
        x[i] = static_cast<Integer>(integer_at(seed, static_cast<std::uint64_t>(i), bound));
}

}  // namespace sextant::bench::device
