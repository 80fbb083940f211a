// Decoders of GPT's line with rotary positions, parallel halves or shared keys and values.
#include "core/spec/hf/architectures.hpp"

namespace sextant::hf {

namespace {

/// One layer norm before attention and feed-forward side by side, and an output matrix with a bias.
void read_parallel_block(ConfigObject& in, ModelSpec& model) {
    model.norm = NormKind::layer;
    model.norm_bias = true;
    model.norms_per_layer = 1;
    model.parallel_block = true;
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    model.head_bias = true;
}

}  // namespace

// No biases in the attention, biases in the feed-forward half and on the output matrix; one norm feeds both halves.
ModelSpec read_gptj(ConfigObject& in) {
    ModelSpec model;
    model.hidden = in.size_of({"n_embd", "hidden_size"}, Size::width);
    model.vocab = in.size("vocab_size", Size::vocabulary, 50400);
    model.layers.resize(static_cast<std::size_t>(in.size_of({"n_layer", "num_hidden_layers"}, Size::layers)));
    model.max_positions = in.size("n_positions", Size::positions, 2048);
    AttentionSpec& attention = model.attention;
    attention.heads = in.size_of({"n_head", "num_attention_heads"}, Size::heads);
    attention.kv_heads = attention.heads;
    attention.head_dim = divided_head_dim(in, model.hidden, attention.heads, "n_head");
    attention.value_head_dim = attention.head_dim;
    model.mlp = {.intermediate = in.size("n_inner", Size::width, 4 * model.hidden), .gated = false, .bias = true};
    read_parallel_block(in, model);
    return model;
}

ModelSpec read_gpt_bigcode(ConfigObject& in) {
    ModelSpec model = read_gpt2(in);
    if (in.flag("multi_query", true)) model.attention.kv_heads = 1;
    return model;
}

ModelSpec read_phi(ConfigObject& in) {
    ModelSpec model = read_common(in, 2048);
    read_grouped_attention(in, model, model.attention.heads);
    model.attention.qkv_bias = true;
    model.attention.output_bias = true;
    if (in.flag("qk_layernorm", false)) model.attention.query_key_norm = AttentionSpec::QueryKeyNorm::shared_head;
    model.mlp.gated = false;
    model.mlp.bias = true;
    read_parallel_block(in, model);
    return model;
}

}  // namespace sextant::hf
