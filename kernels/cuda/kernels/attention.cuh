#pragma once

// Attention in tiles that stay on the chip, on 16-bit tensor cores with fp32 sums, after FlashAttention-2 (Dao,
// arXiv:2307.08691). Queries, outputs and their gradients are [batch, seq_q, heads, HeadDim]; keys and values [batch,
// seq_kv, kv_heads, HeadDim]; heads is a multiple of kv_heads. Causal: query i sees keys j <= i + seq_kv - seq_q, and
// seq_q <= seq_kv, so that every query sees key 0. HeadDim is 64 or 128; the sequences may have any length.

#include "kernels/cuda/kernels/common.cuh"
#include "kernels/simt/matrix.cuh"

namespace sextant::bench::device {

struct AttentionShape {
    int batch, seq_q, seq_kv, heads, kv_heads;
    int causal;   ///< 0 or 1
    float scale;  ///< of q k^T
};

constexpr float log2_of_e = 1.4426950408889634f;
constexpr int attention_threads = 128;  ///< four warps, 16 rows each
constexpr int tile_rows = 64;
constexpr int backward_step = 32;  ///< rows of the other sequence per turn of the backward kernels

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

template <class T, int HeadDim>
constexpr int attention_forward_shared() {
    return (tile_rows * tile_stride<HeadDim> + TilePairs<T, HeadDim, tile_rows>::elements) *
           static_cast<int>(sizeof(T));
}

/// out and lse [batch, heads, seq_q] (natural logarithm of the sum of exponentials).
/// Grid (ceil(seq_q / 64), heads, batch).
template <class T, int HeadDim>
__global__ void __launch_bounds__(attention_threads)
    attention_forward(AttentionShape shape, T const* q, T const* k, T const* v, T* out, float* lse) {
    constexpr int stride = tile_stride<HeadDim>;
    T* const q_tile = reinterpret_cast<T*>(dynamic_shared());
    TilePairs<T, HeadDim, tile_rows> const kv{q_tile + tile_rows * stride};  // keys and values
    int const head = static_cast<int>(blockIdx.y), batch = static_cast<int>(blockIdx.z);
    int const kv_head = head / (shape.heads / shape.kv_heads), first_query = static_cast<int>(blockIdx.x) * tile_rows;
    int const warp = static_cast<int>(threadIdx.x) / 32, g = static_cast<int>(threadIdx.x) % 32 / 4,
              t = static_cast<int>(threadIdx.x) % 4;
    std::int64_t const q_stride = static_cast<std::int64_t>(shape.heads) * HeadDim,
                       kv_stride = static_cast<std::int64_t>(shape.kv_heads) * HeadDim;
    std::int64_t const q_base = batch * shape.seq_q * q_stride + head * HeadDim,
                       kv_base = batch * shape.seq_kv * kv_stride + kv_head * HeadDim;
    int const ahead = shape.seq_kv - shape.seq_q;  // keys before the first query
    int const last_query = min(first_query + tile_rows, shape.seq_q) - 1;
    int const keys = shape.causal ? min(shape.seq_kv, last_query + ahead + 1) : shape.seq_kv;

    load_tile<T, HeadDim, tile_rows>(q_tile, q + q_base, q_stride, first_query, shape.seq_q);
    auto const load_keys = [&](int turn) {
        kv.load(turn, k + kv_base, v + kv_base, kv_stride, turn * tile_rows, shape.seq_kv);
    };
    load_keys(0);
    LeftOperand<HeadDim> queries;
    RowState<HeadDim> state;
    for (int turn = 0; turn * tile_rows < keys; ++turn) {
        int const first_key = turn * tile_rows;
        tiles_arrive();
        if (turn == 0) queries.load(q_tile + warp * 16 * stride);
        if (first_key + tile_rows < keys) load_keys(turn + 1);
        float scores[tile_rows / 8][4] = {};
        multiply_by_rows<T, HeadDim, tile_rows / 8>(scores, queries, kv.first(turn));
        // Only at the ends some are not seen, of the sequence or of the mask.
        if (first_key + tile_rows > shape.seq_kv || (shape.causal && first_key + tile_rows > first_query + ahead))
            for (int tile = 0; tile < tile_rows / 8; ++tile)
                for (int i = 0; i < 4; ++i) {
                    int const key = first_key + 8 * tile + 2 * t + i % 2;
                    int const query = first_query + warp * 16 + g + 8 * (i / 2);
                    if (key >= shape.seq_kv || (shape.causal && key > query + ahead)) scores[tile][i] = -INFINITY;
                }
        advance(state, scores, shape.scale * log2_of_e);
        multiply_held<T, HeadDim, tile_rows / 8>(state.acc, scores, kv.second(turn));
    }
    float const sum0 = quad_sum(state.sum[0]), sum1 = quad_sum(state.sum[1]);
    int const first_row = first_query + warp * 16;
    store_rows<T, HeadDim>(out + q_base, q_stride, first_row, shape.seq_q, state.acc, 1.0f / sum0, 1.0f / sum1);
    if (t == 0)
        for (int half = 0; half < 2; ++half) {
            int const row = first_row + g + 8 * half;
            if (row < shape.seq_q)
                lse[(static_cast<std::int64_t>(batch) * shape.heads + head) * shape.seq_q + row] =
                    state.largest[half] * shape.scale + logf(half == 0 ? sum0 : sum1);
        }
}

/// delta [batch, heads, seq_q] = sum over the head of out d_out; one warp per row.
template <class T, int HeadDim>
__global__ void attention_delta(AttentionShape shape, T const* out, T const* d_out, float* delta) {
    std::int64_t const rows = static_cast<std::int64_t>(shape.batch) * shape.seq_q * shape.heads;
    int const lane = static_cast<int>(threadIdx.x) % 32;
    for (std::int64_t row = global_thread() / 32; row < rows; row += global_threads() / 32) {
        float sum = 0;
        for (int d = lane; d < HeadDim; d += 32)
            sum += to_float(out[row * HeadDim + d]) * to_float(d_out[row * HeadDim + d]);
        sum = warp_sum(sum);
        std::int64_t const head = row % shape.heads, query = row / shape.heads % shape.seq_q,
                           batch = row / shape.heads / shape.seq_q;
        if (lane == 0) delta[(batch * shape.heads + head) * shape.seq_q + query] = sum;
    }
}

template <class T, int HeadDim>
constexpr int attention_backward_q_shared() {
    return (2 * tile_rows * tile_stride<HeadDim> + TilePairs<T, HeadDim, backward_step>::elements) *
           static_cast<int>(sizeof(T));
}

template <class T, int HeadDim>
constexpr int attention_backward_kv_shared() {
    return attention_backward_q_shared<T, HeadDim>() + 4 * backward_step * static_cast<int>(sizeof(float));
}

/// dk and dv of 64 keys: transposed scores (keys by queries) are recomputed for every query of every head that shares
/// the keys. Grid (ceil(seq_kv / 64), kv_heads, batch).
template <class T, int HeadDim>
__global__ void __launch_bounds__(attention_threads)
    attention_backward_kv(AttentionShape shape, T const* q, T const* k, T const* v, T const* d_out, float const* lse,
                          float const* delta, T* dk, T* dv) {
    constexpr int stride = tile_stride<HeadDim>, tiles = backward_step / 8;
    T* const k_tile = reinterpret_cast<T*>(dynamic_shared());
    T* const v_tile = k_tile + tile_rows * stride;
    using Queries = TilePairs<T, HeadDim, backward_step>;  // and their outputs' gradients
    Queries const queries{v_tile + tile_rows * stride};
    float* const sum_tiles = reinterpret_cast<float*>(queries.places + Queries::elements);  // lse and delta, likewise
    int const kv_head = static_cast<int>(blockIdx.y), batch = static_cast<int>(blockIdx.z);
    int const sharing = shape.heads / shape.kv_heads, first_key = static_cast<int>(blockIdx.x) * tile_rows;
    int const warp = static_cast<int>(threadIdx.x) / 32, g = static_cast<int>(threadIdx.x) % 32 / 4,
              t = static_cast<int>(threadIdx.x) % 4;
    std::int64_t const q_stride = static_cast<std::int64_t>(shape.heads) * HeadDim,
                       kv_stride = static_cast<std::int64_t>(shape.kv_heads) * HeadDim;
    std::int64_t const kv_base = batch * shape.seq_kv * kv_stride + kv_head * HeadDim;
    int const ahead = shape.seq_kv - shape.seq_q;
    int const first_query = shape.causal ? max(0, first_key - ahead) / backward_step * backward_step : 0;

    load_tile<T, HeadDim, tile_rows>(k_tile, k + kv_base, kv_stride, first_key, shape.seq_kv);
    load_tile<T, HeadDim, tile_rows>(v_tile, v + kv_base, kv_stride, first_key, shape.seq_kv);
    // Turns: all steps of queries of the first head, then of the next.
    int const steps = (shape.seq_q - first_query + backward_step - 1) / backward_step, turns = steps * sharing;
    auto const query_of = [&](int turn) { return first_query + turn % steps * backward_step; };
    auto const load_queries = [&](int turn) {
        float* const lse_tile = sum_tiles + turn % 2 * 2 * backward_step;
        int const query0 = query_of(turn), head = kv_head * sharing + turn / steps;
        std::int64_t const q_base = batch * shape.seq_q * q_stride + head * HeadDim;
        std::int64_t const row = (static_cast<std::int64_t>(batch) * shape.heads + head) * shape.seq_q + query0;
        queries.load(turn, q + q_base, d_out + q_base, q_stride, query0, shape.seq_q);
        for (int i = static_cast<int>(threadIdx.x); i < backward_step; i += attention_threads) {
            lse_tile[i] = query0 + i < shape.seq_q ? lse[row + i] : 0.0f;
            lse_tile[backward_step + i] = query0 + i < shape.seq_q ? delta[row + i] : 0.0f;
        }
    };
    if (turns > 0) load_queries(0);
    float dk_acc[HeadDim / 8][4] = {}, dv_acc[HeadDim / 8][4] = {};
    for (int turn = 0; turn < turns; ++turn) {
        tiles_arrive();
        if (turn + 1 < turns) load_queries(turn + 1);
        T const* const q_tile = queries.first(turn);
        T const* const d_tile = queries.second(turn);
        float const* const lse_tile = sum_tiles + turn % 2 * 2 * backward_step;
        float const* const delta_tile = lse_tile + backward_step;
        int const query0 = query_of(turn);
        float p[tiles][4] = {}, ds[tiles][4] = {};
        LeftOperand<HeadDim> rows;  // read again each turn: there are no registers to keep both
        rows.load(k_tile + warp * 16 * stride);
        multiply_by_rows<T, HeadDim, tiles>(p, rows, q_tile);
        rows.load(v_tile + warp * 16 * stride);
        multiply_by_rows<T, HeadDim, tiles>(ds, rows, d_tile);
        for (int tile = 0; tile < tiles; ++tile)
            for (int i = 0; i < 4; ++i) {
                int const column = 8 * tile + 2 * t + i % 2, query = query0 + column;
                int const key = first_key + warp * 16 + g + 8 * (i / 2);
                bool const seen = query < shape.seq_q && key < shape.seq_kv && (!shape.causal || key <= query + ahead);
                float const probability =
                    seen ? exp2f((p[tile][i] * shape.scale - lse_tile[column]) * log2_of_e) : 0.0f;
                p[tile][i] = probability;
                ds[tile][i] = probability * (ds[tile][i] - delta_tile[column]) * shape.scale;
            }
        multiply_held<T, HeadDim, tiles>(dv_acc, p, d_tile);
        multiply_held<T, HeadDim, tiles>(dk_acc, ds, q_tile);
    }
    wait_for_copies();
    int const first_row = first_key + warp * 16;
    store_rows<T, HeadDim>(dk + kv_base, kv_stride, first_row, shape.seq_kv, dk_acc, 1.0f, 1.0f);
    store_rows<T, HeadDim>(dv + kv_base, kv_stride, first_row, shape.seq_kv, dv_acc, 1.0f, 1.0f);
}

/// dq of 64 queries: scores are recomputed for every key they see. Grid (ceil(seq_q / 64), heads, batch).
template <class T, int HeadDim>
__global__ void __launch_bounds__(attention_threads)
    attention_backward_q(AttentionShape shape, T const* q, T const* k, T const* v, T const* d_out, float const* lse,
                         float const* delta, T* dq) {
    constexpr int stride = tile_stride<HeadDim>, tiles = backward_step / 8;
    T* const q_tile = reinterpret_cast<T*>(dynamic_shared());
    T* const d_tile = q_tile + tile_rows * stride;
    TilePairs<T, HeadDim, backward_step> const kv{d_tile + tile_rows * stride};  // keys and values
    int const head = static_cast<int>(blockIdx.y), batch = static_cast<int>(blockIdx.z);
    int const kv_head = head / (shape.heads / shape.kv_heads), first_query = static_cast<int>(blockIdx.x) * tile_rows;
    int const warp = static_cast<int>(threadIdx.x) / 32, g = static_cast<int>(threadIdx.x) % 32 / 4,
              t = static_cast<int>(threadIdx.x) % 4;
    std::int64_t const q_stride = static_cast<std::int64_t>(shape.heads) * HeadDim,
                       kv_stride = static_cast<std::int64_t>(shape.kv_heads) * HeadDim;
    std::int64_t const q_base = batch * shape.seq_q * q_stride + head * HeadDim,
                       kv_base = batch * shape.seq_kv * kv_stride + kv_head * HeadDim;
    int const ahead = shape.seq_kv - shape.seq_q;
    int const last_query = min(first_query + tile_rows, shape.seq_q) - 1;
    int const keys = shape.causal ? min(shape.seq_kv, last_query + ahead + 1) : shape.seq_kv;

    load_tile<T, HeadDim, tile_rows>(q_tile, q + q_base, q_stride, first_query, shape.seq_q);
    load_tile<T, HeadDim, tile_rows>(d_tile, d_out + q_base, q_stride, first_query, shape.seq_q);
    auto const load_keys = [&](int turn) {
        kv.load(turn, k + kv_base, v + kv_base, kv_stride, turn * backward_step, shape.seq_kv);
    };
    load_keys(0);
    float row_lse[2], row_delta[2];
    for (int half = 0; half < 2; ++half) {
        int const row = first_query + warp * 16 + g + 8 * half;
        std::int64_t const place = (static_cast<std::int64_t>(batch) * shape.heads + head) * shape.seq_q + row;
        row_lse[half] = row < shape.seq_q ? lse[place] : 0.0f;
        row_delta[half] = row < shape.seq_q ? delta[place] : 0.0f;
    }
    float dq_acc[HeadDim / 8][4] = {};
    for (int turn = 0; turn * backward_step < keys; ++turn) {
        int const first_key = turn * backward_step;
        tiles_arrive();
        if (first_key + backward_step < keys) load_keys(turn + 1);
        T const* const k_tile = kv.first(turn);
        T const* const v_tile = kv.second(turn);
        float p[tiles][4] = {}, ds[tiles][4] = {};
        LeftOperand<HeadDim> rows;
        rows.load(q_tile + warp * 16 * stride);
        multiply_by_rows<T, HeadDim, tiles>(p, rows, k_tile);
        rows.load(d_tile + warp * 16 * stride);
        multiply_by_rows<T, HeadDim, tiles>(ds, rows, v_tile);
        for (int tile = 0; tile < tiles; ++tile)
            for (int i = 0; i < 4; ++i) {
                int const key = first_key + 8 * tile + 2 * t + i % 2, query = first_query + warp * 16 + g + 8 * (i / 2);
                bool const seen = query < shape.seq_q && key < shape.seq_kv && (!shape.causal || key <= query + ahead);
                float const probability = seen ? exp2f((p[tile][i] * shape.scale - row_lse[i / 2]) * log2_of_e) : 0.0f;
                ds[tile][i] = probability * (ds[tile][i] - row_delta[i / 2]) * shape.scale;
            }
        multiply_held<T, HeadDim, tiles>(dq_acc, ds, k_tile);
    }
    store_rows<T, HeadDim>(dq + q_base, q_stride, first_query + warp * 16, shape.seq_q, dq_acc, 1.0f, 1.0f);
}

}  // namespace sextant::bench::device
