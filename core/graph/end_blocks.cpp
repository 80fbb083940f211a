#include "core/graph/shapes.hpp"

#include <utility>

namespace sextant {
namespace {

/// To the width of a narrower table, where the model has one, [T, h] -> [T, w].
void append_head_projection(BlockBuilder& b) {
    if (b.model.embedding_width == 0) return;
    Precision const precision = is_narrow(b.plan.precision) ? Precision::bf16 : b.plan.precision;
    b.gemm_on(b.tokens, "head projection", b.model.embedding_width, b.model.hidden, precision, Storage::plain);
    if (b.needs_input({}))
        b.keep("projection output", "2 T w", 2 * static_cast<double>(b.tokens * b.model.embedding_width));
}

/// Output matrix and cross entropy over the padded vocabulary, [T, h] -> [T, V / t] -> loss.
///
/// The logits themselves are not in the tensor list: how many bytes a framework needs per logit is its own figure
/// (`FrameworkMemory::logits_bytes`), and the tanh of a cap is there as long as they are.
void append_vocabulary_product(BlockBuilder& b) {
    std::int64_t const width = padded_vocabulary(b.model.vocab, b.plan) / b.plan.tp;
    double const logits = static_cast<double>(b.tokens) * static_cast<double>(width);
    // Frameworks keep the head in 16 bit when the rest of the step is narrower.
    Precision const precision = is_narrow(b.plan.precision) ? Precision::bf16 : b.plan.precision;
    b.enter_tensor_region("head in", {}, precision);
    b.gemm_on(b.tokens, "head", width, table_width(b.model), precision, Storage::plain);
    // Divided, tanh, multiplied; backward reads the tanh and a gradient. Source: Gemma2ForCausalLM of transformers.
    if (b.model.capped_logits) b.streaming("cap on logits", 4 * logits, 1.5, 3);
    // Pass by pass: bf16 logits to fp32 (2 + 4), maximum (4), its difference (4 + 4), exponentials (4 + 4), their sum
    // (4) and the division by it (4 + 4); backward the product with the loss's gradient (4 + 4) and the way to bf16 (4
    // + 2). Source: Megatron-Core, tensor_parallel/cross_entropy.py. PyTorch's own takes as many: 22 and 26.
    bool const fused = b.plan.fused_cross_entropy == Switch::on;
    b.streaming("cross entropy", (fused ? 8.0 : 38.0) * logits, fused ? 0.75 : 14.0 / 38.0, fused ? 1 : 7);
    std::get<Streaming>(b.block.ops.back().what).counted = !fused;
    if (b.plan.loss_chunks > 1 && b.weight_gradients() == Gradients::both) {
        // For each chunk but the first its 16-bit gradient of the matrix and the fp32 sum are read, the sum is written.
        auto const more = static_cast<double>(b.plan.loss_chunks - 1);
        b.streaming("sum of chunks", 10 * more * static_cast<double>(width * table_width(b.model)), 0,
                    b.plan.loss_chunks - 1);
    }
    if (b.plan.tp > 1)
        b.collective("loss", CollectiveKind::all_reduce, GroupKind::tensor, 8 * static_cast<double>(b.tokens),
                     Passes::forward);
}

/// What BERT's masked language model has before the output matrix, on all tokens: a layer [h, h], its activation, a
/// norm. Every tensor-parallel rank has all of it. Source: transformers, `BertPredictionHeadTransform`.
void append_transform(BlockBuilder& b) {
    bool const split = b.plan.sequence_parallel == Switch::on;
    Precision const precision = is_narrow(b.plan.precision) ? Precision::bf16 : b.plan.precision;
    b.gemm_on(split ? ceil_div(b.tokens, b.plan.tp) : b.tokens, "head transform", b.model.hidden, b.model.hidden,
              precision, Storage::plain);
    double const elements = b.norm_tokens * b.hidden;
    b.streaming("head activation", 4 * elements, 1.7);
    b.norm("head norm");
    b.keep("head transform", "6 T h [/t with SP]", 6 * elements);  // in and out of the activation, and of the norm
}

/// The product with the matrix of a head of labels, [T, h] -> [T, n], on the tokens that a rank has of the sequence;
/// with sequence parallelism the ranks gather the labels. Adapters leave this matrix trained (`modules_to_save` of
/// PEFT's sequence and token classification). Source: the `score` of transformers' classes for classification, which
/// goes over all tokens; verl, `LinearForLastLayer`.
void append_labels(BlockBuilder& b) {
    bool const split = b.plan.sequence_parallel == Switch::on;
    std::int64_t const rows = split ? ceil_div(b.tokens, b.plan.tp) : b.tokens;
    Precision const precision = is_narrow(b.plan.precision) ? Precision::bf16 : b.plan.precision;
    b.gemm_on(rows, "head", b.model.labels, table_width(b.model), precision, Storage::plain);
    std::get<Gemm>(b.block.ops.back().what).gradients = Gradients::both;
    auto const labels = static_cast<double>(b.model.labels);
    if (split)
        b.collective("labels", CollectiveKind::all_gather, GroupKind::tensor,
                     4 * static_cast<double>(b.tokens) * labels, Passes::forward);
    // To fp32, and the loss of it.
    b.streaming("loss", 14 * b.norm_tokens * labels, 1.0, 3);
    b.keep("labels", "4 T n [/t with SP]", 4 * b.norm_tokens * labels);
}

void hold_head(BlockBuilder& b) {
    std::vector<Parameter> parameters = head_parameters(b.model);
    if (b.model.head == OutputHead::labels && b.plan.adapters.on()) {
        b.block.parameters += local_parameters({parameters.back()}, b.plan);
        parameters.pop_back();
    }
    b.hold(parameters);
}

/// Tokens looked up in the table, whose rows the tensor-parallel ranks share.
void append_lookup(BlockBuilder& b) {
    auto const width = static_cast<double>(table_width(b.model));
    b.streaming("lookup", 4 * static_cast<double>(b.tokens) * width, 1.5);
    // The gradient of the whole table is zeroed, whatever rows the tokens add to, in the working precision. Source:
    // PyTorch, embedding_dense_backward; Megatron-Core's VocabParallelEmbedding calls it.
    double const weights = static_cast<double>(padded_vocabulary(b.model.vocab, b.plan) / b.plan.tp) * width;
    b.block.ops.push_back(
        {.name = "table gradient",
         .what = Streaming{.forward = {}, .backward = 2 * weights * units::B, .counted = true, .weights = weights},
         .passes = Passes::backward});
    b.leave_tensor_region("embedding out", Precision::bf16);
}

/// The tokens that a prediction module predicts from are looked up again, outside of what runs again. Source:
/// Megatron-Core, multi_token_prediction.py (`_get_embeddings`, before `_checkpointed_forward`).
void append_next_tokens(BlockBuilder& b, SequenceShape const& sequence) {
    BlockBuilder lookup("lookup", b.model, b.plan, sequence);
    lookup.outside_layers([&] { append_lookup(lookup); });
    if (b.plan.adapters.on()) lookup.end_gradient();
    b.block.ops.insert(b.block.ops.end(), lookup.block.ops.begin(), lookup.block.ops.end());
}

/// Hidden states and embeddings side by side, [T, 2 h] -> [T, h / t]. The ranks gather the result along the width, and
/// with sequence parallelism each keeps its tokens of it, whose gradients are gathered. Source: Megatron-Core,
/// multi_token_prediction.py (`_concat_embeddings`).
void append_prediction_input(BlockBuilder& b) {
    constexpr std::string_view name = "mtp projection";
    b.norm("mtp hidden norm");
    b.norm("mtp embedding norm");
    b.enter_tensor_region(name, {}, b.plan.precision, 2 * b.model.hidden);
    b.gemm(name, Split::output, b.model.hidden / b.plan.tp, 2 * b.model.hidden);
    if (b.plan.tp == 1) return;
    double const bytes = 2 * static_cast<double>(b.tokens) * b.hidden;
    bool const split = b.plan.sequence_parallel == Switch::on;
    b.collective(name, CollectiveKind::all_gather, GroupKind::tensor, bytes, split ? Passes::both : Passes::forward);
}

}  // namespace

Block build_embedding(ModelSpec const& model, ParallelPlan const& plan, SequenceShape const& sequence) {
    BlockBuilder b("embedding", model, plan, sequence);
    append_lookup(b);
    if (model.embedding_width > 0) {
        Precision const precision = is_narrow(plan.precision) ? Precision::bf16 : plan.precision;
        b.gemm_on(b.tokens, "embedding projection", model.hidden, model.embedding_width, precision, Storage::plain);
        if (b.needs_input({}))
            b.keep("projection input", "2 T w", 2 * static_cast<double>(b.tokens * model.embedding_width));
    }
    if (model.position == PositionKind::learned) b.streaming("positions", 6 * b.norm_tokens * b.hidden, 1.0);
    if (model.segment_rows > 0) b.streaming("segments", 6 * b.norm_tokens * b.hidden, 1.0);
    if (model.embedding_norm) {
        b.norm("embedding norm");
        b.keep("norm input", "2 T h [/t with SP]", 2 * b.norm_tokens * b.hidden);
    }
    if (plan.dropout == Switch::on) {
        b.streaming("dropout", 5 * b.norm_tokens * b.hidden, 1.0);
        b.keep("dropout mask", "T h [/t with SP]", b.norm_tokens * b.hidden);
    }
    b.hold(embedding_parameters(model));
    if (plan.adapters.on()) b.end_gradient();
    return with_wide_values(std::move(b.block), plan.precision);
}

Block build_head(ModelSpec const& model, ParallelPlan const& plan, SequenceShape const& sequence) {
    BlockBuilder b("head", model, plan, sequence);
    b.block.input = 2 * b.norm_tokens * b.hidden * units::B;
    if (model.final_norm) {
        b.norm("final norm");
        bool const reads = model.head != OutputHead::none && (b.needs_input({}) || model.head == OutputHead::labels);
        if (reads) b.keep("linear input", "2 T h [/t with SP]", 2 * b.norm_tokens * b.hidden);
    }
    append_head_projection(b);
    if (model.head_transform) append_transform(b);
    if (model.head == OutputHead::vocabulary) append_vocabulary_product(b);
    if (model.head == OutputHead::labels) append_labels(b);
    // Hidden states are read for an embedding of the sequence, and their gradients written.
    if (model.head == OutputHead::none) b.streaming("pooling", 2 * b.norm_tokens * b.hidden, 1.0);
    hold_head(b);
    return with_wide_values(std::move(b.block), plan.precision);
}

Block build_mtp(ModelSpec const& model, ParallelPlan const& plan, SequenceShape const& sequence) {
    BlockBuilder b("mtp", model, plan, sequence);
    for (std::int64_t module = 0; module < model.mtp_modules; ++module) {
        double const elements = b.norm_tokens * b.hidden;
        b.block.input += 4 * elements * units::B;  // hidden states and embeddings
        append_next_tokens(b, sequence);
        append_prediction_input(b);
        b.keep("mtp norms and projection", "6 T h [/t with SP]", 6 * elements);
        Block const layer = layer_in_16_bits(model, model.layers.back(), plan, sequence);
        b.block.ops.insert(b.block.ops.end(), layer.ops.begin(), layer.ops.end());
        b.block.saved.insert(b.block.saved.end(), layer.saved.begin(), layer.saved.end());
        b.outside_layers([&] {
            b.norm("mtp final norm");
            b.keep("norm and linear input", "4 T h [/t with SP]", 4 * elements);
            append_head_projection(b);
            append_vocabulary_product(b);
        });
        b.hold(mtp_parameters(model));
    }
    return with_wide_values(std::move(b.block), plan.precision);
}

}  // namespace sextant
