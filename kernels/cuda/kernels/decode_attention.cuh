#pragma once

// Attention of one new token against a cache: memory bound, so all query heads that share a key head are handled
// together (padded to the 16 rows of a tensor-core tile), and the cache is split over blocks, after FlashDecoding
// (Dao et al., 2023, https://crfm.stanford.edu/2023/10/12/flashdecoding.html). Each split writes an unnormalised
// result.

#include "kernels/cuda/kernels/attention_tiles.cuh"

namespace sextant::bench::device {

struct DecodeShape {
    int batch, seq_kv, heads, kv_heads;
    int splits;
    float scale;
};

constexpr int decode_rows = 16;

/// First key of split `split`, a multiple of 64; `split` = splits gives the end.
__device__ inline int split_begin(DecodeShape const& shape, int split) {
    int const tiles = (shape.seq_kv + tile_rows - 1) / tile_rows;
    return min(shape.seq_kv, static_cast<int>(static_cast<std::int64_t>(tiles) * split / shape.splits) * tile_rows);
}

template <class T, int HeadDim>
constexpr int decode_shared() {
    int const tiles =
        (decode_rows * tile_stride<HeadDim> + TilePairs<T, HeadDim, tile_rows>::elements) * static_cast<int>(sizeof(T));
    int const merge = 4 * decode_rows * (HeadDim + 2) * static_cast<int>(sizeof(float));
    return tiles > merge ? tiles : merge;
}

/// part_out [batch, heads, splits, HeadDim], part_largest and part_sum [batch, heads, splits].
/// Grid (splits, kv_heads * ceil(heads / kv_heads / 16), batch).
template <class T, int HeadDim>
__global__ void __launch_bounds__(attention_threads)
    decode_attention(DecodeShape shape, T const* q, T const* k, T const* v, float* part_out, float* part_largest,
                     float* part_sum) {
    constexpr int stride = tile_stride<HeadDim>;
    T* const q_tile = reinterpret_cast<T*>(dynamic_shared());
    TilePairs<T, HeadDim, tile_rows> const kv{q_tile + decode_rows * stride};  // keys and values
    int const sharing = shape.heads / shape.kv_heads, chunks = (sharing + decode_rows - 1) / decode_rows;
    int const kv_head = static_cast<int>(blockIdx.y) / chunks, chunk = static_cast<int>(blockIdx.y) % chunks;
    int const split = static_cast<int>(blockIdx.x), batch = static_cast<int>(blockIdx.z);
    int const first_head = kv_head * sharing + chunk * decode_rows;
    int const heads_here = min(decode_rows, sharing - chunk * decode_rows);
    int const warp = static_cast<int>(threadIdx.x) / 32, g = static_cast<int>(threadIdx.x) % 32 / 4,
              t = static_cast<int>(threadIdx.x) % 4;
    std::int64_t const kv_stride = static_cast<std::int64_t>(shape.kv_heads) * HeadDim;
    std::int64_t const kv_base = batch * shape.seq_kv * kv_stride + kv_head * HeadDim;
    T const* const first_q = q + (static_cast<std::int64_t>(batch) * shape.heads + first_head) * HeadDim;
    int const begin = split_begin(shape, split), end = split_begin(shape, split + 1);

    load_tile<T, HeadDim, decode_rows>(q_tile, first_q, HeadDim, 0, heads_here);
    auto const load_keys = [&](int turn) {
        kv.load(turn, k + kv_base, v + kv_base, kv_stride, begin + turn * tile_rows, end);
    };
    load_keys(0);
    LeftOperand<HeadDim> queries;
    RowState<HeadDim> state;
    for (int turn = 0; begin + turn * tile_rows < end; ++turn) {
        int const first_key = begin + turn * tile_rows;
        tiles_arrive();
        if (turn == 0) queries.load(q_tile);
        if (first_key + tile_rows < end) load_keys(turn + 1);
        T const* const k_tile = kv.first(turn);
        T const* const v_tile = kv.second(turn);
        float scores[2][4] = {};  // each warp has 16 keys of the tile
        multiply_by_rows<T, HeadDim, 2>(scores, queries, k_tile + warp * 16 * stride);
        for (int tile = 0; tile < 2; ++tile)
            for (int i = 0; i < 4; ++i)
                if (first_key + warp * 16 + 8 * tile + 2 * t + i % 2 >= end) scores[tile][i] = -INFINITY;
        advance(state, scores, shape.scale * log2_of_e);
        multiply_held<T, HeadDim, 2>(state.acc, scores, v_tile + warp * 16 * stride);
    }
    tiles_arrive();  // the tiles give their place to the warps' results
    float* const merged = reinterpret_cast<float*>(dynamic_shared());  // [4 warps, 16 rows, HeadDim + 2]
    for (int half = 0; half < 2; ++half) {
        float* const row = merged + (warp * decode_rows + g + 8 * half) * (HeadDim + 2);
        float const sum = quad_sum(state.sum[half]);
        for (int column = 0; column < HeadDim / 8; ++column) {
            row[8 * column + 2 * t] = state.acc[column][2 * half];
            row[8 * column + 2 * t + 1] = state.acc[column][2 * half + 1];
        }
        if (t == 0) {
            row[HeadDim] = state.largest[half];
            row[HeadDim + 1] = sum;
        }
    }
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < heads_here * HeadDim; i += attention_threads) {
        int const row = i / HeadDim, d = i % HeadDim;
        float largest = -INFINITY;
        for (int w = 0; w < 4; ++w)
            largest = fmaxf(largest, merged[(w * decode_rows + row) * (HeadDim + 2) + HeadDim]);
        float value = 0, sum = 0;
        for (int w = 0; w < 4; ++w) {
            float const* const from = merged + (w * decode_rows + row) * (HeadDim + 2);
            float const factor =
                from[HeadDim] == -INFINITY ? 0.0f : exp2f((from[HeadDim] - largest) * shape.scale * log2_of_e);
            value += factor * from[d];
            sum += factor * from[HeadDim + 1];
        }
        std::int64_t const place =
            (static_cast<std::int64_t>(batch) * shape.heads + first_head + row) * shape.splits + split;
        part_out[place * HeadDim + d] = value;
        if (d == 0) {
            part_largest[place] = largest;
            part_sum[place] = sum;
        }
    }
}

/// out [batch, heads, HeadDim] from the splits; HeadDim threads, grid batch * heads.
template <class T, int HeadDim>
__global__ void decode_combine(DecodeShape shape, float const* part_out, float const* part_largest,
                               float const* part_sum, T* out) {
    std::int64_t const first = static_cast<std::int64_t>(blockIdx.x) * shape.splits;
    float largest = -INFINITY;
    for (int split = 0; split < shape.splits; ++split)
        largest = fmaxf(largest, part_largest[first + split]);
    float value = 0, sum = 0;
    for (int split = 0; split < shape.splits; ++split) {
        float const factor = part_largest[first + split] == -INFINITY
                                 ? 0.0f
                                 : exp2f((part_largest[first + split] - largest) * shape.scale * log2_of_e);
        value += factor * part_out[(first + split) * HeadDim + threadIdx.x];
        sum += factor * part_sum[first + split];
    }
    out[static_cast<std::int64_t>(blockIdx.x) * HeadDim + threadIdx.x] = from_float<T>(value / sum);
}

}  // namespace sextant::bench::device
