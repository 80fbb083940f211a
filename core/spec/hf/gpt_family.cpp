#include "core/spec/hf/architectures.hpp"

namespace sextant::hf {
namespace {

/// Multi-head attention with head_dim = hidden / heads, biases everywhere, LayerNorms with bias, an MLP without gate.
ModelSpec gpt_like(ConfigObject& in, std::int64_t hidden, std::int64_t heads, std::string_view heads_key,
                   std::int64_t layers) {
    ModelSpec model;
    model.hidden = hidden;
    model.layers.resize(static_cast<std::size_t>(layers));
    AttentionSpec& attention = model.attention;
    attention.heads = heads;
    attention.kv_heads = heads;
    attention.head_dim = divided_head_dim(in, hidden, heads, heads_key);
    attention.value_head_dim = attention.head_dim;
    attention.qkv_bias = true;
    attention.output_bias = true;
    model.mlp = {.intermediate = 4 * hidden, .gated = false, .bias = true};
    model.norm = NormKind::layer;
    model.norm_bias = true;
    model.vocab = in.size("vocab_size", Size::vocabulary);
    return model;
}

}  // namespace

ModelSpec read_gpt2(ConfigObject& in) {
    std::int64_t const hidden = in.size_of({"n_embd", "hidden_size"}, Size::width);
    std::int64_t const heads = in.size_of({"n_head", "num_attention_heads"}, Size::heads);
    ModelSpec model = gpt_like(in, hidden, heads, "n_head", in.size_of({"n_layer", "num_hidden_layers"}, Size::layers));
    model.mlp.intermediate = in.size("n_inner", Size::width, 4 * hidden);
    model.position = PositionKind::learned;
    model.max_positions = in.has("max_position_embeddings") && !in.has("n_positions")
                              ? in.size("max_position_embeddings", Size::positions)
                              : in.size("n_positions", Size::positions, 1024);
    model.position_rows = model.max_positions;
    // SantaCoder: all heads share one of keys and values.
    auto const kind = in.text("attention_head_type", "multihead");
    if (kind != "multihead" && kind != "multiquery")
        throw InputError("{}: is '{}' (multihead or multiquery is allowed)", in.path_to("attention_head_type"), kind);
    if (kind == "multiquery") model.attention.kv_heads = 1;
    model.tied_embeddings = in.flag("tie_word_embeddings", true);
    return model;
}

ModelSpec read_gpt_neox(ConfigObject& in) {
    std::int64_t const hidden = in.size("hidden_size", Size::width);
    std::int64_t const heads = in.size("num_attention_heads", Size::heads);
    ModelSpec model = gpt_like(in, hidden, heads, "num_attention_heads", in.size("num_hidden_layers", Size::layers));
    model.mlp.intermediate = in.size("intermediate_size", Size::width);
    model.max_positions = in.size("max_position_embeddings", Size::positions, 2048);
    read_attention_bias(in, model, true);
    model.parallel_block = in.flag("use_parallel_residual", true);  // two norms in either case
    model.joint_sum = model.parallel_block;
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

ModelSpec read_opt(ConfigObject& in) {
    std::int64_t const hidden = in.size("hidden_size", Size::width);
    std::int64_t const heads = in.size("num_attention_heads", Size::heads);
    ModelSpec model = gpt_like(in, hidden, heads, "num_attention_heads", in.size("num_hidden_layers", Size::layers));
    bool const bias = in.flag("enable_bias", true);
    model.attention.qkv_bias = bias;
    model.attention.output_bias = bias;
    model.mlp = {.intermediate = in.size("ffn_dim", Size::width), .gated = false, .bias = bias};
    model.norm_scale = in.flag("layer_norm_elementwise_affine", true);
    model.norm_bias = model.norm_scale;
    // Models that normalise after each half (OPT-350M) have no norm left for the end.
    model.final_norm = in.flag("do_layer_norm_before", true) && !in.flag("_remove_final_layer_norm", false);
    model.position = PositionKind::learned;
    model.max_positions = in.size("max_position_embeddings", Size::positions, 2048);
    model.position_rows = model.max_positions + 2;  // the table is offset by the padding ids
    std::int64_t const width = in.size("word_embed_proj_dim", Size::width, hidden);
    model.embedding_width = width == hidden ? 0 : width;
    model.tied_embeddings = in.flag("tie_word_embeddings", true);
    return model;
}

// Queries, keys and values have no biases. Layers take turns, global first, unless `attention_layers` or
// `attention_types` (written out before, core/spec/hf/attention_types.hpp) says otherwise.
ModelSpec read_gpt_neo(ConfigObject& in) {
    std::int64_t const hidden = in.size_of({"hidden_size", "n_embd"}, Size::width);
    std::int64_t const heads = in.size_of({"num_heads", "num_attention_heads"}, Size::heads);
    ModelSpec model =
        gpt_like(in, hidden, heads, "num_heads", in.size_of({"num_layers", "num_hidden_layers"}, Size::layers));
    model.attention.qkv_bias = false;
    model.mlp.intermediate = in.size("intermediate_size", Size::width, 4 * hidden);
    model.position = PositionKind::learned;
    model.max_positions = in.size("max_position_embeddings", Size::positions, 2048);
    model.position_rows = model.max_positions;
    model.attention.window = in.size("window_size", Size::positions, 256);
    std::vector<std::string> const kinds = layer_texts(in, "attention_layers", model);
    for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
        std::string const kind = kinds.empty() ? (layer % 2 == 0 ? "global" : "local") : kinds[layer];
        if (kind != "global" && kind != "local")
            throw InputError("{}: '{}' (global and local are known)", in.path_to("attention_layers"), kind);
        model.layers[layer].sliding = kind == "local";
    }
    model.tied_embeddings = in.flag("tie_word_embeddings", true);
    return model;
}

ModelSpec read_bloom(ConfigObject& in) {
    std::int64_t const hidden = in.size_of({"n_embed", "hidden_size"}, Size::width);
    std::string_view const heads_key = in.has("n_head") ? "n_head" : "num_attention_heads";
    std::int64_t const heads = in.size_of({"n_head", "num_attention_heads"}, Size::heads);
    ModelSpec model =
        gpt_like(in, hidden, heads, heads_key, in.size_of({"n_layer", "num_hidden_layers"}, Size::layers));
    model.position = PositionKind::alibi;
    model.embedding_norm = true;
    // ALiBi has no table and the class no length: what the published configs say they were trained on, else 2048
    // (arXiv:2211.05100).
    model.max_positions = in.size("seq_length", Size::positions, 2048);
    model.tied_embeddings = in.flag("tie_word_embeddings", true);
    return model;
}

}  // namespace sextant::hf
