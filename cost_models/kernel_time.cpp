#include "cost_models/kernel_time.hpp"

#include "core/ops/work.hpp"
#include "core/spec/working_format.hpp"
#include "cost_models/attention_peak.hpp"
#include "cost_models/kernel_estimate.hpp"
#include "cost_models/training_attention.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace sextant {
namespace {

/// Of streaming kernels' rate, what products reach that write and read the scores of attention in memory. Source:
/// PyTorch's attention without mask and dropout on A100 in flash2_a100_fwd_bwd_benchmark.png of FlashAttention: 36 to
/// 46 TFLOP/s at head size 64, 53 to 86 at 128, which is bound by bytes in both.
constexpr double score_transfer_fraction = 0.5;
/// Of dense peak, of products as small as a chunk in kernels that keep states in fp32. assumed: half of what attention
/// reaches.
constexpr double recurrence_fraction = 0.25;

FlopsPerSecond tensor_rate(AcceleratorProfile const& accelerator) {
    return accelerator.peak_of(usual_precision(accelerator)).value;
}

BytesPerSecond streaming_rate(AcceleratorProfile const& accelerator, FrameworkTiming const& framework) {
    return accelerator.memory_bandwidth.value * accelerator.memory_efficiency.value * framework.memory_scale.value;
}

}  // namespace

Precision usual_precision(AcceleratorProfile const& accelerator) {
    for (Precision const precision : {Precision::bf16, Precision::fp16, Precision::tf32, Precision::fp32})
        if (accelerator.peak.contains(precision)) return precision;
    return accelerator.peak.begin()->first;
}

namespace {

/// A product, or the products of a rank's experts.
Seconds product_time(GemmShape const& shape, Precision precision, AcceleratorProfile const& accelerator, double scale) {
    return estimate_product(shape, gemm_format(precision), accelerator, {.cache = CacheState::cold, .rate = scale})
        .time;
}

/// What products of experts reach of the device's rate: one expert's on a rank, too.
double expert_scale(FrameworkTiming const& framework) {
    return framework.gemm_scale.value * framework.grouped_gemm_scale.value;
}

/// Of the rate in 16 bits, that of fused attention over values of four bytes: PyTorch's memory-efficient kernel makes
/// each product of three in TF32 where the device has that (`tf32_products_of_fp32`), allowed or
/// not, and on the vector units elsewhere. assumed: it reaches of that what kernels of 16 bits reach of theirs.
double wide_attention_share(Precision precision, AcceleratorProfile const& accelerator) {
    if (working_width(precision) == 1) return 1;
    bool const has_tf32 = accelerator.peak.contains(Precision::tf32);
    FlopsPerSecond const rate =
        has_tf32 ? accelerator.peak_of(Precision::tf32).value / tf32_products_of_fp32 : accelerator.vector_peak.value;
    return std::min(1.0, rate / tensor_rate(accelerator));
}

/// Products of attention whose scores stand in memory, as the matrix products that they are, one for each head.
Seconds score_products(Attention const& a, Pass pass, AcceleratorProfile const& accelerator,
                       FrameworkTiming const& framework) {
    std::int64_t const q = a.queries, d = a.head_dim, v = a.value_head_dim;
    std::int64_t const keys = std::max<std::int64_t>(1, a.keys / a.pieces);
    auto const product = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
        return product_time({.groups = a.batch * a.heads, .m = m, .n = n, .k = k},
                            working_width(a.precision) > 1 ? a.precision : usual_precision(accelerator), accelerator,
                            framework.gemm_scale.value);
    };
    auto const calls = static_cast<double>(a.pieces);
    if (pass == Pass::forward) return calls * (product(q, keys, d) + product(q, v, keys));
    return calls * (product(q, keys, v) + product(keys, v, q) + product(q, d, keys) + product(keys, d, q));
}

}  // namespace

Seconds gemm_time(std::int64_t m, std::int64_t n, std::int64_t k, Precision precision,
                  AcceleratorProfile const& accelerator, FrameworkTiming const& framework) {
    return product_time({.groups = 1, .m = m, .n = n, .k = k}, precision, accelerator, framework.gemm_scale.value);
}

Seconds attention_time(Attention const& a, Pass pass, AcceleratorProfile const& accelerator,
                       FrameworkTiming const& framework) {
    if (a.kernel != AttentionKernel::flash) {
        Op const op{.name = "attention", .what = a};
        Work const work = work_of(op, pass);
        Seconds const launch = static_cast<double>(kernel_count(op, pass)) * accelerator.launch_latency.value;
        BytesPerSecond const rate = streaming_rate(accelerator, framework);
        Bytes const between = softmax_bytes(a, pass);
        return launch + between / rate +
               std::max(score_products(a, pass, accelerator, framework),
                        (work.moved - between) / (rate * score_transfer_fraction));
    }
    double const scale = framework.attention_scale.value * wide_attention_share(a.precision, accelerator);
    if (auto const measured = estimate_training_attention(a, pass, accelerator, scale)) return measured->time;
    // Rotary embedding and the like, which a serving engine does in the same launch, are ops of their own here.
    PrefillUse use{
        .library = AttentionLibrary::training, .work = 1, .rate = scale, .launch = accelerator.launch_latency.value};
    if (pass == Pass::backward) {
        use.work = flash_backward_work;
        use.rate *= accelerator.attention_backward_efficiency.value / accelerator.attention_forward_efficiency.value;
    }
    return estimate_prefill(a, "bf16/bf16", accelerator, use).time;
}

std::int64_t recurrence_kernels(Recurrence const& r, Pass pass) {
    // Sums of decays, products within chunks, states of chunks, their passing and the output; the delta rule also
    // solves for what is written. Source: the kernels of mamba_ssm and flash-linear-attention.
    std::int64_t const forward = r.rule == StateRule::delta ? 6 : 5;
    return pass == Pass::forward ? forward : 2 * forward;
}

Seconds recurrence_time(Recurrence const& r, AcceleratorProfile const& accelerator) {
    Work const work = work_of({.name = "recurrence", .what = r}, Pass::forward);
    return std::max(work.executed / (tensor_rate(accelerator) * recurrence_fraction),
                    work.moved / (accelerator.memory_bandwidth.value * accelerator.memory_efficiency.value));
}

Seconds recurrence_time(Recurrence const& r, Pass pass, AcceleratorProfile const& accelerator,
                        FrameworkTiming const& framework) {
    Work const work = work_of({.name = "recurrence", .what = r}, pass);
    FlopsPerSecond const rate = tensor_rate(accelerator) * recurrence_fraction * framework.attention_scale.value;
    return static_cast<double>(recurrence_kernels(r, pass)) * accelerator.launch_latency.value +
           std::max(work.executed / rate, work.moved / streaming_rate(accelerator, framework));
}

namespace {

/// Of kernels that touch these bytes and no more.
Seconds one_pass_time(Bytes bytes, std::int64_t kernels, AcceleratorProfile const& accelerator,
                      FrameworkTiming const& framework) {
    return static_cast<double>(kernels) * accelerator.launch_latency.value +
           bytes / streaming_rate(accelerator, framework);
}

}  // namespace

Seconds streaming_time(Bytes bytes, std::int64_t kernels, AcceleratorProfile const& accelerator,
                       FrameworkTiming const& framework) {
    return one_pass_time(bytes * framework.activation_passes.value, kernels, accelerator, framework);
}

namespace {

/// [n, m] x [m, k]: what the gradient of a weight is, of products [m, k] x [k, n].
GemmShape weight_product(GemmShape const& s) { return {.groups = s.groups, .m = s.n, .n = s.k, .k = s.m}; }
GemmShape input_product(GemmShape const& s) { return {.groups = s.groups, .m = s.m, .n = s.k, .k = s.n}; }

/// Matrix products that the backward pass of an op runs.
std::int64_t products_of_backward(Op const& op) {
    auto const count = [](Gradients gradients) { return gradients == Gradients::both ? 2 : 1; };
    if (auto const* g = std::get_if<Gemm>(&op.what)) return count(g->gradients);
    if (auto const* g = std::get_if<GroupedGemm>(&op.what)) return count(g->gradients);
    return 0;
}

GemmShape shape_of(Gemm const& g) { return {.groups = 1, .m = g.m, .n = g.n, .k = g.k}; }
/// Experts without a row are none of its products, and the others have as many as the one of most.
GemmShape shape_of(GroupedGemm const& g) {
    std::int64_t const rows = g.busiest_rows();
    std::int64_t const groups = std::clamp<std::int64_t>(rows, 1, g.groups);
    return {.groups = groups, .m = std::max<std::int64_t>(1, (rows + groups - 1) / groups), .n = g.n, .k = g.k};
}

}  // namespace

namespace {

template <class Product>
double own_row_share(Product const& g, AcceleratorProfile const& accelerator) {
    return row_share(g.n, g.k, bytes_per_element(g.precision), g.precision, accelerator);
}

}  // namespace

Seconds kernel_time(Op const& op, Pass pass, AcceleratorProfile const& accelerator, FrameworkTiming const& framework) {
    if (!op.in(pass)) return {};
    struct Visitor {
        Pass pass;
        AcceleratorProfile const& accelerator;
        FrameworkTiming const& framework;

        [[nodiscard]] Seconds product(GemmShape const& shape, Precision precision, Gradients gradients,
                                      double scale) const {
            if (pass == Pass::forward) return product_time(shape, precision, accelerator, scale);
            Seconds const input = product_time(input_product(shape), precision, accelerator, scale);
            if (gradients == Gradients::input) return input;
            return input + product_time(weight_product(shape), precision, accelerator, scale);
        }
        Seconds operator()(Gemm const& g) const {
            return product(shape_of(g), g.precision, g.gradients,
                           framework.gemm_scale.value * own_row_share(g, accelerator));
        }
        Seconds operator()(GroupedGemm const& g) const {
            return product(shape_of(g), g.precision, g.gradients,
                           expert_scale(framework) * own_row_share(g, accelerator));
        }
        Seconds operator()(Attention const& a) const { return attention_time(a, pass, accelerator, framework); }
        Seconds operator()(Recurrence const& r) const { return recurrence_time(r, pass, accelerator, framework); }
        Seconds operator()(Streaming const& s) const {
            Bytes const bytes = pass == Pass::forward ? s.forward : s.backward;
            return s.counted ? one_pass_time(bytes, s.kernels, accelerator, framework)
                             : streaming_time(bytes, s.kernels, accelerator, framework);
        }
        Seconds operator()(Collective const&) const { return {}; }
    };
    return std::visit(Visitor{pass, accelerator, framework}, op.what);
}

Seconds weight_gradient_time(Op const& op, AcceleratorProfile const& accelerator, FrameworkTiming const& framework) {
    if (!op.in(Pass::backward)) return {};
    if (products_of_backward(op) < 2) return {};
    auto const time = [&](auto const& g, double scale) {
        return product_time(weight_product(shape_of(g)), g.precision, accelerator,
                            scale * own_row_share(g, accelerator));
    };
    if (auto const* g = std::get_if<Gemm>(&op.what)) return time(*g, framework.gemm_scale.value);
    if (auto const* g = std::get_if<GroupedGemm>(&op.what)) return time(*g, expert_scale(framework));
    return {};
}

double weights_with_gradients(Op const& op) {
    if (!op.in(Pass::backward)) return 0;
    if (auto const* s = std::get_if<Streaming>(&op.what)) return s->weights;
    if (products_of_backward(op) < 2) return 0;
    auto const weights = [](std::int64_t groups, std::int64_t n, std::int64_t k) {
        return static_cast<double>(groups) * static_cast<double>(n) * static_cast<double>(k);
    };
    if (auto const* g = std::get_if<Gemm>(&op.what)) return weights(1, g->n, g->k);
    auto const* grouped = std::get_if<GroupedGemm>(&op.what);
    return grouped != nullptr ? weights(grouped->groups, grouped->n, grouped->k) : 0;
}

GradientSumTime gradient_sum_time(double of_products, double apart, GradientSums sums, GradientTraffic const& traffic,
                                  AcceleratorProfile const& accelerator, FrameworkTiming const& framework) {
    if (sums == GradientSums::first) return {};
    bool const added = sums == GradientSums::added;
    BytesPerSecond const rate = streaming_rate(accelerator, framework);
    return {.products = of_products * (added ? traffic.added : traffic.reduced) * units::B / rate,
            .apart = apart * (added ? traffic.added_apart : traffic.reduced_apart) * units::B / rate};
}

namespace {

std::int64_t attention_kernels(AttentionKernel kernel) {
    switch (kernel) {
        case AttentionKernel::flash: return 1;
        case AttentionKernel::unfused: return 5;
        case AttentionKernel::eager: return 8;
    }
    return 1;
}

}  // namespace

std::int64_t kernel_count(Op const& op, Pass pass) {
    if (!op.in(pass)) return 0;
    if (auto const* streaming = std::get_if<Streaming>(&op.what)) return streaming->kernels;
    if (auto const* recurrence = std::get_if<Recurrence>(&op.what)) return recurrence_kernels(*recurrence, pass);
    if (auto const* attention = std::get_if<Attention>(&op.what))
        return attention->pieces * attention_kernels(attention->kernel);
    return pass == Pass::forward ? 1 : products_of_backward(op);
}

}  // namespace sextant
