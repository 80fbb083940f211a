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
    read_logit_cap(in, model, true);
    read_windows(in, model, 4096, even_layers);
    return model;
}

ModelSpec read_vaultgemma(ConfigObject& in) {
    ModelSpec model = read_common(in, 8192);
    read_gemma_attention(in, model, 4);
    read_logit_cap(in, model, true);
    read_windows(in, model, 4096, even_layers);
    return model;
}

ModelSpec read_gemma3_text(ConfigObject& in) {
    ModelSpec model = read_common(in, ClassSizes{.positions = 131072, .vocab = 262208, .heads = 8});
    model.norms_per_layer = 4;
    read_gemma_attention(in, model, 4);
    read_logit_cap(in, model, false);
    model.attention.query_key_norm = AttentionSpec::QueryKeyNorm::shared_head;
    // Five of six layers slide; older configs name the period.
    read_windows(in, model, 4096, every_layer);
    if (in.has("layer_types")) return model;
    widen_every(model, in.size("sliding_window_pattern", Size::layers, 6));
    return model;
}

// Layers that see everything have heads of another size, and may have other key/value heads and no projection of
// values.
ModelSpec read_gemma4_text(ConfigObject& in) {
    ModelSpec model = read_common(
        in, ClassSizes{
                .positions = 131072, .hidden = 2304, .vocab = 262144, .layers = 30, .heads = 8, .intermediate = 9216});
    model.norms_per_layer = 4;
    read_gemma_attention(in, model, 4);
    read_logit_cap(in, model, false);
    model.attention.query_key_norm = AttentionSpec::QueryKeyNorm::shared_head;
    if (in.count("hidden_size_per_layer_input", 256) > 0)
        throw InputError("{}: embeddings of each layer's own (Gemma 4 E2B, E4B) are not modelled",
                         in.path_to("hidden_size_per_layer_input"));
    if (in.count("num_kv_shared_layers", 0) > 0)
        throw InputError("{}: layers that share keys and values are not modelled", in.path_to("num_kv_shared_layers"));
    read_windows(in, model, 512, every_layer);
    if (!in.has("layer_types")) widen_every(model, 6);
    model.layers.back().sliding = false;
    AttentionSpec const sliding = model.attention;
    AttentionSpec& full = model.attention;
    full.keys_are_values = in.flag("attention_k_eq_v", false);
    full.head_dim = in.size("global_head_dim", Size::width, 512);
    if (full.keys_are_values && in.has("num_global_key_value_heads"))
        full.kv_heads = in.size("num_global_key_value_heads", Size::heads);
    // What transformers writes instead: a table of the layers that are not as the others, the last one among them.
    if (auto layers = in.object("per_layer_config"))
        if (auto last = layers->object(std::to_string(model.layer_count() - 1))) {
            full.head_dim = last->size("head_dim", Size::width, full.head_dim);
            full.kv_heads = last->size("num_key_value_heads", Size::heads, full.kv_heads);
        }
    full.value_head_dim = full.head_dim;
    check_kv_heads(in, "num_global_key_value_heads", full.kv_heads, full.heads);
    model.window_attention = sliding;
    if (in.flag("enable_moe_block", false)) {
        std::int64_t const experts = in.size("num_experts", Size::experts);
        model.moe = MoeSpec{.experts = experts,
                            .top_k = read_top_k(in, "top_k_experts", experts, 1),
                            .intermediate = in.size("moe_intermediate_size", Size::width),
                            .shared_intermediate = model.mlp.intermediate,
                            .correction_bias = true};
        place_experts_everywhere(model);
        model.norms_per_layer = 8;
    }
    return model;
}

}  // namespace sextant::hf
