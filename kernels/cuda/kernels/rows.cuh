#pragma once

// Kernels that move whole rows by an index: embeddings and the permutation of mixture-of-experts layers. One row per
// block; `columns` is a multiple of 8.

#include "kernels/cuda/kernels/common.cuh"

namespace sextant::bench::device {

/// y[r] = table[index[r]]: embedding lookup, and tokens sorted by expert.
template <class T>
__global__ void gather_rows(std::int64_t columns, T const* table, std::int32_t const* index, T* y) {
    std::int64_t const row = blockIdx.x, from = index[row];
    for (std::int64_t c = static_cast<std::int64_t>(threadIdx.x) * width; c < columns;
         c += static_cast<std::int64_t>(blockDim.x) * width)
        store_pack(y + row * columns + c, load_pack(table + from * columns + c));
}

/// d_table[index[r]] += dy[r] in fp32, with atomic additions: rows of the same index meet.
template <class T>
__global__ void scatter_add_rows(std::int64_t columns, T const* dy, std::int32_t const* index, float* d_table) {
    std::int64_t const row = blockIdx.x, to = index[row];
    for (std::int64_t c = threadIdx.x; c < columns; c += blockDim.x)
        atomicAdd(d_table + to * columns + c, to_float(dy[row * columns + c]));
}

/// y[t] = sum_j weights[t, j] x[places[t, j]], j < experts_per_token: results of the experts back in token order.
template <class T>
__global__ void combine_rows(std::int64_t columns, int experts_per_token, T const* x, std::int32_t const* places,
                             float const* weights, T* y) {
    std::int64_t const token = blockIdx.x;
    for (std::int64_t c = static_cast<std::int64_t>(threadIdx.x) * width; c < columns;
         c += static_cast<std::int64_t>(blockDim.x) * width) {
        float sum[width] = {};
        for (int j = 0; j < experts_per_token; ++j) {
            std::int64_t const from = places[token * experts_per_token + j];
            float const weight = weights[token * experts_per_token + j];
            auto const pack = load_pack(x + from * columns + c);
            for (int i = 0; i < width; ++i)
                sum[i] += weight * to_float(pack.values[i]);
        }
        Pack<T> result;
        for (int i = 0; i < width; ++i)
            result.values[i] = from_float<T>(sum[i]);
        store_pack(y + token * columns + c, result);
    }
}

}  // namespace sextant::bench::device
