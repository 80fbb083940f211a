#include "core/spec/hf/architectures.hpp"

#include <algorithm>

namespace sextant::hf {
namespace {

/// The class's own choice of sliding layers changed between transformers 4 (the last ones) and 5 (every other of the
/// first ones).
void read_qwen2_moe_windows(ConfigObject& in, ModelSpec& model) {
    if (!in.flag("use_sliding_window", false)) return;
    if (!in.has("layer_types"))
        throw InputError(
            "{}: is true, and which layers slide depends on the version of transformers (name them in layer_types)",
            in.path_to("use_sliding_window"));
    read_windows(in, model, 4096, every_layer);
}

}  // namespace

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
    read_qwen2_moe_windows(in, model);
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

ModelSpec read_qwen3_moe(ConfigObject& in) { return read_qwen3_moe(in, {}); }

ModelSpec read_qwen3_moe(ConfigObject& in, Qwen3MoeDefaults const& defaults) {
    ModelSpec model = read_common(in, defaults.positions);
    read_grouped_attention(in, model, defaults.kv_heads);
    read_attention_bias(in, model, false);
    model.attention.query_key_norm = AttentionSpec::QueryKeyNorm::shared_head;
    if (in.flag("use_sliding_window", false)) read_windows(in, model, 4096, every_layer);
    std::int64_t const experts = in.size("num_experts", Size::experts, defaults.experts);
    model.moe = MoeSpec{.experts = experts,
                        .top_k = read_top_k(in, "num_experts_per_tok", experts, defaults.top_k),
                        .intermediate = in.size("moe_intermediate_size", Size::width, defaults.expert_width)};
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
