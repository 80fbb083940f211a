#pragma once

// Attention in tiles that stay on the chip, on 16-bit tensor cores with fp32 sums, after FlashAttention-2 (Dao,
// arXiv:2307.08691). Queries, outputs and their gradients are [batch, seq_q, heads, HeadDim]; keys and values [batch,
// seq_kv, kv_heads, HeadDim]; heads is a multiple of kv_heads. Causal: query i sees keys j <= i + seq_kv - seq_q, and
// seq_q <= seq_kv, so that every query sees key 0. HeadDim is 64 or 128; the sequences may have any length.

#include "kernels/cuda/kernels/attention_tiles.cuh"

namespace sextant::bench::device {

struct AttentionShape {
    int batch, seq_q, seq_kv, heads, kv_heads;
    int causal;   ///< 0 or 1
    float scale;  ///< of q k^T
};

constexpr int backward_step = 32;  ///< rows of the other sequence per turn of the backward kernels

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
