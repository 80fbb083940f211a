#include "core/graph/shapes.hpp"

#include <algorithm>

namespace sextant {

bool BlockBuilder::needs_input(std::initializer_list<AdapterTarget> readers) const {
    if (!plan.adapters.on()) return true;
    return std::any_of(readers.begin(), readers.end(),
                       [&](AdapterTarget target) { return plan.adapters.targets.has(target); });
}

Gradients BlockBuilder::weight_gradients() const { return plan.adapters.on() ? Gradients::input : Gradients::both; }

bool BlockBuilder::stored_as_read(Precision precision) const {
    return plan.adapters.on() && plan.adapters.base == BaseWeights::fp8 && unscaled(precision) == Precision::fp8;
}

void BlockBuilder::dequantise(double elements) {
    if (!plan.adapters.on() || plan.adapters.base == BaseWeights::bf16 || stored_as_read(plan.precision)) return;
    streaming("dequantise", (bytes_per_weight(plan.adapters.base) + 2) * elements, 1.0);
}

/// y += s B (A x), three kernels: both products and the scaled sum, which reads both terms and writes one; the backward
/// pass adds the input gradients in the same way. In 16 bit where the step is narrower.
///
/// Split along the output, every tensor-parallel rank runs A on all of the gathered input and its part of B: the
/// partial gradients of A's output, [rows, R], are summed over the group. Split along the input, A has partial sums in
/// the forward pass; with sequence parallelism they are scattered over the tokens and B runs on its own tokens. The sum
/// of the whole factor's gradient over the group, once per step, is left out as it is for norms.
void BlockBuilder::adapters(std::initializer_list<AdapterTarget> targets, std::int64_t rows, std::int64_t n,
                            std::int64_t k, Split split) {
    if (!plan.adapters.on() || !needs_input(targets)) return;
    std::int64_t const rank = plan.adapters.rank;
    Precision const precision = is_narrow(plan.precision) ? Precision::bf16 : plan.precision;
    bool const by_input = split == Split::input && plan.tp > 1;
    bool const scattered = by_input && plan.sequence_parallel == Switch::on;
    std::int64_t const summed_rows = scattered ? ceil_div(rows, plan.tp) : rows;
    double const latent_bytes = 2 * static_cast<double>(rows) * static_cast<double>(rank);
    auto const product = [&](std::string_view name, std::int64_t m, std::int64_t outputs, std::int64_t inputs) {
        block.ops.push_back({.name = name, .what = Gemm{.m = m, .n = outputs, .k = inputs, .precision = precision}});
    };
    auto const sum = [&](CollectiveKind kind, Passes passes) {
        collective("lora sum", kind, GroupKind::tensor, latent_bytes, passes);
    };
    product("lora A", rows, rank, k);
    if (scattered) {
        sum(CollectiveKind::reduce_scatter, Passes::forward);
        sum(CollectiveKind::all_gather, Passes::backward);
    } else if (by_input) {
        sum(CollectiveKind::all_reduce, Passes::forward);
    } else if (split == Split::output && plan.tp > 1) {
        sum(CollectiveKind::all_reduce, Passes::backward);
    }
    product("lora B", summed_rows, n, rank);
    block.ops.push_back(
        {.name = "lora add",
         .what = Streaming{.forward = 6 * static_cast<double>(summed_rows) * static_cast<double>(n) * units::B,
                           .backward = 6 * static_cast<double>(rows) * static_cast<double>(k) * units::B}});
    keep("adapter latent", "2 T R [/t with SP]",
         scattered ? latent_bytes / static_cast<double>(plan.tp) : latent_bytes);
}

void BlockBuilder::end_gradient() {
    std::erase_if(block.ops, [](Op const& op) { return op.passes == Passes::backward; });
    for (Op& op : block.ops)
        op.passes = Passes::forward;
    block.saved.clear();
}

}  // namespace sextant
