#pragma once

#include "kernels/cuda/kernels/common.cuh"

namespace sextant::bench::device {

__device__ inline float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

/// y[r, c] = silu(x[r, c]) x[r, columns + c] for x [rows, 2 columns].
template <class T>
__global__ void swiglu_forward(std::int64_t rows, std::int64_t columns, T const* x, T* y) {
    std::int64_t const packs = rows * columns / width;
    for (std::int64_t p = global_thread(); p < packs; p += global_threads()) {
        std::int64_t const row = p * width / columns, column = p * width % columns;
        auto const gate = load_pack(x + 2 * row * columns + column);
        auto const up = load_pack(x + (2 * row + 1) * columns + column);
        Pack<T> result;
        for (int i = 0; i < width; ++i) {
            float const g = to_float(gate.values[i]);
            result.values[i] = from_float<T>(g * sigmoid(g) * to_float(up.values[i]));
        }
        store_pack(y + p * width, result);
    }
}

/// dx [rows, 2 columns] from x and dy [rows, columns].
template <class T>
__global__ void swiglu_backward(std::int64_t rows, std::int64_t columns, T const* x, T const* dy, T* dx) {
    std::int64_t const packs = rows * columns / width;
    for (std::int64_t p = global_thread(); p < packs; p += global_threads()) {
        std::int64_t const row = p * width / columns, column = p * width % columns;
        std::int64_t const gate_at = 2 * row * columns + column, up_at = gate_at + columns;
        auto const gate = load_pack(x + gate_at), up = load_pack(x + up_at), d = load_pack(dy + p * width);
        Pack<T> d_gate, d_up;
        for (int i = 0; i < width; ++i) {
            float const g = to_float(gate.values[i]), s = sigmoid(g), dyi = to_float(d.values[i]);
            d_gate.values[i] = from_float<T>(dyi * to_float(up.values[i]) * s * (1.0f + g * (1.0f - s)));
            d_up.values[i] = from_float<T>(dyi * g * s);
        }
        store_pack(dx + gate_at, d_gate);
        store_pack(dx + up_at, d_up);
    }
}

constexpr float gelu_factor_f = 0.7978845608028654f;  // sqrt(2 / pi)
constexpr float gelu_cubic_f = 0.044715f;

template <class T>
__global__ void gelu_forward(std::int64_t count, T const* x, T* y) {
    for (std::int64_t p = global_thread(); p < count / width; p += global_threads()) {
        auto const in = load_pack(x + p * width);
        Pack<T> result;
        for (int i = 0; i < width; ++i) {
            float const v = to_float(in.values[i]);
            float const t = tanhf(gelu_factor_f * (v + gelu_cubic_f * v * v * v));
            result.values[i] = from_float<T>(0.5f * v * (1.0f + t));
        }
        store_pack(y + p * width, result);
    }
}

template <class T>
__global__ void gelu_backward(std::int64_t count, T const* x, T const* dy, T* dx) {
    for (std::int64_t p = global_thread(); p < count / width; p += global_threads()) {
        auto const in = load_pack(x + p * width), d = load_pack(dy + p * width);
        Pack<T> result;
        for (int i = 0; i < width; ++i) {
            float const v = to_float(in.values[i]);
            float const t = tanhf(gelu_factor_f * (v + gelu_cubic_f * v * v * v));
            float const slope =
                0.5f * (1.0f + t) + 0.5f * v * (1.0f - t * t) * gelu_factor_f * (1.0f + 3.0f * gelu_cubic_f * v * v);
            result.values[i] = from_float<T>(to_float(d.values[i]) * slope);
        }
        store_pack(dx + p * width, result);
    }
}

/// y = a + b.
template <class T>
__global__ void residual_add(std::int64_t count, T const* a, T const* b, T* y) {
    for (std::int64_t p = global_thread(); p < count / width; p += global_threads()) {
        auto const left = load_pack(a + p * width), right = load_pack(b + p * width);
        Pack<T> result;
        for (int i = 0; i < width; ++i)
            result.values[i] = from_float<T>(to_float(left.values[i]) + to_float(right.values[i]));
        store_pack(y + p * width, result);
    }
}

enum class Rotation { forward, backward };

/// y = x with each pair (d, d + head_dim / 2) of each head rotated by the angle of its position; x [tokens, heads,
/// head_dim], cosines and sines [tokens, head_dim / 2]. Backward turns the other way. head_dim is a multiple of 16.
template <class T>
__global__ void rotary(std::int64_t tokens, std::int64_t heads, std::int64_t head_dim, Rotation rotation, T const* x,
                       float const* cosines, float const* sines, T* y) {
    std::int64_t const half = head_dim / 2, packs_per_head = half / width;
    for (std::int64_t p = global_thread(); p < tokens * heads * packs_per_head; p += global_threads()) {
        std::int64_t const d = p % packs_per_head * width, head = p / packs_per_head, token = head / heads;
        auto const low = load_pack(x + head * head_dim + d), high = load_pack(x + head * head_dim + half + d);
        auto const cosine = load_pack<float, width / 2>(cosines + token * half + d),
                   cosine2 = load_pack<float, width / 2>(cosines + token * half + d + width / 2),
                   sine = load_pack<float, width / 2>(sines + token * half + d),
                   sine2 = load_pack<float, width / 2>(sines + token * half + d + width / 2);
        Pack<T> out_low, out_high;
        for (int i = 0; i < width; ++i) {
            float const c = i < width / 2 ? cosine.values[i % 4] : cosine2.values[i % 4];
            float const forward_sine = i < width / 2 ? sine.values[i % 4] : sine2.values[i % 4];
            float const s = rotation == Rotation::forward ? forward_sine : -forward_sine;
            float const a = to_float(low.values[i]), b = to_float(high.values[i]);
            out_low.values[i] = from_float<T>(a * c - b * s);
            out_high.values[i] = from_float<T>(b * c + a * s);
        }
        store_pack(y + head * head_dim + d, out_low);
        store_pack(y + head * head_dim + half + d, out_high);
    }
}

}  // namespace sextant::bench::device
