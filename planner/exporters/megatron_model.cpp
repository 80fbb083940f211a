#include "planner/exporters/megatron_model.hpp"

#include <algorithm>

namespace sextant {
namespace {

void add_attention(ArgumentLines& lines, ModelSpec const& model) {
    AttentionSpec const& a = model.attention;
    lines.option("--num-attention-heads", a.heads);
    if (a.latent) {
        lines.flag("--multi-latent-attention");
        if (a.latent->query_rank > 0) lines.option("--q-lora-rank", a.latent->query_rank);
        lines.option("--kv-lora-rank", a.latent->kv_rank);
        lines.option("--qk-head-dim", a.latent->nope_head_dim);
        lines.option("--qk-pos-emb-head-dim", a.latent->rope_head_dim);
        lines.option("--v-head-dim", a.value_head_dim);
    } else {
        if (a.kv_heads != a.heads) {
            lines.flag("--group-query-attention");
            lines.option("--num-query-groups", a.kv_heads);
        }
        if (a.head_dim * a.heads != model.hidden) lines.option("--kv-channels", a.head_dim);
    }
    if (a.qkv_bias && !model.mlp.bias) lines.flag("--add-qkv-bias");
    // Of latent attention these are the norms of the latents.
    if (a.latent || a.query_key_norm != AttentionSpec::QueryKeyNorm::none) lines.flag("--qk-layernorm");
    if (a.sinks) lines.option("--softmax-type", "learnable");
    bool const slides = std::any_of(model.layers.begin(), model.layers.end(), [](auto const& l) { return l.sliding; });
    if (!slides) return;
    lines.option("--window-size", fmt::format("{},0", a.window - 1));
    std::string pattern;
    for (LayerKind const& layer : model.layers)
        pattern += fmt::format("{}{}", pattern.empty() ? "[" : ",", layer.sliding ? 1 : 0);
    lines.option("--window-attn-skip-freq", pattern + "]");
}

void add_experts(ArgumentLines& lines, ModelSpec const& model, Precision precision) {
    MoeSpec const& moe = *model.moe;
    lines.option("--num-experts", moe.experts);
    lines.option("--moe-router-topk", moe.top_k);
    if (moe.groups > 1) {
        lines.option("--moe-router-num-groups", moe.groups);
        lines.option("--moe-router-group-topk", moe.chosen_groups);
    }
    lines.option("--moe-ffn-hidden-size", moe.intermediate);
    if (moe.shared_intermediate > 0) lines.option("--moe-shared-expert-intermediate-size", moe.shared_intermediate);
    if (moe.correction_bias) lines.flag("--moe-router-enable-expert-bias");
    if (scores_by_sigmoid(model)) lines.option("--moe-router-score-function", "sigmoid");
    if (softmax_before_choice(model)) lines.flag("--moe-router-pre-softmax");
    if (groups_experts(precision)) lines.flag("--moe-grouped-gemm");
    if (!experts_everywhere(model)) lines.option("--moe-layer-freq", expert_pattern(model));
}

}  // namespace

Activation activation_of(ModelSpec const& model) {
    std::string_view const family = model.architecture;
    auto const is = [&](auto const&... names) { return ((family == names) || ...); };
    if (family.substr(0, 5) == "gemma" || is("vaultgemma")) return Activation::gelu;
    if (is("opt")) return Activation::relu;
    if (is("nemotron", "nemotron_h", "arcee", "jais2")) return Activation::squared_relu;
    if (is("apertus", "gpt_oss")) return Activation::other;
    return model.mlp.gated ? Activation::silu : Activation::gelu;
}

char const* name_of(Activation activation) {
    switch (activation) {
        case Activation::silu: return "SiLU";
        case Activation::gelu: return "GELU";
        case Activation::relu: return "ReLU";
        case Activation::squared_relu: return "squared ReLU";
        case Activation::other: break;
    }
    return "the model's own activation function";
}

// --quick-geglu is another function than GELU.
void add_megatron_activation(ArgumentLines& lines, std::vector<std::string>& missing, ModelSpec const& model) {
    Activation const activation = activation_of(model);
    bool const gated = model.mlp.gated;
    bool const squared = !gated && activation == Activation::squared_relu;
    if (gated) lines.flag("--swiglu");
    if (squared) lines.flag("--squared-relu");
    if (squared || activation == (gated ? Activation::silu : Activation::gelu)) return;
    missing.push_back(
        fmt::format("{}{}", name_of(activation),
                    gated ? " within a gate (the file has SwiGLU, of the same shapes)" : " (the file has GELU)"));
}

bool scores_by_sigmoid(ModelSpec const& model) {
    return model.moe && (model.moe->correction_bias || model.architecture.starts_with("llama4"));
}

bool softmax_before_choice(ModelSpec const& model) {
    return model.moe && model.moe->top_k == 1 && !scores_by_sigmoid(model);
}

bool corrects_softmax(ModelSpec const& model) {
    return model.moe && model.moe->correction_bias && model.architecture == "ernie4_5_moe";
}

std::string expert_pattern(ModelSpec const& model) {
    std::string pattern;
    for (LayerKind const& layer : model.layers)
        pattern += fmt::format("{}{}", pattern.empty() ? "[" : ",", layer.moe ? 1 : 0);
    return pattern + "]";
}

bool experts_everywhere(ModelSpec const& model) {
    return std::all_of(model.layers.begin(), model.layers.end(), [](LayerKind kind) { return kind.moe; });
}

std::vector<std::string> without_argument(ModelSpec const& model) {
    using QueryKeyNorm = AttentionSpec::QueryKeyNorm;
    AttentionSpec const& a = model.attention;
    std::vector<std::string> missing;
    auto const note = [&](bool holds, char const* what) {
        if (holds) missing.emplace_back(what);
    };
    note(model.parallel_block, "attention and feed-forward in parallel");
    note(model.norms_per_layer > 3, "norms after attention and feed-forward");
    note(model.norms_per_layer == 3, "a norm of the experts' own");
    note(model.norm == NormKind::layer && !model.norm_bias, "a LayerNorm without biases");
    note(!model.norm_scale, "norms without learned values");
    note(!model.final_norm, "leaving out the norm after the last layer");
    note(model.position == PositionKind::alibi, "ALiBi");
    note(model.embedding_width != 0, "an embedding of another width than the model");
    note(model.embedding_norm, "a norm after the embedding");
    note(model.head_bias, "a bias on the output matrix");
    note(model.capped_logits, "caps on logits and attention scores");
    note(a.query_key_norm == QueryKeyNorm::all_heads,
         "one query/key norm over all heads (the argument gives one per head)");
    note(a.query_key_norm == QueryKeyNorm::per_head, "query/key norms that differ from head to head");
    note(a.output_bias && !model.mlp.bias, "a bias on the attention's output and none on the feed-forward half");
    note(model.mlp.bias && !a.qkv_bias, "biases on the feed-forward half and none on the attention");
    note(!a.latent && a.value_head_dim != a.head_dim, "values of another size than queries and keys");
    note(a.keys_are_values, "keys that serve as values");
    note(a.gated, "a gate on the attention's output");
    note(a.index.has_value(), "sparse attention over keys that an index chooses");
    note(model.window_attention.has_value(), "layers with a window whose heads are others");
    note(model.moe && model.moe->shared_gate, "a gate on the shared expert");
    note(model.moe && (model.moe->router_bias || model.moe->expert_bias), "biases on router and experts");
    return missing;
}

std::int64_t positions_argument(LaunchPlan const& launch) {
    return std::max(launch.model.max_positions, launch.workload.sequence);
}

bool groups_experts(Precision precision) {
    return precision != Precision::fp16 && precision != Precision::fp32 && precision != Precision::tf32;
}

std::vector<std::string> add_megatron_model(ArgumentLines& lines, LaunchPlan const& launch, Precision precision) {
    ModelSpec const& model = launch.model;
    lines.comment("model; rotary base, epsilon and router details are not part of the plan: see its config.json");
    lines.option("--num-layers", model.layer_count());
    lines.option("--hidden-size", model.hidden);
    if (model.mlp.intermediate > 0) lines.option("--ffn-hidden-size", model.mlp.intermediate);
    add_attention(lines, model);
    lines.option("--max-position-embeddings", positions_argument(launch));
    lines.option("--position-embedding-type", model.position == PositionKind::rotary    ? "rope"
                                              : model.position == PositionKind::learned ? "learned_absolute"
                                                                                        : "none");
    lines.option("--normalization", model.norm == NormKind::rms ? "RMSNorm" : "LayerNorm");
    std::vector<std::string> missing = without_argument(model);
    if (corrects_softmax(model)) missing.emplace_back(softmax_correction);
    add_megatron_activation(lines, missing, model);
    if (!model.mlp.bias) lines.flag("--disable-bias-linear");
    if (!model.tied_embeddings) lines.flag("--untie-embeddings-and-output-weights");
    lines.option("--vocab-size", model.vocab);
    if (model.moe) add_experts(lines, model, precision);
    if (model.mtp_modules > 0) lines.option("--mtp-num-layers", model.mtp_modules);
    return missing;
}

std::string megatron_layout(std::vector<std::int64_t> const& chunks, std::int64_t mtp_modules) {
    std::string layout = "E";
    auto const repeat = [&](char kind, std::int64_t count) {
        if (count == 1) layout += kind;
        if (count > 1) layout += fmt::format("{}*{}", kind, count);
    };
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        if (i > 0) layout += '|';
        repeat('t', chunks[i]);
    }
    repeat('m', mtp_modules);
    return layout + "L";
}

}  // namespace sextant
