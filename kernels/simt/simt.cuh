#pragma once

// What the kernels stand on: CUDA, or an emulation of it on the host with which tests run the very same kernel source.

#ifdef __CUDACC__
#define SEXTANT_UNROLL _Pragma("unroll")
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

namespace sextant::bench::device {

using bf16 = __nv_bfloat16;
using fp16 = __half;
/// 8 bits of e4m3; conversions saturate.
struct fp8 {
    __nv_fp8_storage_t bits;
};

__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(bf16 x) { return __bfloat162float(x); }
__device__ inline float to_float(fp16 x) { return __half2float(x); }
__device__ inline float to_float(fp8 x) { return __half2float(__half(__nv_cvt_fp8_to_halfraw(x.bits, __NV_E4M3))); }

template <class T>
__device__ inline T from_float(float x);
template <>
__device__ inline float from_float<float>(float x) {
    return x;
}
template <>
__device__ inline bf16 from_float<bf16>(float x) {
    return __float2bfloat16_rn(x);
}
template <>
__device__ inline fp16 from_float<fp16>(float x) {
    return __float2half_rn(x);
}
template <>
__device__ inline fp8 from_float<fp8>(float x) {
    return fp8{__nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3)};
}

/// Starts copying 16 bytes from device memory to shared memory; zeros instead where `there` is false.
__device__ inline void copy_async(void* shared, void const* global, bool there) {
    auto const to = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
    int const bytes = there ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(bytes) : "memory");
}
/// Waits for all copies that this thread has started; other threads see them after a barrier.
__device__ inline void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

/// The block's dynamic shared memory, aligned to 128 bytes.
__device__ inline unsigned char* dynamic_shared() {
    extern __shared__ __align__(128) unsigned char sextant_dynamic_shared[];
    return sextant_dynamic_shared;
}

}  // namespace sextant::bench::device
#else
#include "kernels/simt/emulation.hpp"
#endif
