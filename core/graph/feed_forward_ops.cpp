#include "core/graph/shapes.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace sextant {
namespace {

/// Bytes that are kept of a value which an activation reads: two, or one in fp8 (of gated feed-forwards), which a
/// kernel of its own writes and another one turns back for the backward pass. Source: Megatron-Core,
/// `fusions/fused_bias_swiglu.py`.
double kept_bytes(ParallelPlan const& plan) { return plan.fp8_activation_input == Switch::on ? 1 : 2; }
void append_narrow_copy(BlockBuilder& b, double values) {
    constexpr double moved = 2 + 1;  // bytes a value, either way
    if (b.plan.fp8_activation_input == Switch::on) b.streaming("activation input in fp8", moved * values, 1.0);
}

}  // namespace

void append_mlp(BlockBuilder& b, std::int64_t intermediate) {
    bool const gated = b.model.mlp.gated;
    auto const tokens = static_cast<double>(b.tokens);
    std::int64_t const width = ceil_div(intermediate, b.plan.tp);
    auto const f = static_cast<double>(width);
    double const read = (gated ? 2 : 1) * tokens * f;  // values, by the activation
    if (!b.joint_entry()) b.enter_tensor_region("mlp in", mlp_readers, b.plan.precision);
    b.group(ActivationGroup::mlp_up, [&] {
        if (gated && layer_form(b.plan) == LayerForm::by_op) {
            b.gemm("mlp gate", Split::output, width, b.model.hidden);
            b.gemm("mlp up", Split::output, width, b.model.hidden);
        } else {
            b.gemm("mlp up", Split::output, gated ? 2 * width : width, b.model.hidden);
        }
        if (gated) {
            b.adapters({AdapterTarget::gate_up}, b.tokens, 2 * width, b.model.hidden, Split::output);
            b.adapters({AdapterTarget::gate}, b.tokens, width, b.model.hidden, Split::output);
        }
        b.adapters({AdapterTarget::up}, b.tokens, width, b.model.hidden, Split::output);
        b.keep("mlp up output", gated ? "4 (2 in fp8) T f / t" : "2 T f / t", kept_bytes(b.plan) * read);
    });
    b.module_group(RecomputeModule::mlp_act, ActivationGroup::mlp_act, [&] {
        append_narrow_copy(b, read);
        // Read the projection(s), write the activation; a gated unit reads two.
        b.streaming("activation", (gated ? 6.0 : 4.0) * tokens * f, 1.7);
        if (b.needs_input({AdapterTarget::down})) b.keep_input("activation output", "2 T f / t", 2 * tokens * f);
        if (gated) b.keep_copy(KeptCopy::gate, "gate beside its product", "T f / t", tokens * f);
    });
    b.gemm(last_product, Split::input, b.model.hidden, width);
    b.adapters({AdapterTarget::down}, b.tokens, b.model.hidden, width, Split::input);
    b.leave_tensor_region("mlp out", b.plan.precision);
}

namespace {

/// Where the router's scores weight experts' activation, one kernel makes and weights that of a gated unit; without a
/// gate a product of its own does, which needs what it multiplies. Source: Megatron-Core, `TEGroupedMLP` of
/// `transformer/moe/experts.py`.
constexpr std::string_view unweighted_activation = "expert activation before its weights";

/// Experts with biases clamp what their activation reads, gate and product apart, and add the bias of the last product
/// weighted by the router's scores, expert by expert (gpt-oss). Frameworks run both op by op. Source: Megatron-Core,
/// `fusions/fused_bias_geglu.py` and `_apply_bias` of `transformer/moe/experts.py`.
/// `values`: that the activation reads, clamped into one tensor (two passes of 2 + 2 bytes); backward each clamp reads
/// them again beside their gradient (2 + 2 + 2), and the halves are put together (2 + 2).
void append_clamp(BlockBuilder& b, double values) {
    b.counted_streaming(clamped_experts, 8 * values, 10 * values, 3);
    b.keep("clamped expert input", "4 T k f_e / t", 2 * values);
}

/// `values`: of the outputs. Weighted biases are made (2), added (2 + 2 + 2) and what the experts leave is put together
/// (2 + 2); backward gradients of biases and scores are a product (2 + 2) and a sum (2) each.
void append_weighted_bias(BlockBuilder& b, double values, std::int64_t experts) {
    b.counted_streaming(weighted_expert_bias, 12 * values, 12 * values, 2 * experts + 1);
}

/// The feed-forward of the experts that a rank holds, on the tokens it received, of the rank that received most.
void append_experts(BlockBuilder& b, MoeSpec const& moe, double received) {
    ParallelPlan const& plan = b.plan;
    double const busiest = busiest_share(moe, plan);
    std::int64_t const width = ceil_div(moe.intermediate, plan.expert_tp);
    auto const f = static_cast<double>(width);
    double const factor = b.model.mlp.gated ? 2 : 1;
    GroupedGemm const up{.groups = std::max<std::int64_t>(1, moe.experts / plan.ep),
                         .m = static_cast<std::int64_t>(std::llround(received / busiest)),
                         .n = static_cast<std::int64_t>(factor) * width,
                         .k = b.model.hidden,
                         .precision = plan.precision,
                         .gradients = b.weight_gradients(),
                         .busiest = busiest};
    GroupedGemm down = up;
    down.n = b.model.hidden;
    down.k = width;
    auto const elements = [](GroupedGemm const& g) {
        return static_cast<double>(g.groups) * static_cast<double>(g.n) * static_cast<double>(g.k);
    };
    // Tokens arrive in 16 bits, and expert tensor parallelism gathers them as such.
    auto const round = [&](GroupedGemm const& g) {
        b.cast_weights(elements(g), g.precision);
        double const inputs = received * static_cast<double>(g.k);
        double const outputs = received * static_cast<double>(g.n);
        b.quantise({inputs, inputs}, {outputs, outputs}, g.precision);
    };
    b.group(ActivationGroup::mlp_up, [&] {
        b.dequantise(elements(up));
        b.block.ops.push_back({.name = "experts up", .what = up});
        round(up);
        b.keep("experts up output", "2 (1 or 2) T k f_e / t", kept_bytes(b.plan) * factor * received * f);
    });
    b.module_group(RecomputeModule::moe_act, ActivationGroup::mlp_act, [&] {
        if (moe.expert_bias) append_clamp(b, factor * received * f);
        append_narrow_copy(b, factor * received * f);
        b.streaming("expert activation", (factor + 1) * 2 * received * f, 1.7);
        if (b.needs_input({})) b.keep_input("expert activation output", "2 T k f_e / t", 2 * received * f);
        if (b.model.mlp.gated)
            b.keep_copy(KeptCopy::gate, "expert gate beside its product", "T k f_e / t", received * f);
        else if (plan.dispatcher == Dispatcher::deduplicated)
            b.keep(unweighted_activation, "2 T k f_e / t", 2 * received * f);
        else
            b.keep_copy(KeptCopy::unweighted, unweighted_activation, "T k f_e / t", received * f);
    });
    b.dequantise(elements(down));
    b.block.ops.push_back({.name = "experts down", .what = down});
    round(down);
    if (moe.expert_bias) append_weighted_bias(b, received * b.hidden, up.groups);
}

/// Reads and writes what experts have received or leave, in either pass.
void append_copy(BlockBuilder& b, std::string_view name, double received) {
    double const bytes = 4 * received * b.hidden;
    b.counted_streaming(name, bytes, bytes, 1);
}

/// Tokens come from each rank in the order of its experts and are put in that of the rank's own, and what they leave is
/// put back. Dispatchers that send a token once for all experts of a domain write it where it belongs. Source:
/// Megatron-Core, `sort_chunks_by_idxs` of `transformer/moe/token_dispatcher.py`; torchtitan has the same two steps.
void append_sorting(BlockBuilder& b, MoeSpec const& moe, double received) {
    ParallelPlan const& plan = b.plan;
    if (plan.dispatcher == Dispatcher::all_to_all && plan.ep > 1 && moe.experts > plan.ep)
        append_copy(b, sorted_tokens, received);
}

/// Source: Megatron-Core, `Fp8Padding` and `Fp8Unpadding` in `TEGroupedMLP`; HybridEP pads as it writes
/// (`pad_multiple`).
void append_padding(BlockBuilder& b, double received) {
    if (is_narrow(b.plan.precision) && b.plan.dispatcher == Dispatcher::all_to_all)
        append_copy(b, expert_padding, received);
}

}  // namespace

double worst_share(MoeSpec const& moe, std::int64_t ep) {
    auto const most = static_cast<double>(std::min(moe.top_k, moe.experts / ep));
    return static_cast<double>(ep) * most / static_cast<double>(moe.top_k);
}

double busiest_share(MoeSpec const& moe, ParallelPlan const& plan) {
    return std::clamp(plan.expert_imbalance, 1.0, worst_share(moe, plan.ep));
}

void append_moe(BlockBuilder& b, MoeSpec const& moe) {
    ParallelPlan const& plan = b.plan;
    auto const top_k = static_cast<double>(moe.top_k);
    // Routed tokens leave from the norm region: every tensor-parallel rank dispatches its own share. Without sequence
    // parallelism the tp ranks hold the same tokens and each dispatches 1 / tp of them.
    double const own_tokens = static_cast<double>(b.tokens) / static_cast<double>(plan.tp);
    double const sent = own_tokens * top_k;
    double const busiest = busiest_share(moe, plan);
    // Of the rank that receives most, for which the others wait; expert tensor parallelism gathers the tokens of its
    // group.
    double const received = sent * static_cast<double>(plan.expert_tp) * busiest;
    double const token_bytes = 2 * b.hidden;

    // In the model's own format, as Megatron-Core and transformers have it unless told otherwise.
    b.gemm_on(static_cast<std::int64_t>(own_tokens), router_product, moe.experts, b.model.hidden,
              is_narrow(plan.precision) ? Precision::bf16 : plan.precision, Storage::plain);
    b.streaming("top-k", 12 * own_tokens * static_cast<double>(moe.experts), 1.0, 6);
    b.keep("router scores", "8 T E / t", 8 * own_tokens * static_cast<double>(moe.experts));
    Collective const exchange{.kind = CollectiveKind::all_to_all,
                              .group = GroupKind::expert,
                              .bytes = sent * busiest * token_bytes * units::B,
                              .copies = plan.dispatcher == Dispatcher::deduplicated ? moe.top_k : 1,
                              .expert_groups = moe.groups,
                              .chosen_groups = moe.chosen_groups};
    std::size_t const routed = b.block.saved.size();
    b.group(ActivationGroup::expert_in, [&] {
        b.streaming("permute", 2 * sent * token_bytes, 1.0, 2);
        if (plan.ep > 1) b.block.ops.push_back({.name = dispatched_tokens, .what = exchange});
        if (plan.expert_tp > 1)
            b.collective("expert gather", CollectiveKind::all_gather, GroupKind::expert_tensor, received * token_bytes,
                         Passes::both);
        append_sorting(b, moe, received);
        append_padding(b, received);
        if (b.needs_input({})) b.keep_input("dispatched tokens", "2 T k h / t", received * token_bytes);
    });
    append_experts(b, moe, received);
    append_padding(b, received);
    append_sorting(b, moe, received);
    // Where tokens are sent once per domain, with some frameworks always, they are weighted by their experts' scores
    // before they are multiplied by the last matrix, and no output is needed again.
    if (plan.dispatcher == Dispatcher::all_to_all) {
        b.keep_copy(KeptCopy::routed, "expert outputs", "T k h / t", received * b.hidden);
        // Where each rank combines as many rows as all of them have, in fp32: zeros where the others' are.
        double const of_others = static_cast<double>(b.tokens) * top_k - received / busiest;
        if (of_others > 0 && plan.sequence_parallel == Switch::on)
            b.keep_copy(KeptCopy::gathered, "expert outputs of the other ranks", "2 T k h (1 - 1/t)",
                        2 * of_others * b.hidden);
    }
    for (std::size_t i = routed; i < b.block.saved.size(); ++i)
        b.block.saved[i].worst_case = worst_share(moe, plan.ep) / busiest;
    if (plan.expert_tp > 1)
        b.collective("expert reduce", CollectiveKind::reduce_scatter, GroupKind::expert_tensor, received * token_bytes,
                     Passes::both);
    if (plan.ep > 1) b.block.ops.push_back({.name = combined_tokens, .what = exchange});
    b.streaming(combined_tokens, 2 * sent * token_bytes + 2 * own_tokens * b.hidden, 1.0, 2);
    if (plan.sequence_parallel == Switch::off && plan.tp > 1)
        b.collective("moe gather", CollectiveKind::all_gather, GroupKind::tensor,
                     2 * static_cast<double>(b.tokens) * b.hidden, Passes::both);
    if (moe.shared_intermediate > 0)
        b.module(RecomputeModule::shared_experts, [&] { append_mlp(b, moe.shared_intermediate); });
}

}  // namespace sextant
