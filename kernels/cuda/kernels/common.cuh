#pragma once

#include "kernels/simt/simt.cuh"

namespace sextant::bench::device {

/// N neighbours moved with one instruction (16 bytes for 8 halves or 4 floats).
template <class T, int N = 8>
struct alignas(sizeof(T) * N) Pack {
    T values[N];
};

template <class T, int N = 8>
__device__ inline Pack<T, N> load_pack(T const* from) {
    return *reinterpret_cast<Pack<T, N> const*>(from);
}
template <class T, int N>
__device__ inline void store_pack(T* to, Pack<T, N> const& pack) {
    *reinterpret_cast<Pack<T, N>*>(to) = pack;
}

/// Neighbours that one thread handles in every elementwise kernel; rows are multiples of it.
constexpr int width = 8;

__device__ inline std::int64_t global_thread() {
    return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t global_threads() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }

__device__ inline float warp_sum(float value) {
    for (int lanes = 16; lanes > 0; lanes /= 2)
        value += __shfl_xor_sync(0xFFFFFFFFu, value, lanes);
    return value;
}
__device__ inline float warp_max(float value) {
    for (int lanes = 16; lanes > 0; lanes /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xFFFFFFFFu, value, lanes));
    return value;
}

/// Sum over the block, in every thread. All threads must call it; blocks are multiples of 32 threads, at most 1,024.
__device__ inline float block_sum(float value) {
    __shared__ float of_warp[32];
    value = warp_sum(value);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    float sum = 0;
    for (unsigned warp = 0; warp < blockDim.x / 32; ++warp)
        sum += of_warp[warp];
    __syncthreads();  // before the next call writes
    return sum;
}
__device__ inline float block_max(float value) {
    __shared__ float of_warp[32];
    value = warp_max(value);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    float largest = of_warp[0];
    for (unsigned warp = 1; warp < blockDim.x / 32; ++warp)
        largest = fmaxf(largest, of_warp[warp]);
    __syncthreads();
    return largest;
}

}  // namespace sextant::bench::device
