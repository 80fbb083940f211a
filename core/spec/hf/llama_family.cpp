#include "core/spec/hf/architectures.hpp"

namespace sextant::hf {
namespace {

/// `use_sliding_window` (off by default) switches the window on for the layers from `max_window_layers` on.
void read_qwen_window(ConfigObject& in, ModelSpec& model) {
    if (in.flag("use_sliding_window", false)) read_layer_windows(in, model, 4096, 28);
}

}  // namespace

ModelSpec read_llama(ConfigObject& in) {
    ModelSpec model = read_common(in, 2048);
    read_grouped_attention(in, model, model.attention.heads);
    read_attention_bias(in, model, false);
    model.mlp.bias = in.flag("mlp_bias", false);
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

ModelSpec read_mistral(ConfigObject& in) {
    ModelSpec model = read_common(in, 131072);
    read_grouped_attention(in, model, 8);
    read_windows(in, model, 4096, every_layer);
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

ModelSpec read_phi3(ConfigObject& in) {
    ModelSpec model = read_common(in, 4096);
    read_grouped_attention(in, model, model.attention.heads);
    read_windows(in, model, 0, every_layer);
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

ModelSpec read_qwen2(ConfigObject& in) {
    ModelSpec model = read_common(in, 32768);
    read_grouped_attention(in, model, 32);
    model.attention.qkv_bias = true;
    read_qwen_window(in, model);
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

ModelSpec read_qwen3(ConfigObject& in) {
    ModelSpec model = read_common(in, 32768);
    AttentionSpec& attention = model.attention;
    attention.kv_heads = read_kv_heads(in, attention.heads, 32);
    attention.head_dim =
        in.mentions("head_dim") ? read_head_dim(in, model.hidden, attention.heads, "num_attention_heads") : 128;
    attention.value_head_dim = attention.head_dim;
    read_attention_bias(in, model, false);
    attention.query_key_norm = AttentionSpec::QueryKeyNorm::shared_head;
    read_qwen_window(in, model);
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

ModelSpec read_olmo2(ConfigObject& in) {
    ModelSpec model = read_common(in, 2048);
    read_grouped_attention(in, model, model.attention.heads);
    read_attention_bias(in, model, false);
    model.attention.query_key_norm = AttentionSpec::QueryKeyNorm::all_heads;
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

}  // namespace sextant::hf
