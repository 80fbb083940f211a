#include "core/spec/hf/architectures.hpp"

namespace sextant::hf {
namespace {

/// Normalisations inside a Falcon layer: parallel blocks have one, or (`num_ln_in_parallel_attn` 2, the default of the
/// new decoder architecture) one for each half.
int falcon_norms(ConfigObject& in, bool new_architecture) {
    if (!in.flag("parallel_attn", true)) return 2;
    std::int64_t const given = in.count("num_ln_in_parallel_attn", new_architecture ? 2 : 1);
    return given == 2 ? 2 : 1;
}

std::int64_t falcon_kv_heads(ConfigObject& in, std::int64_t heads, bool new_architecture) {
    if (!new_architecture && in.flag("multi_query", true)) return 1;
    std::int64_t const kv_heads = in.size("num_kv_heads", Size::heads, heads);
    // Without the new layout the class splits the fused matrix into equal heads.
    if (!new_architecture && kv_heads != heads)
        throw InputError(
            "{}: is {} of {} heads (fewer key/value heads than heads need new_decoder_architecture or multi_query)",
            in.path_to("num_kv_heads"), kv_heads, heads);
    check_kv_heads(in, "num_kv_heads", kv_heads, heads);
    return kv_heads;
}

}  // namespace

ModelSpec read_falcon(ConfigObject& in) {
    ModelSpec model;
    model.hidden = in.size_of({"hidden_size", "n_embed"}, Size::width);
    model.vocab = in.size("vocab_size", Size::vocabulary);
    model.layers.resize(static_cast<std::size_t>(in.size("num_hidden_layers", Size::layers)));
    model.max_positions = in.size("max_position_embeddings", Size::positions, 2048);
    bool const new_architecture = in.flag("new_decoder_architecture", false);
    bool const bias = in.flag("bias", false);
    AttentionSpec& attention = model.attention;
    attention.heads = in.size("num_attention_heads", Size::heads);
    attention.kv_heads = falcon_kv_heads(in, attention.heads, new_architecture);
    attention.head_dim = divided_head_dim(in, model.hidden, attention.heads, "num_attention_heads");
    attention.value_head_dim = attention.head_dim;
    attention.qkv_bias = bias;
    attention.output_bias = bias;
    model.mlp = {
        .intermediate = in.size("ffn_hidden_size", Size::width, 4 * model.hidden), .gated = false, .bias = bias};
    model.norm = NormKind::layer;
    model.norm_bias = true;
    model.parallel_block = new_architecture || in.flag("parallel_attn", true);
    model.joint_sum = model.parallel_block;
    model.norms_per_layer = falcon_norms(in, new_architecture);
    model.position = in.flag("alibi", false) ? PositionKind::alibi : PositionKind::rotary;
    model.tied_embeddings = in.flag("tie_word_embeddings", true);
    return model;
}

ModelSpec read_mpt(ConfigObject& in) {
    ModelSpec model;
    model.hidden = in.size("d_model", Size::width);
    model.vocab = in.size("vocab_size", Size::vocabulary);
    model.layers.resize(static_cast<std::size_t>(in.size("n_layers", Size::layers)));
    model.max_positions = in.size("max_seq_len", Size::positions, 2048);
    AttentionSpec& attention = model.attention;
    attention.heads = in.size("n_heads", Size::heads);
    attention.kv_heads = attention.heads;
    attention.head_dim = divided_head_dim(in, model.hidden, attention.heads, "n_heads");
    attention.value_head_dim = attention.head_dim;
    // A ratio may be fractional: 2.6875 is in use.
    double const width = in.number("expansion_ratio", 4) * static_cast<double>(model.hidden);
    if (!(width >= 1) || width > 1e8)
        throw InputError("{}: gives a feed-forward width of {} (at least 1 is needed)", in.path_to("expansion_ratio"),
                         width);
    model.mlp.intermediate = static_cast<std::int64_t>(width);
    // The published models have no biases at all; `no_bias: false` means biases on every linear layer and norm
    // (MosaicML's own implementation, which defined the format; the Hugging Face class ignores the key).
    bool const bias = !in.flag("no_bias", true);
    attention.qkv_bias = bias;
    attention.output_bias = bias;
    model.mlp.bias = bias;
    model.norm = NormKind::layer;
    model.norm_bias = bias;
    bool alibi = true;
    bool rotary = false;
    if (auto attention_config = in.object("attn_config")) {
        alibi = attention_config->flag("alibi", true);
        rotary = attention_config->flag("rope", false);
        if (attention_config->flag("qk_ln", false)) attention.query_key_norm = AttentionSpec::QueryKeyNorm::all_heads;
        auto const type = attention_config->text("attn_type", "multihead_attention");
        if (type == "multiquery_attention") {
            attention.kv_heads = 1;
        } else if (type == "grouped_query_attention") {
            attention.kv_heads = attention_config->size("kv_n_heads", Size::heads);
            if (attention.heads % attention.kv_heads != 0)
                throw InputError("{}: is {}, which does not divide the {} attention heads",
                                 attention_config->path_to("kv_n_heads"), attention.kv_heads, attention.heads);
        } else if (type != "multihead_attention") {
            throw InputError(
                "{}: is '{}' (multihead_attention, multiquery_attention or grouped_query_attention is allowed)",
                attention_config->path_to("attn_type"), type);
        }
    }
    model.position = alibi                              ? PositionKind::alibi
                     : rotary                           ? PositionKind::rotary
                     : in.flag("learned_pos_emb", true) ? PositionKind::learned
                                                        : PositionKind::none;
    model.position_rows = model.position == PositionKind::learned ? model.max_positions : 0;
    model.tied_embeddings = in.flag("tie_word_embeddings", true);
    return model;
}

}  // namespace sextant::hf
