#include "core/graph/shapes.hpp"
#include "core/spec/working_format.hpp"

#include <algorithm>
#include <utility>

namespace sextant {

BlockBuilder::BlockBuilder(std::string name, ModelSpec const& m, ParallelPlan const& p, SequenceShape const& s)
    : model(m),
      plan(p),
      documents(p.micro_batch * s.documents()),
      document(s.attended()),
      tokens(p.micro_batch * s.tokens / p.cp),
      norm_tokens(static_cast<double>(p.micro_batch) * static_cast<double>(s.tokens) / static_cast<double>(p.cp) /
                  (p.sequence_parallel == Switch::on ? static_cast<double>(p.tp) : 1.0)),
      hidden(static_cast<double>(m.hidden)),
      column_tokens_(norm_tokens) {
    block.name = std::move(name);
}

void BlockBuilder::gemm(std::string_view name, Split split, std::int64_t n, std::int64_t k) {
    product(tokens, name, n, k, plan.precision, Storage::base);
    auto const all = static_cast<double>(tokens);
    auto const inputs = static_cast<double>(k);
    auto const outputs = static_cast<double>(n);
    quantise({(split == Split::output ? column_tokens_ : all) * inputs, all * inputs},
             {(split == Split::input ? norm_tokens : all) * outputs, all * outputs}, plan.precision);
}

void BlockBuilder::gemm_on(std::int64_t rows, std::string_view name, std::int64_t n, std::int64_t k,
                           Precision precision, Storage storage) {
    product(rows, name, n, k, precision, storage);
    double const inputs = static_cast<double>(rows) * static_cast<double>(k);
    double const outputs = static_cast<double>(rows) * static_cast<double>(n);
    quantise({inputs, inputs}, {outputs, outputs}, precision);
}

void BlockBuilder::product(std::int64_t rows, std::string_view name, std::int64_t n, std::int64_t k,
                           Precision precision, Storage storage) {
    if (storage == Storage::base) dequantise(static_cast<double>(n) * static_cast<double>(k));
    block.ops.push_back(
        {.name = name,
         .what = Gemm{.m = rows, .n = n, .k = k, .precision = precision, .gradients = weight_gradients()}});
    cast_weights(static_cast<double>(n) * static_cast<double>(k), precision);
}

void BlockBuilder::cast_weights(double elements, Precision precision) {
    if (!is_narrow(precision) || stored_as_read(precision)) return;
    streaming(weight_cast, (2 + rounded_weight_bytes(precision)) * elements, 1.0);
}

void BlockBuilder::quantise(Rounded input, Rounded gradient, Precision precision) {
    if (!is_narrow(precision)) return;
    double const sides = weight_gradients() == Gradients::both ? 2 : 1;
    double const value = rounded_bytes(precision);
    Streaming rounding;
    if (precision == Precision::fp8) {
        // A copy reads and writes a byte; where nothing is gathered, the kernel that rounds a gradient writes it, too.
        double const copies = sides - 1;
        double const of_gradient = (gradient.all > gradient.own ? 2 : 1) * gradient.all;
        rounding.forward = (2 + value) * input.own * units::B;
        rounding.backward = ((2 + value) * gradient.own + copies * (2 * input.all + of_gradient)) * units::B;
    } else {
        rounding.forward = (2 + sides * value) * input.own * units::B;
        rounding.backward = (2 + sides * value) * gradient.own * units::B;
    }
    block.ops.push_back({.name = quantised_input, .what = rounding});
}

void BlockBuilder::streaming(std::string_view name, double forward_bytes, double backward_ratio, std::int64_t kernels) {
    block.ops.push_back({.name = name,
                         .what = Streaming{.forward = forward_bytes * units::B,
                                           .backward = backward_ratio * forward_bytes * units::B,
                                           .kernels = kernels}});
}

void BlockBuilder::counted_streaming(std::string_view name, double forward_bytes, double backward_bytes,
                                     std::int64_t kernels) {
    block.ops.push_back({.name = name,
                         .what = Streaming{.forward = forward_bytes * units::B,
                                           .backward = backward_bytes * units::B,
                                           .kernels = kernels,
                                           .counted = true}});
}

void BlockBuilder::collective(std::string_view name, CollectiveKind kind, GroupKind group, double bytes, Passes passes,
                              Hiding hiding) {
    block.ops.push_back({.name = name,
                         .what = Collective{.kind = kind, .group = group, .bytes = bytes * units::B},
                         .passes = passes,
                         .hiding = hiding});
}

double BlockBuilder::gathered_bytes(Precision precision, double sides) const {
    if (!is_narrow(precision)) return 2;
    return precision == Precision::fp8 ? rounded_bytes(precision) : sides * rounded_bytes(precision);
}

void BlockBuilder::enter_tensor_region(std::string_view name, std::initializer_list<AdapterTarget> readers,
                                       Precision precision, std::int64_t width) {
    if (plan.tp == 1) return;
    double const values = static_cast<double>(tokens * (width > 0 ? width : model.hidden));
    double const bytes = 2 * values;
    if (plan.sequence_parallel == Switch::on) {
        // Adapters read it in 16 bits, and what the ranks gathered is rounded after that.
        bool const adapted = plan.adapters.on() && needs_input(readers);
        column_tokens_ = adapted ? static_cast<double>(tokens) : norm_tokens;
        double const gathered = (adapted ? 2 : gathered_bytes(precision, 1)) * values;
        collective(name, CollectiveKind::all_gather, GroupKind::tensor, gathered, Passes::forward);
        // The sharded input is gathered once more for the weight gradient, beside the input gradient's product
        // (arXiv:2205.05198 sec. 4.2.2).
        if (needs_input(readers))
            collective(name, CollectiveKind::all_gather, GroupKind::tensor, gathered, Passes::backward, Hiding::hidden);
        collective(name, CollectiveKind::reduce_scatter, GroupKind::tensor, bytes, Passes::backward);
    } else {
        collective(name, CollectiveKind::all_reduce, GroupKind::tensor, bytes, Passes::backward);
    }
}

void BlockBuilder::leave_tensor_region(std::string_view name, Precision precision) {
    if (plan.tp == 1) return;
    double const values = static_cast<double>(tokens) * hidden;
    double const bytes = 2 * values;
    if (plan.sequence_parallel == Switch::on) {
        double const gathered = gathered_bytes(precision, weight_gradients() == Gradients::both ? 2 : 1) * values;
        collective(name, CollectiveKind::reduce_scatter, GroupKind::tensor, bytes, Passes::forward);
        collective(name, CollectiveKind::all_gather, GroupKind::tensor, gathered, Passes::backward);
    } else {
        collective(name, CollectiveKind::all_reduce, GroupKind::tensor, bytes, Passes::forward);
    }
}

void BlockBuilder::norm(std::string_view name) {
    // Read 2 bytes, write 2 bytes; backward reads the input and the gradient and writes a gradient, and once more reads
    // what the gradient of its scale needs.
    streaming(name, 4 * norm_tokens * hidden, plan.adapters.on() ? 1.5 : 2.0);
}

void BlockBuilder::residual(std::string_view name) {
    bool const dropout = plan.dropout == Switch::on;
    // Read the branch and the residual, write the sum; dropout writes a one-byte mask.
    streaming(name, (dropout ? 7.0 : 6.0) * norm_tokens * hidden, dropout ? 1.0 : 0.7, dropout ? 2 : 1);
    if (dropout) keep("dropout mask", "T h [/t with SP]", norm_tokens * hidden);
}

void BlockBuilder::keep(std::string_view name, std::string_view formula, double bytes) {
    block.saved.push_back({.name = name, .formula = formula, .bytes = bytes * units::B});
}

void BlockBuilder::keep_input(std::string_view name, std::string_view formula, double bytes, NarrowInput narrow) {
    keep(name, formula, bytes);
    if (!is_narrow(plan.precision)) return;
    block.saved.back().narrow = narrow;
    if (plan.precision == Precision::fp4) block.saved.back().narrow_width = rounded_bytes(plan.precision);
}

void BlockBuilder::keep_copy(KeptCopy copy, std::string_view name, std::string_view formula, double elements) {
    keep(name, formula, elements);
    block.saved.back().copy = copy;
}

void BlockBuilder::hold(std::vector<Parameter> const& parameters) {
    if (!plan.adapters.on()) {
        block.parameters += local_parameters(parameters, plan);
        return;
    }
    FrozenWeights& frozen = block.frozen;
    for (Parameter const& p : parameters) {
        LocalParameters const local = local_parameters({p}, plan);
        if (plan.adapters.base == BaseWeights::bf16 || p.sharding == Sharding::vocabulary || !is_base_matrix(p)) {
            frozen.plain += local;
            continue;
        }
        frozen.packed += local;
        frozen.largest_packed = std::max(frozen.largest_packed, local.total());
    }
    block.parameters += local_parameters(adapter_parameters(parameters, plan.adapters), plan);
}

namespace {

/// FLOPs of five Newton-Schulz steps on the part of a matrix that a rank holds, cut along its longer side: each step is
/// X X^T, its square, and their sum times X. Source: Muon (Jordan et al. 2024), arXiv:2502.16982 sec. 2.
double orthogonalization(Parameter const& p, double shards) {
    if (p.rows <= 1 || p.columns <= 1) return 0;
    constexpr double steps = 5;
    double const longer = static_cast<double>(std::max(p.rows, p.columns)) / shards;
    double const other = static_cast<double>(std::min(p.rows, p.columns));
    double const m = std::min(longer, other);
    return steps * (4 * m * m * std::max(longer, other) + 2 * m * m * m);
}

}  // namespace

LocalParameters local_parameters(std::vector<Parameter> const& parameters, ParallelPlan const& plan) {
    LocalParameters local;
    auto const add_orthogonal = [&](Parameter const& p, double shards, double copies, double& sum) {
        double const one = orthogonalization(p, shards);
        sum += copies * one;
        local.largest_orthogonal = std::max(local.largest_orthogonal, one);
    };
    auto const tp = static_cast<double>(plan.tp);
    for (Parameter const& p : parameters) {
        auto const count = static_cast<double>(p.count());
        auto const dense = [&](double shards) {
            local.dense += count / shards;
            add_orthogonal(p, shards, static_cast<double>(p.copies), local.dense_orthogonal);
        };
        switch (p.sharding) {
            case Sharding::replicated:
            case Sharding::tensor:
            case Sharding::heads: dense(static_cast<double>(p.tensor_shards(plan.tp))); break;
            case Sharding::vocabulary: {
                double const rows = static_cast<double>(padded_vocabulary(p.rows, plan)) / tp;
                local.dense += rows * static_cast<double>(p.columns * p.copies);
                local.embedding += rows * static_cast<double>(p.columns * p.copies);
                break;
            }
            case Sharding::expert: {
                auto const ep = static_cast<double>(plan.ep);
                auto const expert_tp = static_cast<double>(plan.expert_tp);
                local.expert += count / (ep * expert_tp);
                add_orthogonal(p, expert_tp, static_cast<double>(p.copies) / ep, local.expert_orthogonal);
                break;
            }
        }
    }
    return local;
}

}  // namespace sextant
