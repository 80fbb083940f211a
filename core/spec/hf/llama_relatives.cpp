// Dense decoders that differ from Llama in a switch or two.
#include "core/spec/hf/architectures.hpp"

#include <algorithm>

namespace sextant::hf {
namespace {

void bias_everywhere(ModelSpec& model, bool bias) {
    model.attention.qkv_bias = bias;
    model.attention.output_bias = bias;
}

/// The layers without rotary positions slide: the zeros of `no_rope_layers`, else every `no_rope_layer_interval`-th.
void read_smollm3_windows(ConfigObject& in, ModelSpec& model) {
    read_windows(in, model, 0, every_layer);
    auto const rotary = read_rotary_layers(in, model);
    if (in.has("layer_types")) return;
    for (std::size_t layer = 0; layer < model.layers.size(); ++layer)
        if (rotary[layer]) model.layers[layer].sliding = false;
    drop_unused_window(model);
}

bool three_of_four(std::int64_t layer) { return (layer + 1) % 4 != 0; }

}  // namespace

// InternLM has biases on all four projections of the attention, InternLM2 fuses three of them, InternLM3 tells biases
// apart as Llama does: `configuration_internlm*.py` beside the checkpoints.
ModelSpec read_internlm(ConfigObject& in) {
    ModelSpec model = read_common(in, 2048);
    model.attention.head_dim = divided_head_dim(in, model.hidden, model.attention.heads, "num_attention_heads");
    model.attention.value_head_dim = model.attention.head_dim;
    bias_everywhere(model, in.flag("bias", true));
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

ModelSpec read_internlm2(ConfigObject& in) {
    ModelSpec model = read_common(in, 2048);
    read_grouped_attention(in, model, model.attention.heads);
    bias_everywhere(model, in.flag("bias", true));
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

ModelSpec read_internlm3(ConfigObject& in) {
    ModelSpec model = read_common(in, 32768);
    read_grouped_attention(in, model, model.attention.heads);
    model.attention.qkv_bias = in.flag("qkv_bias", false);
    bool const bias = in.flag("bias", false);
    model.attention.output_bias = bias;
    model.mlp.bias = bias;
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

// The smaller model (width 4,096) has rotary positions, the larger one ALiBi; they name their length differently.
ModelSpec read_baichuan(ConfigObject& in) {
    ModelSpec model = read_common(in, 4096);
    if (in.has("model_max_length")) model.max_positions = in.size("model_max_length", Size::positions);
    model.attention.head_dim = divided_head_dim(in, model.hidden, model.attention.heads, "num_attention_heads");
    model.attention.value_head_dim = model.attention.head_dim;
    if (model.hidden != 4096) model.position = PositionKind::alibi;
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

// The first Qwen: biases on queries, keys and values; `intermediate_size` is that of both halves of the gate together.
ModelSpec read_qwen(ConfigObject& in) {
    ModelSpec model = read_common(in, in.size("seq_length", Size::positions, 8192));
    AttentionSpec& attention = model.attention;
    attention.head_dim = in.has("kv_channels")
                             ? in.size("kv_channels", Size::width)
                             : divided_head_dim(in, model.hidden, attention.heads, "num_attention_heads");
    attention.value_head_dim = attention.head_dim;
    attention.qkv_bias = true;
    attention.output_bias = !in.flag("no_bias", true);
    if (model.mlp.intermediate % 2 != 0)
        throw InputError("{}: is odd (the width of two halves)", in.path_to("intermediate_size"));
    model.mlp.intermediate /= 2;
    model.mlp.bias = attention.output_bias;
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

ModelSpec read_chatglm(ConfigObject& in) {
    for (auto const* const key : {"inner_hidden_size", "position_encoding_2d"})
        if (in.has(key))
            throw InputError(
                "{}: the first ChatGLM, another model under this model_type, is not modelled (a gpt_neox config of the "
                "same sizes, with tie_word_embeddings, has the same products)",
                in.path_to(key));
    ModelSpec model;
    model.hidden = in.size("hidden_size", Size::width);
    model.vocab = in.size_of({"padded_vocab_size", "vocab_size"}, Size::vocabulary);
    model.layers.resize(static_cast<std::size_t>(in.size_of({"num_layers", "num_hidden_layers"}, Size::layers)));
    model.max_positions = in.size("seq_length", Size::positions, 2048);
    AttentionSpec& attention = model.attention;
    attention.heads = in.size("num_attention_heads", Size::heads);
    attention.kv_heads =
        in.flag("multi_query_attention", false) ? in.size("multi_query_group_num", Size::heads, 1) : attention.heads;
    check_kv_heads(in, "multi_query_group_num", attention.kv_heads, attention.heads);
    attention.head_dim = in.size("kv_channels", Size::width, 128);
    attention.value_head_dim = attention.head_dim;
    bool const bias = in.flag("add_bias_linear", false);
    attention.qkv_bias = bias || in.flag("add_qkv_bias", false);
    attention.output_bias = bias;
    model.mlp = {.intermediate = in.size("ffn_hidden_size", Size::width, 13696), .gated = true, .bias = bias};
    if (!in.flag("rmsnorm", true)) {
        model.norm = NormKind::layer;
        model.norm_bias = true;
    }
    model.final_norm = in.flag("post_layer_norm", true);
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

// EXAONE 3 and 3.5: Llama with a key of its own for the layers.
ModelSpec read_exaone(ConfigObject& in) {
    ModelSpec model =
        read_common(in, ClassSizes{.positions = 2048,
                                   .layers = in.size_of({"num_layers", "num_hidden_layers"}, Size::layers),
                                   .intermediate = 4 * in.size("hidden_size", Size::width)});
    read_grouped_attention(in, model, model.attention.heads);
    model.tied_embeddings = in.flag("tie_word_embeddings", true);
    return model;
}

ModelSpec read_granite(ConfigObject& in) {
    ModelSpec model = read_common(in, 2048);
    read_grouped_attention(in, model, model.attention.heads);
    read_attention_bias(in, model, false);
    model.mlp.bias = in.flag("mlp_bias", false);
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

// Norms without learned values.
ModelSpec read_olmo(ConfigObject& in) {
    ModelSpec model = read_common(in, 2048);
    read_grouped_attention(in, model, model.attention.heads);
    read_attention_bias(in, model, false);
    model.norm = NormKind::layer;
    model.norm_scale = false;
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

ModelSpec read_smollm3(ConfigObject& in) {
    ModelSpec model = read_common(in, 32768);
    read_grouped_attention(in, model, 4);
    read_attention_bias(in, model, false);
    model.mlp.bias = in.flag("mlp_bias", false);
    if (in.flag("use_sliding_window", false)) read_smollm3_windows(in, model);
    model.tied_embeddings = in.flag("tie_word_embeddings", true);
    return model;
}

ModelSpec read_seed_oss(ConfigObject& in) {
    ModelSpec model = read_common(in, 524288);
    AttentionSpec& attention = model.attention;
    read_grouped_attention(in, model, 8, default_head_dim(in, model, 128));
    attention.qkv_bias = in.flag("attention_bias", true);
    attention.output_bias = in.flag("attention_out_bias", false);
    model.mlp.bias = in.flag("mlp_bias", false);
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

ModelSpec read_glm(ConfigObject& in) {
    ModelSpec model = read_common(in, 131072);
    AttentionSpec& attention = model.attention;
    read_grouped_attention(in, model, 2, 128);
    attention.qkv_bias = in.flag("attention_bias", true);  // the output projection has none
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

ModelSpec read_glm4(ConfigObject& in) {
    ModelSpec model = read_glm(in);
    model.norms_per_layer = 4;
    return model;
}

ModelSpec read_stablelm(ConfigObject& in) {
    ModelSpec model = read_common(in, 4096);
    read_grouped_attention(in, model, 32);
    model.attention.qkv_bias = in.flag("use_qkv_bias", false);
    if (in.flag("qk_layernorm", false))
        throw InputError("{}: norms per head without biases beside norms with biases are not modelled",
                         in.path_to("qk_layernorm"));
    model.norm = NormKind::layer;
    model.norm_bias = true;
    model.parallel_block = in.flag("use_parallel_residual", false);
    if (model.parallel_block) model.norms_per_layer = 1;
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

ModelSpec read_cohere2(ConfigObject& in) {
    ModelSpec model = read_cohere(in);
    read_windows(in, model, 4096, every_layer);
    if (!in.has("layer_types")) widen_every(model, in.size("sliding_window_pattern", Size::layers, 4));
    return model;
}

// Sinks in every layer; the first of each four sees everything.
ModelSpec read_granite_swa(ConfigObject& in) {
    ModelSpec model = read_common(in, 8192);
    read_grouped_attention(in, model, 4);
    read_attention_bias(in, model, false);
    model.mlp.bias = in.flag("mlp_bias", false);
    model.attention.sinks = true;
    read_windows(in, model, 128, last_three_of_four);
    model.tied_embeddings = in.flag("tie_word_embeddings", true);
    return model;
}

ModelSpec read_iquestcoder(ConfigObject& in) {
    ModelSpec model = read_common(in, 131072);
    read_grouped_attention(in, model, 8, default_head_dim(in, model, 128));
    read_attention_bias(in, model, false);
    model.mlp.bias = in.flag("mlp_bias", false);
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

ModelSpec read_ministral3(ConfigObject& in) {
    ModelSpec model = read_common(in, 262144);
    read_grouped_attention(in, model, 8, default_head_dim(in, model, 128));
    read_windows(in, model, 0, every_layer);
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

ModelSpec read_ernie4_5(ConfigObject& in) {
    ModelSpec model = read_common(in, 131072);
    AttentionSpec& attention = model.attention;
    attention.kv_heads = read_kv_heads(in, attention.heads, 2);
    attention.head_dim =
        in.mentions("head_dim") ? read_head_dim(in, model.hidden, attention.heads, "num_attention_heads") : 128;
    attention.value_head_dim = attention.head_dim;
    attention.qkv_bias = in.flag("use_bias", false);
    attention.output_bias = attention.qkv_bias;
    model.mlp.bias = attention.qkv_bias;
    model.tied_embeddings = in.flag("tie_word_embeddings", true);
    return model;
}

// Norms come after each half.
ModelSpec read_exaone4(ConfigObject& in) {
    ModelSpec model = read_common(in, 2048);
    read_grouped_attention(in, model, 32);
    model.attention.query_key_norm = AttentionSpec::QueryKeyNorm::shared_head;
    read_windows(in, model, 4096, every_layer);
    if (model.attention.window > 0 && !in.has("layer_types")) {
        // A number, or a word of as many letters ("LLLG").
        auto const word = in.is_text("sliding_window_pattern") ? in.text("sliding_window_pattern", "") : std::string();
        std::int64_t const period =
            word.empty() ? in.size("sliding_window_pattern", Size::layers, 4) : static_cast<std::int64_t>(word.size());
        widen_every(model, period);
    }
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

// The activation (xIELU) has two learned values a layer, which are not counted.
ModelSpec read_apertus(ConfigObject& in) {
    ModelSpec model = read_common(in, 65536);
    read_grouped_attention(in, model, model.attention.heads);
    read_attention_bias(in, model, false);
    model.attention.query_key_norm = AttentionSpec::QueryKeyNorm::shared_head;
    model.mlp.gated = false;
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

// Squared ReLU without a gate.
ModelSpec read_arcee(ConfigObject& in) {
    ModelSpec model = read_common(in, 4096);
    read_grouped_attention(in, model, model.attention.heads);
    read_attention_bias(in, model, false);
    model.mlp.gated = false;
    model.mlp.bias = in.flag("mlp_bias", false);
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

ModelSpec read_jais2(ConfigObject& in) {
    ModelSpec model = read_common(in, 8192);
    read_grouped_attention(in, model, model.attention.heads);
    read_attention_bias(in, model, true);
    model.mlp.gated = false;
    model.mlp.bias = in.flag("mlp_bias", true);
    model.norm = NormKind::layer;
    model.norm_bias = true;
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

ModelSpec read_helium(ConfigObject& in) {
    ModelSpec model = read_common(in, 4096);
    AttentionSpec& attention = model.attention;
    read_grouped_attention(in, model, 20, 128);
    if (attention.heads * attention.head_dim != model.hidden)
        throw InputError("{}: {} heads of {} are not the width of {} (the class has no projection between them)",
                         in.path_to("head_dim"), attention.heads, attention.head_dim, model.hidden);
    attention.qkv_bias = in.flag("attention_bias", false);  // the output projection has none
    model.mlp.bias = in.flag("mlp_bias", false);
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

ModelSpec read_cwm(ConfigObject& in) {
    ModelSpec model = read_common(in, 131072);
    read_grouped_attention(in, model, 8, default_head_dim(in, model, 128));
    model.mlp.bias = in.flag("mlp_bias", false);
    read_windows(in, model, 8192, [](std::int64_t layer) { return layer % 4 != 0; });
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

ModelSpec read_ministral(ConfigObject& in) {
    ModelSpec model = read_common(in, 131072);
    read_grouped_attention(in, model, 8);
    read_windows(in, model, 4096, every_layer);
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

ModelSpec read_olmo3(ConfigObject& in) {
    ModelSpec model = read_olmo2(in);
    read_windows(in, model, 4096, three_of_four);
    return model;
}

ModelSpec read_hunyuan_v1_dense(ConfigObject& in) {
    ModelSpec model = read_common(in, 2048);
    read_grouped_attention(in, model, model.attention.heads);
    read_attention_bias(in, model, false);
    model.attention.query_key_norm = AttentionSpec::QueryKeyNorm::shared_head;
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

}  // namespace sextant::hf
