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

/// Packs of 8 elements of one row that a thread keeps in registers: columns <= Packs * 8 * threads.
constexpr int most_norm_packs = 4;

/// The part of a row that this thread handles; nothing beyond `columns`.
template <class T, int Packs>
struct RowPart {
    Pack<T> packs[Packs];
    /// Element at which pack `p` begins.
    static __device__ inline std::int64_t first(int p) {
        return (static_cast<std::int64_t>(threadIdx.x) + p * static_cast<std::int64_t>(blockDim.x)) * width;
    }
    __device__ inline void load(T const* row, std::int64_t columns) {
        SEXTANT_UNROLL
        for (int p = 0; p < Packs; ++p)
            if (first(p) < columns) packs[p] = load_pack(row + first(p));
    }
    /// Calls f(p, i) for every element packs[p].values[i].
    template <class Each>
    static __device__ inline void visit(std::int64_t columns, Each each) {
        SEXTANT_UNROLL
        for (int p = 0; p < Packs; ++p)
            if (first(p) < columns) {
                SEXTANT_UNROLL
                for (int i = 0; i < width; ++i)
                    each(p, i);
            }
    }
    __device__ inline void store(T* row, std::int64_t columns) const {
        SEXTANT_UNROLL
        for (int p = 0; p < Packs; ++p)
            if (first(p) < columns) store_pack(row + first(p), packs[p]);
    }
};

constexpr int most_norm_threads = 512;

/// dx of rows blockIdx.x, blockIdx.x + gridDim.x, ...; the block's sums for d_weight and d_bias go to row blockIdx.x of
/// the partial arrays [gridDim.x, columns].
template <class T, bool WithMean, int Packs>
__global__ void __launch_bounds__(most_norm_threads)
    norm_backward(std::int64_t rows, std::int64_t columns, T const* x, T const* weight, T const* dy, float const* means,
                  float const* inverses, T* dx, float* partial_weight, float* partial_bias) {
    using Part = RowPart<T, Packs>;
    Part in, up, scale;
    scale.load(weight, columns);
    float d_weight[Packs][width] = {}, d_bias[Packs][width] = {};
    for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
        float const mean = WithMean ? means[row] : 0.0f, inverse = inverses[row];
        in.load(x + row * columns, columns);
        up.load(dy + row * columns, columns);
        float along = 0, sum = 0;
        Part::visit(columns, [&](int p, int i) {
            float const xhat = (to_float(in.packs[p].values[i]) - mean) * inverse, g = to_float(up.packs[p].values[i]);
            float const scaled = g * to_float(scale.packs[p].values[i]);
            along += scaled * xhat;
            sum += scaled;
            d_weight[p][i] += g * xhat;
            if constexpr (WithMean) d_bias[p][i] += g;
        });
        along = block_sum(along) / static_cast<float>(columns);
        if constexpr (WithMean)
            sum = block_sum(sum) / static_cast<float>(columns);
        else
            sum = 0;
        Part::visit(columns, [&](int p, int i) {
            float const xhat = (to_float(in.packs[p].values[i]) - mean) * inverse;
            float const g = to_float(up.packs[p].values[i]) * to_float(scale.packs[p].values[i]);
            in.packs[p].values[i] = from_float<T>(inverse * (g - sum - xhat * along));
        });
        in.store(dx + row * columns, columns);
    }
    Part::visit(columns, [&](int p, int i) {
        std::int64_t const place = blockIdx.x * columns + Part::first(p) + i;
        partial_weight[place] = d_weight[p][i];
        if constexpr (WithMean) partial_bias[place] = d_bias[p][i];
    });
}

constexpr unsigned column_sum_threads = 1024;

/// out[c] = sum over rows of in[rows, columns]; blocks of 32 columns each, whose warps share the rows.
template <class Float>
__global__ void column_sum(std::int64_t rows, std::int64_t columns, Float const* in, Float* out) {
    __shared__ float of_warp[32][32];
    int const lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    int const warps = static_cast<int>(blockDim.x) / 32;
    for (std::int64_t first = 32 * static_cast<std::int64_t>(blockIdx.x); first < columns;
         first += 32 * static_cast<std::int64_t>(gridDim.x)) {
        std::int64_t const c = first + lane;
        float sum = 0;
        if (c < columns)
            for (std::int64_t r = warp; r < rows; r += warps)
                sum += in[r * columns + c];
        of_warp[warp][lane] = sum;
        __syncthreads();
        if (warp == 0 && c < columns) {
            for (int other = 1; other < warps; ++other)
                sum += of_warp[other][lane];
            out[c] = sum;
        }
        __syncthreads();  // before the next turn writes
    }
}

}  // namespace sextant::bench::device
