#include "core/spec/hf/architectures.hpp"

#include <algorithm>

namespace sextant::hf {

void place_experts(ConfigObject& in, ModelSpec& model) {
    std::int64_t const step = in.size("decoder_sparse_step", Size::layers, 1);
    auto const dense = in.integers("mlp_only_layers");
    for (std::int64_t layer = 0; layer < model.layer_count(); ++layer)
        model.layers[static_cast<std::size_t>(layer)].moe =
            (layer + 1) % step == 0 && std::find(dense.begin(), dense.end(), layer) == dense.end();
    if (std::none_of(model.layers.begin(), model.layers.end(), [](LayerKind kind) { return kind.moe; }))
        model.moe.reset();
}

ModelSpec read_mixtral(ConfigObject& in) {
    ModelSpec model = read_common(in, 131072);
    read_grouped_attention(in, model, 8);
    read_windows(in, model, 0, every_layer);
    read_experts_everywhere(in, model, "num_local_experts", 8, 2);
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

ModelSpec read_qwen2_moe(ConfigObject& in) {
    ModelSpec model = read_common(in, 32768);
    read_grouped_attention(in, model, 16);
    model.attention.qkv_bias = in.flag("qkv_bias", true);
    std::int64_t const experts = in.size("num_experts", Size::experts, 60);
    model.moe = MoeSpec{.experts = experts,
                        .top_k = read_top_k(in, "num_experts_per_tok", experts, 4),
                        .intermediate = in.size("moe_intermediate_size", Size::width, 1408),
                        .shared_intermediate = in.size("shared_expert_intermediate_size", Size::width, 5632),
                        .shared_gate = true};
    place_experts(in, model);
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

ModelSpec read_qwen3_moe(ConfigObject& in) {
    ModelSpec model = read_common(in, 32768);
    read_grouped_attention(in, model, 4);
    read_attention_bias(in, model, false);
    model.attention.query_key_norm = AttentionSpec::QueryKeyNorm::shared_head;
    std::int64_t const experts = in.size("num_experts", Size::experts, 128);
    model.moe = MoeSpec{.experts = experts,
                        .top_k = read_top_k(in, "num_experts_per_tok", experts, 8),
                        .intermediate = in.size("moe_intermediate_size", Size::width, 768)};
    place_experts(in, model);
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

ModelSpec read_gpt_oss(ConfigObject& in) {
    ModelSpec model = read_common(in, 131072);
    AttentionSpec& attention = model.attention;
    read_grouped_attention(in, model, 8, 64);
    read_attention_bias(in, model, true);
    attention.sinks = true;
    read_windows(in, model, 128, even_layers);
    std::int64_t const experts = in.size("num_local_experts", Size::experts, 128);
    model.moe = MoeSpec{.experts = experts,
                        .top_k = read_top_k(in, "num_experts_per_tok", experts, 4),
                        .intermediate = model.mlp.intermediate,
                        .router_bias = true,
                        .expert_bias = true};
    place_experts_everywhere(model);
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

}  // namespace sextant::hf
