#pragma once

#include "kernels/cuda/kernels/common.cuh"

namespace sextant::bench::device {

/// loss[r] = log(sum_c exp(x[r, c])) - x[r, target[r]] and that logarithm, one row per block. One pass over the row:
/// each thread keeps a running maximum and a sum relative to it. `columns` is a multiple of 8.
template <class T>
__global__ void cross_entropy_forward(std::int64_t columns, T const* x, std::int32_t const* target, float* loss,
                                      float* lse) {
    std::int64_t const row = blockIdx.x;
    T const* const in = x + row * columns;
    float largest = -INFINITY, sum = 0;
    for (std::int64_t c = static_cast<std::int64_t>(threadIdx.x) * width; c < columns;
         c += static_cast<std::int64_t>(blockDim.x) * width) {
        auto const pack = load_pack(in + c);
        float top = largest;
        for (int i = 0; i < width; ++i)
            top = fmaxf(top, to_float(pack.values[i]));
        sum *= expf(largest - top);  // 0 the first time
        largest = top;
        for (int i = 0; i < width; ++i)
            sum += expf(to_float(pack.values[i]) - largest);
    }
    float const top = block_max(largest);
    // A thread without elements has largest = -inf and sum = 0.
    float const total = block_sum(sum * expf(largest - top));
    if (threadIdx.x == 0) {
        lse[row] = top + logf(total);
        loss[row] = lse[row] - to_float(in[target[row]]);
    }
}

/// dx = (softmax(x) - onehot(target)) * scale, from the row's log-sum.
template <class T>
__global__ void cross_entropy_backward(std::int64_t columns, T const* x, std::int32_t const* target, float const* lse,
                                       float scale, T* dx) {
    std::int64_t const row = blockIdx.x;
    float const log_sum = lse[row];
    std::int64_t const right = target[row];
    for (std::int64_t c = static_cast<std::int64_t>(threadIdx.x) * width; c < columns;
         c += static_cast<std::int64_t>(blockDim.x) * width) {
        auto const pack = load_pack(x + row * columns + c);
        Pack<T> result;
        for (int i = 0; i < width; ++i) {
            float const p = expf(to_float(pack.values[i]) - log_sum);
            result.values[i] = from_float<T>((c + i == right ? p - 1.0f : p) * scale);
        }
        store_pack(dx + row * columns + c, result);
    }
}

}  // namespace sextant::bench::device
