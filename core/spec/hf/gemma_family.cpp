#include "core/spec/hf/architectures.hpp"

#include <algorithm>

namespace sextant::hf {
namespace {

/// Attention sizes; the class has a `head_dim` of 256 of its own, whatever hidden / heads is.
void read_gemma_attention(ConfigObject& in, ModelSpec& model, std::int64_t class_default_kv_heads) {
    read_grouped_attention(in, model, class_default_kv_heads, 256);
    read_attention_bias(in, model, false);
    model.tied_embeddings = in.flag("tie_word_embeddings", true);
}

}  // namespace

ModelSpec read_gemma(ConfigObject& in) {
    ModelSpec model = read_common(in, 8192);
    read_gemma_attention(in, model, 16);
    return model;
}

ModelSpec read_gemma2(ConfigObject& in) {
    ModelSpec model = read_common(in, 8192);
    read_gemma_attention(in, model, 4);
    model.norms_per_layer = 4;
    read_windows(in, model, 4096, even_layers);
    return model;
}

ModelSpec read_vaultgemma(ConfigObject& in) {
    ModelSpec model = read_common(in, 8192);
    read_gemma_attention(in, model, 4);
    read_windows(in, model, 4096, even_layers);
    return model;
}

ModelSpec read_gemma3_text(ConfigObject& in) {
    // Published multimodal configs leave out every size that equals the class default, so read_common would refuse
    // them.
    ModelSpec model;
    model.hidden = in.size("hidden_size", Size::width);
    model.vocab = in.size("vocab_size", Size::vocabulary, 262208);
    model.max_positions = in.size("max_position_embeddings", Size::positions, 131072);
    model.layers.resize(static_cast<std::size_t>(in.size("num_hidden_layers", Size::layers)));
    model.attention.heads = in.size("num_attention_heads", Size::heads, 8);
    model.mlp = {.intermediate = in.size("intermediate_size", Size::width), .gated = true};
    model.norms_per_layer = 4;
    read_gemma_attention(in, model, 4);
    model.attention.query_key_norm = AttentionSpec::QueryKeyNorm::shared_head;
    // Five of six layers slide; older configs name the period.
    read_windows(in, model, 4096, every_layer);
    if (in.has("layer_types")) return model;
    widen_every(model, in.size("sliding_window_pattern", Size::layers, 6));
    return model;
}

}  // namespace sextant::hf
