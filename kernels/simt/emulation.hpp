#pragma once

// One CUDA thread block after another on the host: each thread is a fiber that runs until a barrier. Enough of CUDA for
// the kernels of kernels/cuda: barriers, shuffles, shared memory, atomics, narrow formats. A barrier that some threads
// of a warp or block never reach is an error here, where a GPU would hang. Between block barriers one warp runs to the
// end before the next one starts, from the first to the last or the other way round, so that a missing barrier shows.
// Costs, caches and races within a warp are not modelled.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "kernels/harness/float_formats.hpp"

#ifdef SEXTANT_EMULATED_CUDA  // its headers come first: they define the same words
#include <cuda_runtime.h>
#endif
#undef __global__
#undef __device__
#undef __host__
#undef __forceinline__
#undef __shared__
#undef __launch_bounds__
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __shared__ static
#define __launch_bounds__(...)
#define SEXTANT_UNROLL

namespace sextant::bench::simt {

struct Dim3 {
    unsigned x = 1, y = 1, z = 1;
};

enum class Order { ascending, descending };

/// Runs `kernel` for every thread of every block. `shared_bytes` of dynamic shared memory are filled with NaN patterns
/// before each block. At most 1,024 threads, one dimension of threads.
/// @throws std::logic_error on a barrier that not all threads reach.
void run(Dim3 grid, unsigned threads, std::size_t shared_bytes, Order order, std::function<void()> const& kernel);

/// Places of the thread that runs now.
Dim3 const& thread_index();
Dim3 const& block_index();
Dim3 const& block_size();
Dim3 const& grid_size();

void block_barrier();
void warp_barrier();
unsigned char* dynamic_shared_memory();

/// Publishes 32 bytes to the warp and returns where each of its 32 lanes published.
struct Slot {
    alignas(16) unsigned char bytes[32];
};
Slot const* exchange(Slot const& mine);

}  // namespace sextant::bench::simt

#define threadIdx (::sextant::bench::simt::thread_index())
#define blockIdx (::sextant::bench::simt::block_index())
#define blockDim (::sextant::bench::simt::block_size())
#define gridDim (::sextant::bench::simt::grid_size())

inline void __syncthreads() { sextant::bench::simt::block_barrier(); }
inline void __syncwarp() { sextant::bench::simt::warp_barrier(); }

template <class T>
T __shfl_xor_sync(unsigned, T value, int lane_mask) {
    sextant::bench::simt::Slot slot{};
    std::memcpy(slot.bytes, &value, sizeof value);
    auto const* const lanes = sextant::bench::simt::exchange(slot);
    std::memcpy(&value, lanes[static_cast<int>(threadIdx.x % 32) ^ lane_mask].bytes, sizeof value);
    return value;
}

inline float atomicAdd(float* to, float value) {
    float const old = *to;
    *to += value;
    return old;
}
inline int atomicMax(int* to, int value) {
    int const old = *to;
    if (value > old) *to = value;
    return old;
}
inline int __float_as_int(float x) {
    int bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}
inline int min(int a, int b) { return a < b ? a : b; }
inline int max(int a, int b) { return a > b ? a : b; }
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }

namespace sextant::bench::device {

struct bf16 {
    std::uint16_t bits;
};
struct fp16 {
    std::uint16_t bits;
};
struct fp8 {
    std::uint8_t bits;
};

inline float to_float(float x) { return x; }
inline float to_float(bf16 x) {
    std::uint32_t const bits = static_cast<std::uint32_t>(x.bits) << 16;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
inline float to_float(fp16 x) {
    static std::vector<float> const values = [] {
        std::vector<float> all;
        for (std::uint32_t bits = 0; bits < 1u << 16; ++bits)
            all.push_back(static_cast<float>(decoded(fp16_format, static_cast<std::uint16_t>(bits))));
        return all;
    }();
    return values[x.bits];
}
inline float to_float(fp8 x) { return static_cast<float>(decoded(e4m3, x.bits)); }

template <class T>
T from_float(float x);
template <>
inline float from_float<float>(float x) {
    return x;
}
template <>
inline bf16 from_float<bf16>(float x) {
    return {encoded(bf16_format, static_cast<double>(x))};
}
template <>
inline fp16 from_float<fp16>(float x) {
    return {encoded(fp16_format, static_cast<double>(x))};
}
template <>
inline fp8 from_float<fp8>(float x) {
    return {static_cast<std::uint8_t>(encoded(e4m3, static_cast<double>(x), Overflow::saturate))};
}

/// The copy happens when it is waited for, so that a kernel that reads too early sees what was there before.
void copy_async(void* shared, void const* global, bool there);
void wait_for_copies();

inline unsigned char* dynamic_shared() { return simt::dynamic_shared_memory(); }

}  // namespace sextant::bench::device
