#pragma once

#include "kernels/cuda/kernels/common.cuh"

namespace sextant::bench::device {

constexpr float norm_epsilon_f = 1e-5f;

/// LayerNorm (WithMean) or RMSNorm of one row per block: y = (x - mean) * inverse * weight + bias. Keeps mean and
/// inverse of each row for the backward pass. `columns` is a multiple of 8.
template <class T, bool WithMean>
__global__ void norm_forward(std::int64_t columns, T const* x, T const* weight, T const* bias, T* y, float* means,
                             float* inverses) {
    std::int64_t const row = blockIdx.x;
    T const* const in = x + row * columns;
    std::int64_t const first = static_cast<std::int64_t>(threadIdx.x) * width;
    std::int64_t const step = static_cast<std::int64_t>(blockDim.x) * width;
    float mean = 0;
    if constexpr (WithMean) {
        float sum = 0;
        for (std::int64_t c = first; c < columns; c += step) {
            auto const pack = load_pack(in + c);
            for (int i = 0; i < width; ++i)
                sum += to_float(pack.values[i]);
        }
        mean = block_sum(sum) / static_cast<float>(columns);
    }
    float squares = 0;
    for (std::int64_t c = first; c < columns; c += step) {
        auto const pack = load_pack(in + c);
        for (int i = 0; i < width; ++i) {
            float const off = to_float(pack.values[i]) - mean;
            squares += off * off;
        }
    }
    float const inverse = rsqrtf(block_sum(squares) / static_cast<float>(columns) + norm_epsilon_f);
    for (std::int64_t c = first; c < columns; c += step) {
        auto const pack = load_pack(in + c), scale = load_pack(weight + c);
        Pack<T> result;
        Pack<T> shift;
        if constexpr (WithMean) shift = load_pack(bias + c);
        for (int i = 0; i < width; ++i) {
            float value = (to_float(pack.values[i]) - mean) * inverse * to_float(scale.values[i]);
            if constexpr (WithMean) value += to_float(shift.values[i]);
            result.values[i] = from_float<T>(value);
        }
        store_pack(y + row * columns + c, result);
    }
    if (threadIdx.x == 0) {
        if constexpr (WithMean) means[row] = mean;
        inverses[row] = inverse;
    }
}

/// Packs of a row that one thread of norm_backward keeps sums for: columns <= 4 * 8 * threads.
constexpr int norm_backward_packs = 4;
constexpr unsigned norm_backward_threads = 512;

/// dx of rows blockIdx.x, blockIdx.x + gridDim.x, ...; the block's sums for d_weight and d_bias go to row blockIdx.x of
/// the partial arrays [gridDim.x, columns].
template <class T, bool WithMean>
__global__ void __launch_bounds__(norm_backward_threads)
    norm_backward(std::int64_t rows, std::int64_t columns, T const* x, T const* weight, T const* dy, float const* means,
                  float const* inverses, T* dx, float* partial_weight, float* partial_bias) {
    std::int64_t const first = static_cast<std::int64_t>(threadIdx.x) * width;
    std::int64_t const step = static_cast<std::int64_t>(blockDim.x) * width;
    float d_weight[norm_backward_packs][width] = {}, d_bias[norm_backward_packs][width] = {};
    for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
        float const mean = WithMean ? means[row] : 0.0f, inverse = inverses[row];
        float along = 0, sum = 0;
        for (int p = 0; p < norm_backward_packs; ++p) {
            std::int64_t const c = first + p * step;
            if (c >= columns) continue;
            auto const in = load_pack(x + row * columns + c), up = load_pack(dy + row * columns + c);
            auto const scale = load_pack(weight + c);
            for (int i = 0; i < width; ++i) {
                float const xhat = (to_float(in.values[i]) - mean) * inverse, g = to_float(up.values[i]);
                along += g * to_float(scale.values[i]) * xhat;
                sum += g * to_float(scale.values[i]);
                d_weight[p][i] += g * xhat;
                if constexpr (WithMean) d_bias[p][i] += g;
            }
        }
        along = block_sum(along) / static_cast<float>(columns);
        if constexpr (WithMean)
            sum = block_sum(sum) / static_cast<float>(columns);
        else
            sum = 0;
        for (int p = 0; p < norm_backward_packs; ++p) {
            std::int64_t const c = first + p * step;
            if (c >= columns) continue;
            auto const in = load_pack(x + row * columns + c), up = load_pack(dy + row * columns + c);
            auto const scale = load_pack(weight + c);
            Pack<T> result;
            for (int i = 0; i < width; ++i) {
                float const xhat = (to_float(in.values[i]) - mean) * inverse;
                float const g = to_float(up.values[i]) * to_float(scale.values[i]);
                result.values[i] = from_float<T>(inverse * (g - sum - xhat * along));
            }
            store_pack(dx + row * columns + c, result);
        }
    }
    for (int p = 0; p < norm_backward_packs; ++p) {
        std::int64_t const c = first + p * step;
        if (c >= columns) continue;
        for (int i = 0; i < width; ++i) {
            partial_weight[blockIdx.x * columns + c + i] = d_weight[p][i];
            if constexpr (WithMean) partial_bias[blockIdx.x * columns + c + i] = d_bias[p][i];
        }
    }
}

/// out[c] = sum over rows of in[rows, columns].
template <class Float>
__global__ void column_sum(std::int64_t rows, std::int64_t columns, Float const* in, Float* out) {
    for (std::int64_t c = global_thread(); c < columns; c += global_threads()) {
        float sum = 0;
        for (std::int64_t r = 0; r < rows; ++r)
            sum += in[r * columns + c];
        out[c] = sum;
    }
}

}  // namespace sextant::bench::device
