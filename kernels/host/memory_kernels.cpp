#include "kernels/host/memory_kernels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sextant::bench::host_kernels {

void rmsnorm(std::int64_t rows, std::int64_t columns, float const* x, float const* weight, float* y) {
    for (std::int64_t r = 0; r < rows; ++r) {
        float const* const in = x + r * columns;
        float partial[8] = {};
        std::int64_t c = 0;
        for (; c + 8 <= columns; c += 8)
            for (std::int64_t lane = 0; lane < 8; ++lane)
                partial[lane] += in[c + lane] * in[c + lane];
        float squares = 0;
        for (float const value : partial)
            squares += value;
        for (; c < columns; ++c)
            squares += in[c] * in[c];
        float const mean = squares / static_cast<float>(columns);
        float const factor = 1.0f / std::sqrt(mean + static_cast<float>(reference::norm_epsilon));
        for (std::int64_t i = 0; i < columns; ++i)
            y[r * columns + i] = in[i] * factor * weight[i];
    }
}

void swiglu(std::int64_t rows, std::int64_t columns, float const* x, float* y) {
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < columns; ++c) {
            float const gate = x[2 * r * columns + c];
            y[r * columns + c] = gate / (1.0f + std::exp(-gate)) * x[(2 * r + 1) * columns + c];
        }
}

void residual_add(std::int64_t count, float const* a, float const* b, float* y) {
    for (std::int64_t i = 0; i < count; ++i)
        y[i] = a[i] + b[i];
}

void softmax(std::int64_t rows, std::int64_t columns, float const* x, float* y) {
    for (std::int64_t r = 0; r < rows; ++r) {
        float const* const in = x + r * columns;
        float* const out = y + r * columns;
        float const largest = *std::max_element(in, in + columns);
        float sum = 0;
        for (std::int64_t c = 0; c < columns; ++c)
            sum += out[c] = std::exp(in[c] - largest);
        float const factor = 1.0f / sum;
        for (std::int64_t c = 0; c < columns; ++c)
            out[c] *= factor;
    }
}

void adamw(reference::AdamW const& settings, std::int64_t count, float const* g, float* p, float* m, float* v) {
    auto const beta1 = static_cast<float>(settings.beta1), beta2 = static_cast<float>(settings.beta2);
    auto const rate = static_cast<float>(settings.learning_rate), decay = static_cast<float>(settings.weight_decay);
    auto const epsilon = static_cast<float>(settings.epsilon);
    double const step = static_cast<double>(settings.step);
    auto const correct1 = static_cast<float>(1 / (1 - std::pow(settings.beta1, step)));
    auto const correct2 = static_cast<float>(1 / (1 - std::pow(settings.beta2, step)));
    for (std::int64_t i = 0; i < count; ++i) {
        m[i] = beta1 * m[i] + (1 - beta1) * g[i];
        v[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
        p[i] -= rate * (m[i] * correct1 / (std::sqrt(v[i] * correct2) + epsilon) + decay * p[i]);
    }
}

void cast_to_bf16(std::int64_t count, float const* x, std::uint16_t* y) {
    for (std::int64_t i = 0; i < count; ++i) {
        auto const bits = std::bit_cast<std::uint32_t>(x[i]);
        bool const nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
        std::uint32_t const nearest = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
        y[i] = static_cast<std::uint16_t>(nan ? (bits >> 16) | 0x40u : nearest);
    }
}

}  // namespace sextant::bench::host_kernels
