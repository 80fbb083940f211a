#include "core/graph/shapes.hpp"

#include <algorithm>
#include <utility>

namespace sextant {
namespace {

std::string layer_name(LayerKind kind) {
    std::string name = kind.moe ? "moe layer" : "layer";
    if (kind.mixer == Mixer::none) return kind.moe ? "moe layer (no mixer)" : "layer (no mixer)";
    if (kind.mixer == Mixer::recurrent) name += " (recurrent)";
    if (kind.sliding) name += " (sliding)";
    return name;
}

/// What reads the output of the norm before the mixer; recurrent layers have no adapters.
std::initializer_list<AdapterTarget> mixer_readers(LayerKind kind) {
    if (kind.mixer == Mixer::recurrent) return {};
    return attention_readers;
}

void append_mixer(BlockBuilder& b, LayerKind kind) {
    if (kind.mixer == Mixer::recurrent)
        append_recurrence(b, *b.model.recurrent);
    else
        append_attention(b, kind);
}

void append_feed_forward(BlockBuilder& b, LayerKind kind) {
    if (kind.moe)
        b.module(RecomputeModule::moe, [&] { append_moe(b, *b.model.moe); });
    else
        b.module(RecomputeModule::mlp, [&] { append_mlp(b, b.model.mlp.intermediate); });
}

/// Marks what follows the last tensor that the backward pass needs: the last product of a dense feed-forward, what is
/// sent of its output and what that is added to. Experts' outputs are needed for the gradient of their weights, and so
/// is what a norm or a dropout mask is made of, and what an adapter beside the last product reads.
void mark_the_end(BlockBuilder& b, LayerKind kind) {
    bool const adapted = b.plan.adapters.on() && b.needs_input({AdapterTarget::down});
    if (!kind.feed_forward || kind.moe || b.model.norms_per_layer > 2 || b.plan.dropout == Switch::on || adapted)
        return;
    std::vector<Op>& ops = b.block.ops;
    for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
        if (op->name != quantised_input && op->rerun == Rerun::full) op->rerun = Rerun::to_the_end;
        if (op->name == last_product) return;
    }
}

/// Whether the backward pass needs the output of a norm, and what reads it: products alone, a router (in 16 bit) alone,
/// or a router beside products.
enum class NormOutput { dropped, for_products, for_router, for_both };

NarrowInput narrow_of(NormOutput output) {
    switch (output) {
        case NormOutput::for_products: return NarrowInput::instead;
        case NormOutput::for_both: return NarrowInput::beside;
        default: return NarrowInput::no;
    }
}

void keep_norm_input(BlockBuilder& b) { b.keep("norm input", "2 T h [/t with SP]", 2 * b.norm_tokens * b.hidden); }

/// Norm before a half of the layer, with its output (the input of the linear layers). Its input is the layer's, or the
/// caller keeps it.
void append_input_norm(BlockBuilder& b, std::string_view name, NormOutput output) {
    b.module(RecomputeModule::layernorm, [&] {
        b.group(ActivationGroup::norm_out, [&] {
            b.norm(name);
            if (output == NormOutput::dropped) return;
            b.keep_input("linear input", "2 T h [/t with SP]", 2 * b.norm_tokens * b.hidden, narrow_of(output));
            double const of_others = static_cast<double>(b.tokens) - b.norm_tokens;
            if (of_others <= 0) return;
            // In fp4 what the forward pass gathered by rows is kept beside what the backward pass gathers by columns.
            // Source: `module/layernorm_linear.py` of Transformer Engine 2.8.
            if (output == NormOutput::for_products && b.plan.precision == Precision::fp4)
                b.block.saved.back().narrow_width *= 2;
            b.keep_copy(KeptCopy::gathered, "linear input of the other ranks", "T h (1 - 1/t)", of_others * b.hidden);
        });
        b.keep_copy(KeptCopy::norm, "copies around a norm", "T h [/t with SP]", b.norm_tokens * b.hidden);
    });
}

/// Whether torchtitan's policy by op keeps what was exchanged: the lists of its MoE models name all-to-all, but
/// Qwen3's. Source: torchtitan 0.2.0 to 0.2.2, _op_sac_save_list of models/*/infra/parallelize.py.
bool keeps_exchanged(ModelSpec const& model) { return model.architecture != "qwen3_moe"; }

/// Bytes that an exchange leaves: a copy for each expert of a token; sent once per domain at most one for each rank,
/// and combined one.
double exchanged_bytes(Op const& op, ParallelPlan const& plan) {
    auto const& exchange = std::get<Collective>(op.what);
    auto const copies = static_cast<double>(exchange.copies);
    double const left = op.name == combined_tokens ? 1 : std::min(copies, static_cast<double>(plan.ep));
    return exchange.bytes.base() * left / copies;
}

/// What torchtitan's policy by op keeps of a layer beside its input: the results of the first, third, ... matrix
/// product, of the attention core, of reduce-scatters and of exchanges, but not what the
/// layer ends with: a compiler drops what no backward pass reads. All else runs again up to the last product, needed or
/// not. The modules of a layer with experts are compiled one by one inside the policy, which sees no product of theirs:
/// all run again. Source: torchtitan 0.2.2, distributed/activation_checkpoint.py; peaks tracked on fake tensors.
void apply_op_policy(BlockBuilder& b, LayerKind layer) {
    if (layer_form(b.plan) != LayerForm::by_op) return;
    for (SavedTensor& tensor : b.block.saved)
        if (tensor.name != softmax_statistics && tensor.name != attention_output) tensor.dropped_by = Rerun::selective;
    std::int64_t products = 0;
    bool kept = false;  // the product before
    for (Op& op : b.block.ops) {
        auto const* gemm = std::get_if<Gemm>(&op.what);
        auto const* collective = std::get_if<Collective>(&op.what);
        auto const is = [&](CollectiveKind kind) { return collective != nullptr && collective->kind == kind; };
        bool const scatters = is(CollectiveKind::reduce_scatter);
        if (op.rerun == Rerun::to_the_end) continue;
        if (gemm != nullptr) kept = !layer.moe && ++products % 2 == 1;
        if (op.name == weight_cast && kept) continue;
        if (gemm != nullptr && kept) {
            b.keep(op.name, "2 T n: result", 2 * static_cast<double>(gemm->m) * static_cast<double>(gemm->n));
        } else if (scatters && op.in(Pass::forward)) {
            b.keep(op.name, "2 T h / t: result", collective->bytes.base() / static_cast<double>(b.plan.tp));
        } else if (is(CollectiveKind::all_to_all) && keeps_exchanged(b.model)) {
            b.keep(op.name, "2 T k h / t: result", exchanged_bytes(op, b.plan));
        } else if (op.op_class() != OpClass::attention && !scatters && op.rerun == Rerun::full) {
            op.rerun = Rerun::selective;
        }
    }
}

/// What full recompute is told to keep, and what need not run again for it.
void keep_named(BlockBuilder& b) {
    if (layer_form(b.plan) != LayerForm::keeping) return;
    ActivationGroups const kept = b.plan.kept_activations & keepable_activations;
    for (Op& op : b.block.ops)
        if (kept.has(op.makes)) op.rerun = Rerun::never;
    for (SavedTensor& tensor : b.block.saved)
        if (kept.has(tensor.group)) tensor.dropped_by = Rerun::never;
}

/// A dense feed-forward or shared experts may have adapters; routed experts and the router have none.
NormOutput output_for_feed_forward(BlockBuilder const& b, LayerKind kind) {
    bool const dense = !kind.moe || b.model.moe->shared_intermediate > 0;
    if (!(dense ? b.needs_input(mlp_readers) : b.needs_input({}))) return NormOutput::dropped;
    if (!kind.moe) return NormOutput::for_products;
    return dense ? NormOutput::for_both : NormOutput::for_router;
}

/// A layer that is a mixer or a feed-forward alone: one norm, one residual. Source: Nemotron-H, arXiv:2504.03624.
Block build_half_layer(BlockBuilder b, LayerKind kind) {
    bool const mixes = kind.mixer != Mixer::none;
    NormOutput const output = !mixes                               ? output_for_feed_forward(b, kind)
                              : b.needs_input(mixer_readers(kind)) ? NormOutput::for_products
                                                                   : NormOutput::dropped;
    append_input_norm(b, "input norm", output);
    if (mixes)
        append_mixer(b, kind);
    else
        append_feed_forward(b, kind);
    b.residual("residual");
    mark_the_end(b, kind);
    apply_op_policy(b, kind);
    keep_named(b);
    b.hold(layer_parameters(b.model, kind));
    return std::move(b.block);
}

NormOutput output_for_attention(BlockBuilder const& b, LayerKind kind) {
    bool const read_by_both = b.model.parallel_block && b.model.norms_per_layer == 1;
    bool const by_mixer = b.needs_input(mixer_readers(kind));
    NormOutput const other = read_by_both ? output_for_feed_forward(b, kind) : NormOutput::dropped;
    if (by_mixer && other == NormOutput::for_router) return NormOutput::for_both;
    if (other != NormOutput::dropped) return other;
    return by_mixer ? NormOutput::for_products : NormOutput::dropped;
}

}  // namespace

Block layer_in_16_bits(ModelSpec const& model, LayerKind kind, ParallelPlan const& plan,
                       SequenceShape const& sequence) {
    BlockBuilder b(layer_name(kind), model, plan, sequence);
    b.block.input = 2 * b.norm_tokens * b.hidden * units::B;
    if (kind.mixer == Mixer::none || !kind.feed_forward) return build_half_layer(std::move(b), kind);
    bool const sandwich = model.norms_per_layer >= 4;
    append_input_norm(b, "input norm", output_for_attention(b, kind));
    append_mixer(b, kind);
    if (sandwich) {
        b.norm("post-attention norm");
        b.group(ActivationGroup::attention_out, [&] { keep_norm_input(b); });
    }
    if (model.parallel_block) {
        if (model.norms_per_layer > 1) {
            keep_norm_input(b);
            append_input_norm(b, "mlp norm", output_for_feed_forward(b, kind));
        }
        append_feed_forward(b, kind);
        b.residual("residual");
    } else {
        b.residual("residual");
        // Where attention's output has a norm of its own, their sum is made again of what comes before it.
        ActivationGroup const sum = sandwich ? ActivationGroup::other : ActivationGroup::attention_out;
        b.group(sum, [&] { keep_norm_input(b); });
        append_input_norm(b, "mlp norm", output_for_feed_forward(b, kind));
        append_feed_forward(b, kind);
        for (int norm = sandwich ? 3 : 2; norm < model.norms_per_layer; ++norm) {
            b.norm(sandwich ? "post-mlp norm" : "expert norm");
            keep_norm_input(b);
        }
        b.residual("residual");
    }
    mark_the_end(b, kind);
    apply_op_policy(b, kind);
    keep_named(b);
    b.hold(layer_parameters(model, kind));
    return std::move(b.block);
}

Block build_layer(ModelSpec const& model, LayerKind kind, ParallelPlan const& plan, SequenceShape const& sequence) {
    return with_wide_values(layer_in_16_bits(model, kind, plan, sequence), plan.precision);
}

}  // namespace sextant
