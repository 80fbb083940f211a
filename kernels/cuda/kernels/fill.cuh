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

/// x[i] = integer_at(seed, i, bound).
template <class Integer>
__global__ void fill_integers(std::int64_t count, std::uint64_t seed, int bound, Integer* x) {
    for (std::int64_t i = global_thread(); i < count; i += global_threads())
        x[i] = static_cast<Integer>(integer_at(seed, static_cast<std::uint64_t>(i), bound));
}

}  // namespace sextant::bench::device
