#pragma once

#include "core/spec/cluster_spec.hpp"
#include "core/spec/framework_profile.hpp"
#include "core/spec/model_spec.hpp"
#include "core/spec/parallel_plan.hpp"

#include <cstdint>
#include <random>
#include <string>

/// Small models and machines made in code, so that a unit test does not move when a profile does.
namespace sextant::fixtures {

template <class T>
Sourced<T> known(T value) {
    return {value, Basis::assumed, "made for tests"};
}

/// A GPT-2 style model: full attention heads, a feed-forward of 4 h, layer norms and biases, learned positions, tied
/// embeddings.
inline ModelSpec gpt(std::int64_t hidden, std::int64_t heads, std::int64_t layers, std::int64_t vocab = 51200,
                     std::int64_t positions = 1 << 20) {
    ModelSpec model;
    model.name = "test-gpt";
    model.architecture = "gpt2";
    model.hidden = hidden;
    model.vocab = vocab;
    model.max_positions = positions;
    model.attention = {
        .heads = heads, .kv_heads = heads, .head_dim = hidden / heads, .value_head_dim = hidden / heads, .latent = {}};
    model.attention.qkv_bias = model.attention.output_bias = true;
    model.mlp = {.intermediate = 4 * hidden, .gated = false, .bias = true};
    model.layers.assign(static_cast<std::size_t>(layers), LayerKind{});
    model.norm = NormKind::layer;
    model.norm_bias = true;
    model.position = PositionKind::learned;
    model.position_rows = positions;
    model.tied_embeddings = true;
    return model;
}

/// A Llama style model: grouped keys and values, gated feed-forward, no biases, rotary positions, separate output
/// matrix.
inline ModelSpec llama(std::int64_t hidden, std::int64_t heads, std::int64_t kv_heads, std::int64_t layers,
                       std::int64_t intermediate, std::int64_t vocab = 32768) {
    ModelSpec model;
    model.name = "test-llama";
    model.architecture = "llama";
    model.hidden = hidden;
    model.vocab = vocab;
    model.max_positions = 8192;
    model.attention = {.heads = heads,
                       .kv_heads = kv_heads,
                       .head_dim = hidden / heads,
                       .value_head_dim = hidden / heads,
                       .latent = {}};
    model.mlp = {.intermediate = intermediate, .gated = true, .bias = false};
    model.layers.assign(static_cast<std::size_t>(layers), LayerKind{});
    return model;
}

/// The same with `experts` experts in every layer but the first `dense_layers`, `top_k` of them used by a token.
inline ModelSpec mixture(std::int64_t hidden, std::int64_t layers, std::int64_t experts, std::int64_t top_k,
                         std::int64_t width, std::int64_t dense_layers = 0) {
    ModelSpec model = llama(hidden, 16, 8, layers, 4 * hidden);
    model.name = "test-mixture";
    model.moe = MoeSpec{.experts = experts, .top_k = top_k, .intermediate = width};
    for (std::size_t i = static_cast<std::size_t>(dense_layers); i < model.layers.size(); ++i)
        model.layers[i].moe = true;
    return model;
}

/// Recurrent layers in place of attention in all but every fourth layer of a Llama style model (Qwen3-Next), or layers
/// of one half each: recurrent, feed-forward, attention, feed-forward (Nemotron-H).
inline ModelSpec hybrid(StateRule rule, std::int64_t hidden, std::int64_t layers) {
    ModelSpec model = llama(hidden, 16, 8, layers, 3 * hidden);
    model.name = "test-hybrid";
    model.recurrent = RecurrentSpec{.rule = rule,
                                    .heads = 32,
                                    .key_heads = 8,
                                    .key_head_dim = 64,
                                    .value_head_dim = hidden / 16,
                                    .convolution = 4,
                                    .convolution_bias = rule == StateRule::decay,
                                    .chunk = 64};
    model.attention.gated = rule == StateRule::delta;
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
        LayerKind& kind = model.layers[i];
        if (rule == StateRule::delta) {
            if (i % 4 != 3) kind.mixer = Mixer::recurrent;
        } else if (i % 2 == 1) {
            kind.mixer = Mixer::none;
        } else {
            kind.feed_forward = false;
            if (i % 4 == 0) kind.mixer = Mixer::recurrent;
        }
    }
    return model;
}

/// An accelerator with the rates of an H100 SXM5 datasheet and round efficiencies.
inline AcceleratorProfile accelerator() {
    using namespace units;
    AcceleratorProfile a;
    a.name = "test-accelerator";
    a.title = "Test accelerator";
    a.vendor = "test";
    a.generation = "hopper";
    a.year = 2023;
    a.peak = {{Precision::bf16, known(989.4 * TFLOP / s)},
              {Precision::fp16, known(989.4 * TFLOP / s)},
              {Precision::fp8, known(1978.9 * TFLOP / s)},
              {Precision::tf32, known(494.7 * TFLOP / s)}};
    a.vector_peak = known(66.9 * TFLOP / s);
    a.memory_capacity = known(80.0 * GB);
    a.memory_bandwidth = known(3350.0 * GB / s);
    a.l2 = known(50.0 * MB);
    a.multiprocessors = known(std::int64_t{132});
    a.host_bandwidth = known(55.0 * GB / s);
    a.power_watts = known(700.0);
    a.gemm_efficiency = {{Precision::bf16, known(0.8)}, {Precision::fp8, known(0.8)}, {Precision::tf32, known(0.8)}};
    a.attention_forward_efficiency = known(0.6);
    a.attention_backward_efficiency = known(0.5);
    a.memory_efficiency = known(0.9);
    a.launch_latency = known(4.0 * us);
    return a;
}

/// Nodes of eight on a switch, one 400 Gbit/s NIC per accelerator.
inline ClusterSpec cluster() {
    using namespace units;
    ClusterSpec c;
    c.name = "test-cluster";
    c.title = "Test cluster";
    c.accelerator = accelerator();
    c.domain_size = 8;
    c.scale_up.kind = ScaleUpKind::switched;
    c.scale_up.bandwidth = known(450.0 * GB / s);
    c.scale_up.ring_efficiency = known(0.8);
    c.scale_up.all_to_all_efficiency = known(0.7);
    c.scale_up.base_latency = known(10.0 * us);
    c.scale_up.hop_latency = known(1.0 * us);
    ScaleOutNetwork out;
    out.kind = "infiniband";
    out.bandwidth = known(50.0 * GB / s);
    out.ring_efficiency = known(0.9);
    out.all_to_all_efficiency = known(0.8);
    out.base_latency = known(20.0 * us);
    out.hop_latency = known(5.0 * us);
    out.oversubscription = known(1.0);
    c.scale_out = out;
    c.host_memory = known(256.0 * GB);
    return c;
}

/// A framework that adds nothing: no floors, no gaps, nothing overlapped, every scale one.
inline FrameworkTiming neutral_timing() {
    FrameworkTiming t;
    t.generation = "*";
    t.precision = "*";
    for (auto const scale :
         {&FrameworkTiming::gemm_scale, &FrameworkTiming::grouped_gemm_scale, &FrameworkTiming::attention_scale,
          &FrameworkTiming::memory_scale, &FrameworkTiming::activation_passes})
        t.*scale = known(1.0);
    t.gradient_bytes_sent = known(4.0);
    t.weight_bytes_sent = known(2.0);
    t.optimizer_bytes_per_parameter = known(30.0);
    return t;
}

/// Mixed precision Adam as the ZeRO paper counts it, 2 + 2 + 12 bytes per parameter (arXiv:1910.02054 sec. 3.1); logits
/// in bf16 and fp32; nothing else.
inline FrameworkMemory plain_memory() {
    FrameworkMemory m;
    m.weight_bytes = known(2.0);
    m.gradient_bytes = m.fp16_gradient_bytes = known(2.0);
    m.master_bytes = m.fp16_master_bytes = known(12.0);
    m.logits_bytes = m.logits_bytes_reserved = m.fused_logits_bytes = known(6.0);
    m.narrow_input_bytes = known(2.0);
    m.gathered_share = known(1.0);
    m.reserved_low = m.reserved_typical = m.reserved_high = known(1.0);
    m.usable_fraction = known(0.95);
    return m;
}

inline FrameworkProfile neutral_framework() {
    FrameworkProfile framework;
    framework.name = framework.title = "test-framework";
    framework.timing = {neutral_timing()};
    framework.memory = plain_memory();
    return framework;
}

/// One of `choices`, drawn with a generator of fixed seed: the same cases in every run and on every machine.
template <class T>
T pick(std::mt19937_64& random, std::initializer_list<T> choices) {
    return *(choices.begin() + static_cast<std::ptrdiff_t>(random() % choices.size()));
}

/// A uniform number in [low, high).
inline double uniform(std::mt19937_64& random, double low, double high) {
    return low + (high - low) * (static_cast<double>(random() >> 11) * 0x1p-53);
}

}  // namespace sextant::fixtures
