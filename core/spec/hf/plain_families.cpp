#include "core/spec/hf/architectures.hpp"

namespace sextant::hf {

ModelSpec read_nemotron(ConfigObject& in) {
    ModelSpec model = read_common(in, 4096);
    AttentionSpec& attention = model.attention;
    attention.kv_heads = read_kv_heads(in, attention.heads, attention.heads);
    attention.head_dim = read_head_dim(in, model.hidden, attention.heads, "num_attention_heads");
    attention.value_head_dim = attention.head_dim;
    read_attention_bias(in, model, false);
    model.mlp.gated = false;  // squared ReLU
    model.mlp.bias = in.flag("mlp_bias", false);
    model.norm = NormKind::layer;
    model.norm_bias = true;
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

ModelSpec read_cohere(ConfigObject& in) {
    ModelSpec model = read_common(in, 8192);
    AttentionSpec& attention = model.attention;
    attention.kv_heads = read_kv_heads(in, attention.heads, attention.heads);
    attention.head_dim = read_head_dim(in, model.hidden, attention.heads, "num_attention_heads");
    attention.value_head_dim = attention.head_dim;
    read_attention_bias(in, model, false);
    if (in.flag("use_qk_norm", false)) attention.query_key_norm = AttentionSpec::QueryKeyNorm::per_head;
    model.norm = NormKind::layer;  // LayerNorm with a scale and no bias
    model.norms_per_layer = 1;
    model.parallel_block = true;
    model.tied_embeddings = in.flag("tie_word_embeddings", true);
    return model;
}

ModelSpec read_starcoder2(ConfigObject& in) {
    ModelSpec model = read_common(in, 4096);
    AttentionSpec& attention = model.attention;
    attention.kv_heads = read_kv_heads(in, attention.heads, 2);
    attention.head_dim = read_head_dim(in, model.hidden, attention.heads, "num_attention_heads");
    attention.value_head_dim = attention.head_dim;
    bool const bias = in.flag("use_bias", true);
    attention.qkv_bias = bias;
    attention.output_bias = bias;
    model.mlp.gated = false;
    model.mlp.bias = bias;
    model.norm = NormKind::layer;
    model.norm_bias = true;
    read_windows(in, model, 0, every_layer);
    model.tied_embeddings = in.flag("tie_word_embeddings", true);
    return model;
}

}  // namespace sextant::hf
