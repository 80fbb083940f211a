#pragma once

#include "kernels/cuda/kernels/common.cuh"

namespace sextant::bench::device {

constexpr float e4m3_max = 448.0f;

/// y = x in another format; 16 bytes of the wider one per turn, so that the threads of a warp touch neighbours.
template <class From, class To>
__global__ void cast(std::int64_t count, From const* x, To* y) {
    constexpr int few = 16 / static_cast<int>(sizeof(From) > sizeof(To) ? sizeof(From) : sizeof(To));
    for (std::int64_t p = global_thread(); p < count / few; p += global_threads()) {
        auto const in = load_pack<From, few>(x + p * few);
        Pack<To, few> result;
        for (int i = 0; i < few; ++i)
            result.values[i] = from_float<To>(to_float(in.values[i]));
        store_pack(y + p * few, result);
    }
}

/// *amax = max(*amax, |x|): bits of floats that are not negative are ordered as integers are.
template <class T>
__global__ void largest_magnitude(std::int64_t count, T const* x, float* amax) {
    float largest = 0;
    for (std::int64_t p = global_thread(); p < count / width; p += global_threads()) {
        auto const in = load_pack(x + p * width);
        for (int i = 0; i < width; ++i)
            largest = fmaxf(largest, fabsf(to_float(in.values[i])));
    }
    largest = block_max(largest);
    if (threadIdx.x == 0) atomicMax(reinterpret_cast<int*>(amax), __float_as_int(largest));
}

/// y = e4m3(x * 448 / *scaling_amax), and *amax as above for the next step: "delayed" scaling in one pass.
template <class T>
__global__ void quantise_tensor(std::int64_t count, T const* x, float const* scaling_amax, fp8* y, float* amax) {
    float const scale = e4m3_max / *scaling_amax;
    float largest = 0;
    for (std::int64_t p = global_thread(); p < count / width; p += global_threads()) {
        auto const in = load_pack(x + p * width);
        Pack<fp8> result;
        for (int i = 0; i < width; ++i) {
            float const value = to_float(in.values[i]);
            largest = fmaxf(largest, fabsf(value));
            result.values[i] = from_float<fp8>(value * scale);
        }
        store_pack(y + p * width, result);
    }
    largest = block_max(largest);
    if (threadIdx.x == 0) atomicMax(reinterpret_cast<int*>(amax), __float_as_int(largest));
}

/// Each row by its own largest magnitude, kept in amax[r]; one row per block.
template <class T>
__global__ void quantise_rows(std::int64_t columns, T const* x, fp8* y, float* amax) {
    std::int64_t const row = blockIdx.x;
    std::int64_t const first = static_cast<std::int64_t>(threadIdx.x) * width;
    std::int64_t const step = static_cast<std::int64_t>(blockDim.x) * width;
    float largest = 0;
    for (std::int64_t c = first; c < columns; c += step) {
        auto const in = load_pack(x + row * columns + c);
        for (int i = 0; i < width; ++i)
            largest = fmaxf(largest, fabsf(to_float(in.values[i])));
    }
    largest = block_max(largest);
    float const scale = largest > 0 ? e4m3_max / largest : 1.0f;
    for (std::int64_t c = first; c < columns; c += step) {
        auto const in = load_pack(x + row * columns + c);
        Pack<fp8> result;
        for (int i = 0; i < width; ++i)
            result.values[i] = from_float<fp8>(to_float(in.values[i]) * scale);
        store_pack(y + row * columns + c, result);
    }
    if (threadIdx.x == 0) amax[row] = largest;
}

/// y = x * *amax / 448.
template <class T>
__global__ void dequantise_tensor(std::int64_t count, fp8 const* x, float const* amax, T* y) {
    float const scale = *amax / e4m3_max;
    for (std::int64_t p = global_thread(); p < count / width; p += global_threads()) {
        auto const in = load_pack(x + p * width);
        Pack<T> result;
        for (int i = 0; i < width; ++i)
            result.values[i] = from_float<T>(to_float(in.values[i]) * scale);
        store_pack(y + p * width, result);
    }
}

}  // namespace sextant::bench::device
