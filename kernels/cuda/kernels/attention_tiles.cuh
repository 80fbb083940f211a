#pragma once

// What kernels of attention are made of: tiles in shared memory, products of a warp's 16 rows with them on 16-bit
// tensor cores with fp32 sums, and the running softmax between two products.

#include "kernels/cuda/kernels/common.cuh"
#include "kernels/simt/matrix.cuh"

namespace sextant::bench::device {

constexpr float log2_of_e = 1.4426950408889634f;
constexpr int attention_threads = 128;  ///< four warps, 16 rows each
constexpr int tile_rows = 64;

/// Elements from one row of a tile in shared memory to the next: 16 bytes more than a row moves each row by four banks,
/// so that the eight rows of an 8x8 matrix lie in different banks.
template <int HeadDim>
constexpr int tile_stride = HeadDim + 8;

/// Starts copying rows [first, first + Rows) of a matrix into shared memory; rows from `limit` on become zeros.
template <class T, int HeadDim, int Rows>
__device__ inline void load_tile(T* tile, T const* matrix, std::int64_t row_stride, int first, int limit) {
    constexpr int packs = HeadDim / width;
    static_assert(width * sizeof(T) == 16);
    SEXTANT_UNROLL
    for (int i = static_cast<int>(threadIdx.x); i < Rows * packs; i += attention_threads) {
        int const row = i / packs, column = i % packs * width;
        bool const there = first + row < limit;
        copy_async(tile + row * tile_stride<HeadDim> + column,
                   there ? matrix + (first + row) * row_stride + column : matrix, there);
    }
}

/// Two tiles of equal rows, the second behind the first, in two places of shared memory that turns take one after the
/// other: what the next turn needs arrives while this one computes.
template <class T, int HeadDim, int Rows>
struct TilePairs {
    static constexpr int tile = Rows * tile_stride<HeadDim>;
    static constexpr int elements = 4 * tile;
    T* places;

    __device__ inline T* first(int turn) const { return places + turn % 2 * 2 * tile; }
    __device__ inline T* second(int turn) const { return first(turn) + tile; }
    /// Starts copying rows [row, row + Rows) of two matrices of one layout.
    __device__ inline void load(int turn, T const* a, T const* b, std::int64_t row_stride, int row, int limit) const {
        load_tile<T, HeadDim, Rows>(first(turn), a, row_stride, row, limit);
        load_tile<T, HeadDim, Rows>(second(turn), b, row_stride, row, limit);
    }
};

/// The copies of all threads that were started are there, and everyone is done with what the next ones overwrite.
__device__ inline void tiles_arrive() {
    wait_for_copies();
    __syncthreads();
}

/// Left operand [16, HeadDim] of a warp in registers.
template <int HeadDim>
struct LeftOperand {
    std::uint32_t parts[HeadDim / 16][4];
    template <class T>
    __device__ inline void load(T const* rows) {
        int const lane = static_cast<int>(threadIdx.x) % 32, row = lane % 8, matrix = lane / 8;
        SEXTANT_UNROLL
        for (int k = 0; k < HeadDim; k += 16)
            load_matrices(parts[k / 16], rows + (matrix % 2 * 8 + row) * tile_stride<HeadDim> + k + matrix / 2 * 8);
    }
};

/// acc[16, 8 Tiles] += A B^T with A [16, HeadDim] in registers and B [8 Tiles, HeadDim] in shared memory.
template <class T, int HeadDim, int Tiles>
__device__ inline void multiply_by_rows(float (&acc)[Tiles][4], LeftOperand<HeadDim> const& a, T const* b) {
    constexpr int stride = tile_stride<HeadDim>;
    int const lane = static_cast<int>(threadIdx.x) % 32, row = lane % 8, matrix = lane / 8;
    SEXTANT_UNROLL
    for (int k = 0; k < HeadDim; k += 16) {
        SEXTANT_UNROLL
        for (int tile = 0; tile < Tiles; tile += 2) {
            std::uint32_t right[4];
            load_matrices(right, b + (8 * tile + matrix / 2 * 8 + row) * stride + k + matrix % 2 * 8);
            multiply_add<T>(acc[tile], a.parts[k / 16], right[0], right[1]);
            multiply_add<T>(acc[tile + 1], a.parts[k / 16], right[2], right[3]);
        }
    }
}

/// acc[16, HeadDim] += A B with A [16, 8 Tiles] in registers (as an accumulator) and B [8 Tiles, HeadDim] in shared
/// memory. Two neighbouring accumulators are, pair by pair, the left operand of the next product.
template <class T, int HeadDim, int Tiles>
__device__ inline void multiply_held(float (&acc)[HeadDim / 8][4], float const (&held)[Tiles][4], T const* b) {
    constexpr int stride = tile_stride<HeadDim>;
    int const lane = static_cast<int>(threadIdx.x) % 32, row = lane % 8, matrix = lane / 8;
    SEXTANT_UNROLL
    for (int tile = 0; tile < Tiles; tile += 2) {
        std::uint32_t const left[4] = {
            pack_pair<T>(held[tile][0], held[tile][1]), pack_pair<T>(held[tile][2], held[tile][3]),
            pack_pair<T>(held[tile + 1][0], held[tile + 1][1]), pack_pair<T>(held[tile + 1][2], held[tile + 1][3])};
        SEXTANT_UNROLL
        for (int n = 0; n < HeadDim; n += 16) {
            std::uint32_t right[4];
            load_matrices_transposed(right, b + (8 * tile + matrix % 2 * 8 + row) * stride + n + matrix / 2 * 8);
            multiply_add<T>(acc[n / 8], left, right[0], right[1]);
            multiply_add<T>(acc[n / 8 + 1], left, right[2], right[3]);
        }
    }
}

/// The running softmax of rows g and g + 8 of a warp's 16 rows.
template <int HeadDim>
struct RowState {
    float largest[2] = {-INFINITY, -INFINITY};  ///< of the scores, before scaling
    float sum[2] = {0, 0};                      ///< of this lane's columns
    float acc[HeadDim / 8][4] = {};
};

/// The four lanes that share a row.
__device__ inline float quad_max(float value) {
    value = fmaxf(value, __shfl_xor_sync(0xFFFFFFFFu, value, 1));
    return fmaxf(value, __shfl_xor_sync(0xFFFFFFFFu, value, 2));
}
__device__ inline float quad_sum(float value) {
    value += __shfl_xor_sync(0xFFFFFFFFu, value, 1);
    return value + __shfl_xor_sync(0xFFFFFFFFu, value, 2);
}

/// Takes in masked scores (-inf: not seen) of one more tile of keys: scores become exp(score - largest), and what was
/// summed before is rescaled. A row that has seen nothing yet keeps largest = -inf and sums of zero.
template <int HeadDim, int Tiles>
__device__ inline void advance(RowState<HeadDim>& state, float (&scores)[Tiles][4], float scale_log2) {
    SEXTANT_UNROLL
    for (int half = 0; half < 2; ++half) {
        float top = state.largest[half];
        for (int tile = 0; tile < Tiles; ++tile)
            top = fmaxf(top, fmaxf(scores[tile][2 * half], scores[tile][2 * half + 1]));
        top = quad_max(top);
        float const base = top == -INFINITY ? 0.0f : top * scale_log2;
        float const old = exp2f(state.largest[half] * scale_log2 - base);
        state.largest[half] = top;
        state.sum[half] *= old;
        for (int column = 0; column < HeadDim / 8; ++column) {
            state.acc[column][2 * half] *= old;
            state.acc[column][2 * half + 1] *= old;
        }
        for (int tile = 0; tile < Tiles; ++tile)
            for (int i = 2 * half; i < 2 * half + 2; ++i) {
                scores[tile][i] = exp2f(scores[tile][i] * scale_log2 - base);
                state.sum[half] += scores[tile][i];
            }
    }
}

template <class T>
__device__ inline void store_pair(T* to, float low, float high) {
    Pack<T, 2> pair;
    pair.values[0] = from_float<T>(low);
    pair.values[1] = from_float<T>(high);
    store_pack(to, pair);
}

/// Stores rows `first_row` + g and + 8 of a warp's [16, HeadDim] result, each times its factor, where below `limit`.
template <class T, int HeadDim>
__device__ inline void store_rows(T* matrix, std::int64_t row_stride, int first_row, int limit,
                                  float const (&acc)[HeadDim / 8][4], float factor0, float factor1) {
    int const g = static_cast<int>(threadIdx.x) % 32 / 4, t = static_cast<int>(threadIdx.x) % 4;
    for (int half = 0; half < 2; ++half) {
        int const row = first_row + g + 8 * half;
        if (row >= limit) continue;
        float const factor = half == 0 ? factor0 : factor1;
        for (int column = 0; column < HeadDim / 8; ++column)
            store_pair(matrix + row * row_stride + 8 * column + 2 * t, acc[column][2 * half] * factor,
                       acc[column][2 * half + 1] * factor);
    }
}

}  // namespace sextant::bench::device
