#pragma once

#include "kernels/cuda/kernels/common.cuh"

namespace sextant::bench::device {

/// One step's factors, computed once on the host.
struct AdamWFactors {
    float learning_rate, beta1, beta2, epsilon, weight_decay;
    float correct1, correct2;  ///< 1 / (1 - beta^step)
};

/// p in fp32 with its copy in `Weight`, gradient in `Weight`, moments in `State`; four elements a thread.
template <class State, class Weight>
__global__ void adamw(AdamWFactors f, std::int64_t count, Weight const* gradient, float* p, State* m, State* v,
                      Weight* copy) {
    constexpr int four = 4;
    for (std::int64_t at = global_thread() * four; at < count; at += global_threads() * four) {
        auto const g_pack = load_pack<Weight, four>(gradient + at);
        auto p_pack = load_pack<float, four>(p + at);
        auto m_pack = load_pack<State, four>(m + at), v_pack = load_pack<State, four>(v + at);
        Pack<Weight, four> copy_pack;
        for (int i = 0; i < four; ++i) {
            float const g = to_float(g_pack.values[i]);
            float const mi = f.beta1 * to_float(m_pack.values[i]) + (1.0f - f.beta1) * g;
            float const vi = f.beta2 * to_float(v_pack.values[i]) + (1.0f - f.beta2) * g * g;
            float const old = p_pack.values[i];
            float const direction = mi * f.correct1 / (sqrtf(vi * f.correct2) + f.epsilon) + f.weight_decay * old;
            p_pack.values[i] = old - f.learning_rate * direction;
            m_pack.values[i] = from_float<State>(mi);
            v_pack.values[i] = from_float<State>(vi);
            copy_pack.values[i] = from_float<Weight>(p_pack.values[i]);
        }
        store_pack(p + at, p_pack);
        store_pack(m + at, m_pack);
        store_pack(v + at, v_pack);
        store_pack(copy + at, copy_pack);
    }
}

}  // namespace sextant::bench::device
