#include "cost_models/kernel_time.hpp"

#include "core/ops/work.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace sextant {
namespace {

struct Tile {
    std::int64_t m;
    std::int64_t n;
    double relative_rate;  ///< of a multiprocessor working on this tile, against the largest
};

/// assumed: a tile of m x n reads (m + n) operands for m n products, so smaller tiles wait longer for memory.
constexpr std::array tiles{Tile{256, 128, 1.0}, Tile{128, 256, 1.0}, Tile{128, 128, 0.95},
                           Tile{128, 64, 0.80}, Tile{64, 128, 0.80}, Tile{64, 64, 0.60}};
constexpr std::array<std::int64_t, 4> splits{1, 2, 4, 8};

constexpr double attention_half_length = 256;    // assumed
constexpr double small_head_factor = 0.8;        // assumed, heads of up to 64
constexpr double unfused_matrix_fraction = 0.4;  // assumed, of dense peak

std::int64_t ceil_to(std::int64_t value, std::int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

FlopsPerSecond tensor_rate(AcceleratorProfile const& accelerator) {
    for (Precision const precision : {Precision::bf16, Precision::fp16, Precision::tf32, Precision::fp32})
        if (accelerator.peak.contains(precision)) return accelerator.peak_of(precision).value;
    return accelerator.peak.begin()->second.value;
}

BytesPerSecond streaming_rate(AcceleratorProfile const& accelerator, FrameworkTiming const& framework) {
    return accelerator.memory_bandwidth.value * accelerator.memory_efficiency.value * framework.memory_scale.value;
}

}  // namespace

Seconds gemm_time(std::int64_t groups, std::int64_t m, std::int64_t n, std::int64_t k, Precision precision,
                  AcceleratorProfile const& accelerator, FrameworkTiming const& framework) {
    auto const processors = static_cast<double>(std::max<std::int64_t>(1, accelerator.multiprocessors.value));
    FlopsPerSecond const rate = accelerator.peak_of(precision).value * accelerator.gemm_efficiency_of(precision) *
                                framework.gemm_scale.value * (groups > 1 ? framework.grouped_gemm_scale.value : 1) /
                                processors;
    Seconds best = Seconds::from_base(std::numeric_limits<double>::infinity());
    for (Tile const& tile : tiles) {
        double const count = static_cast<double>(groups) *
                             std::ceil(static_cast<double>(m) / static_cast<double>(tile.m)) *
                             std::ceil(static_cast<double>(n) / static_cast<double>(tile.n));
        for (std::int64_t const split : splits) {
            if (k / split < 256 && split > 1) break;
            double const depth = static_cast<double>(ceil_to(k, 64 * split)) / static_cast<double>(split);
            double const waves = std::ceil(count * static_cast<double>(split) / processors);
            Flops const tile_work = 2 * static_cast<double>(tile.m * tile.n) * depth * units::flop;
            Seconds time = waves * tile_work / (rate * tile.relative_rate);
            if (split > 1)  // partial sums in fp32 are written and added
                time += 8.0 * static_cast<double>(split) * static_cast<double>(groups * m) * static_cast<double>(n) *
                        units::B / streaming_rate(accelerator, framework);
            best = std::min(best, time);
        }
    }
    double const operand = bytes_per_element(precision);
    auto const rows = static_cast<double>(groups * m);
    double const moved =
        operand * (rows * static_cast<double>(k) + static_cast<double>(groups * k) * static_cast<double>(n)) +
        std::max(2.0, operand) * rows * static_cast<double>(n);
    Seconds const memory =
        moved * units::B / (accelerator.memory_bandwidth.value * accelerator.memory_efficiency.value);
    return accelerator.launch_latency.value + std::max(best, memory);
}

Seconds attention_time(Attention const& a, Pass pass, AcceleratorProfile const& accelerator,
                       FrameworkTiming const& framework) {
    Work const work = work_of(Op{.name = "attention", .what = a}, pass);
    FlopsPerSecond const peak = tensor_rate(accelerator);
    Seconds const traffic = work.moved / streaming_rate(accelerator, framework);
    std::int64_t const kernels = kernel_count(Op{.name = "attention", .what = a}, pass);
    Seconds const launch = static_cast<double>(kernels) * accelerator.launch_latency.value;
    if (a.kernel == AttentionKernel::unfused)
        return launch + work.executed / (peak * unfused_matrix_fraction) + traffic;
    auto const length = static_cast<double>(attended_keys(a)) / static_cast<double>(a.pieces);
    double efficiency = (pass == Pass::forward ? accelerator.attention_forward_efficiency.value
                                               : accelerator.attention_backward_efficiency.value) *
                        framework.attention_scale.value * length / (length + attention_half_length);
    if (a.head_dim <= 64) efficiency *= small_head_factor;
    return launch + std::max(work.executed / (peak * efficiency), traffic);
}

Seconds streaming_time(Bytes bytes, std::int64_t kernels, AcceleratorProfile const& accelerator,
                       FrameworkTiming const& framework) {
    Seconds const transfer = bytes * framework.activation_passes.value / streaming_rate(accelerator, framework);
    return static_cast<double>(kernels) * accelerator.launch_latency.value + transfer;
}

namespace {

/// [n, m] x [m, k]: what the gradient of a weight is.
Seconds weight_product(std::int64_t groups, std::int64_t m, std::int64_t n, std::int64_t k, Precision precision,
                       AcceleratorProfile const& accelerator, FrameworkTiming const& framework) {
    return gemm_time(groups, n, k, m, precision, accelerator, framework);
}

std::int64_t rows_of_group(GroupedGemm const& g) { return std::max<std::int64_t>(1, g.m / g.groups); }

}  // namespace

Seconds kernel_time(Op const& op, Pass pass, AcceleratorProfile const& accelerator, FrameworkTiming const& framework) {
    if (!op.in(pass)) return {};
    struct Visitor {
        Pass pass;
        AcceleratorProfile const& accelerator;
        FrameworkTiming const& framework;

        Seconds product(std::int64_t groups, std::int64_t m, std::int64_t n, std::int64_t k,
                        Precision precision) const {
            if (pass == Pass::forward) return gemm_time(groups, m, n, k, precision, accelerator, framework);
            return gemm_time(groups, m, k, n, precision, accelerator, framework) +  // input gradient
                   weight_product(groups, m, n, k, precision, accelerator, framework);
        }
        Seconds operator()(Gemm const& g) const { return product(1, g.m, g.n, g.k, g.precision); }
        Seconds operator()(GroupedGemm const& g) const {
            return product(g.groups, rows_of_group(g), g.n, g.k, g.precision);
        }
        Seconds operator()(Attention const& a) const { return attention_time(a, pass, accelerator, framework); }
        Seconds operator()(Streaming const& s) const {
            return streaming_time(pass == Pass::forward ? s.forward : s.backward, s.kernels, accelerator, framework);
        }
        Seconds operator()(Collective const&) const { return {}; }
    };
    return std::visit(Visitor{pass, accelerator, framework}, op.what);
}

Seconds weight_gradient_time(Op const& op, AcceleratorProfile const& accelerator, FrameworkTiming const& framework) {
    if (!op.in(Pass::backward)) return {};
    if (auto const* g = std::get_if<Gemm>(&op.what))
        return weight_product(1, g->m, g->n, g->k, g->precision, accelerator, framework);
    if (auto const* g = std::get_if<GroupedGemm>(&op.what))
        return weight_product(g->groups, rows_of_group(*g), g->n, g->k, g->precision, accelerator, framework);
    return {};
}

std::int64_t kernel_count(Op const& op, Pass pass) {
    if (!op.in(pass)) return 0;
    if (auto const* streaming = std::get_if<Streaming>(&op.what)) return streaming->kernels;
    if (auto const* attention = std::get_if<Attention>(&op.what))
        return attention->pieces * (attention->kernel == AttentionKernel::flash ? 1 : 5);
    return pass == Pass::forward ? 1 : 2;
}

}  // namespace sextant
