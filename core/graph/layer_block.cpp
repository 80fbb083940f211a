#include "core/graph/shapes.hpp"

#include <utility>

namespace sextant {
namespace {

std::string layer_name(LayerKind kind) {
    std::string name = kind.moe ? "moe layer" : "layer";
    if (kind.sliding) name += " (sliding)";
    return name;
}

void append_feed_forward(BlockBuilder& b, LayerKind kind) {
    if (kind.moe)
        append_moe(b, *b.model.moe);
    else
        append_mlp(b, b.model.mlp.intermediate);
}

/// Marks what follows the last tensor that the backward pass needs: the last product of a dense feed-forward, what is
/// sent of its output and what that is added to. Experts' outputs are needed for the gradient of their weights, and so
/// is what a norm, a dropout mask or an adapter beside the product is made of.
void mark_the_end(BlockBuilder& b, LayerKind kind) {
    if (kind.moe || b.model.norms_per_layer == 4 || b.plan.dropout == Switch::on || b.plan.adapters.on()) return;
    std::vector<Op>& ops = b.block.ops;
    for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
        if (op->name != quantised_input) op->rerun = Rerun::to_the_end;
        if (op->name == last_product) return;
    }
}

enum class NormOutput { kept, dropped };
enum class NormInput { of_layer, own };  ///< the layer's input is kept with the layer

/// Norm before a half of the layer, with the two tensors it leaves: its input and its output (the input of the linear
/// layers).
/// `kept`: whether the backward pass needs its output.
void append_input_norm(BlockBuilder& b, std::string_view name, NormInput input, NormOutput kept) {
    b.norm(name);
    if (input == NormInput::own) b.keep("norm input", "2 T h [/t with SP]", 2 * b.norm_tokens * b.hidden);
    if (kept == NormOutput::kept) b.keep("linear input", "2 T h [/t with SP]", 2 * b.norm_tokens * b.hidden);
}

/// A dense feed-forward or shared experts may have adapters; routed experts and the router have none.
NormOutput output_for_feed_forward(BlockBuilder const& b, LayerKind kind) {
    bool const dense = !kind.moe || b.model.moe->shared_intermediate > 0;
    return (dense ? b.needs_input(mlp_readers) : b.needs_input({})) ? NormOutput::kept : NormOutput::dropped;
}

NormOutput output_for_attention(BlockBuilder const& b, LayerKind kind) {
    bool const read_by_both = b.model.parallel_block && b.model.norms_per_layer == 1;
    if (read_by_both && output_for_feed_forward(b, kind) == NormOutput::kept) return NormOutput::kept;
    return b.needs_input(attention_readers) ? NormOutput::kept : NormOutput::dropped;
}

}  // namespace

Block build_layer(ModelSpec const& model, LayerKind kind, ParallelPlan const& plan, std::int64_t sequence) {
    BlockBuilder b(layer_name(kind), model, plan, sequence);
    b.block.input = 2 * b.norm_tokens * b.hidden * units::B;
    bool const sandwich = model.norms_per_layer == 4;
    append_input_norm(b, "input norm", NormInput::of_layer, output_for_attention(b, kind));
    append_attention(b, kind);
    if (sandwich) {
        b.norm("post-attention norm");
        b.keep("norm input", "2 T h [/t with SP]", 2 * b.norm_tokens * b.hidden);
    }
    if (model.parallel_block) {
        if (model.norms_per_layer > 1)
            append_input_norm(b, "mlp norm", NormInput::own, output_for_feed_forward(b, kind));
        append_feed_forward(b, kind);
        b.residual("residual");
    } else {
        b.residual("residual");
        append_input_norm(b, "mlp norm", NormInput::own, output_for_feed_forward(b, kind));
        append_feed_forward(b, kind);
        if (sandwich) {
            b.norm("post-mlp norm");
            b.keep("norm input", "2 T h [/t with SP]", 2 * b.norm_tokens * b.hidden);
        }
        b.residual("residual");
    }
    mark_the_end(b, kind);
    b.hold(layer_parameters(model, kind));
    return std::move(b.block);
}

}  // namespace sextant
