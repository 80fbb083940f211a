#include "core/spec/hf/architectures.hpp"

namespace sextant::hf {
namespace {

/// Multi-head attention, biases everywhere, LayerNorms after each half and after the embedding, a table of token types,
/// a pooler on the first token, and a layer before the logits, whose matrix is the embedding.
ModelSpec bert_like(ConfigObject& in, std::int64_t token_types) {
    ModelSpec model = read_common(in, 512);
    AttentionSpec& attention = model.attention;
    attention.head_dim = divided_head_dim(in, model.hidden, attention.heads, "num_attention_heads");
    attention.value_head_dim = attention.head_dim;
    attention.qkv_bias = true;
    attention.output_bias = true;
    model.mlp.gated = false;
    model.mlp.bias = true;
    model.norm = NormKind::layer;
    model.norm_bias = true;
    model.embedding_norm = true;
    model.final_norm = false;
    auto const positions = in.text("position_embedding_type", "absolute");
    if (positions != "absolute")
        throw InputError("{}: is '{}', and relative positions are not modelled ('absolute' is)",
                         in.path_to("position_embedding_type"), positions.substr(0, 60));
    model.position = PositionKind::learned;
    model.position_rows = model.max_positions;
    model.segment_rows = in.count("type_vocab_size", token_types);
    model.causal = in.flag("is_decoder", false);
    model.tied_embeddings = in.flag("tie_word_embeddings", true);
    model.head_bias = true;
    model.head_transform = true;
    model.pooler = true;
    return model;
}

}  // namespace

ModelSpec read_bert(ConfigObject& in) { return bert_like(in, 2); }

/// Two rows of the positions are of the padding.
ModelSpec read_roberta(ConfigObject& in) {
    ModelSpec model = bert_like(in, 2);
    constexpr std::int64_t of_padding = 2;
    if (model.position_rows <= of_padding)
        throw InputError("{}: is {} (more than {}, which the padding has)", in.path_to("max_position_embeddings"),
                         model.position_rows, of_padding);
    model.max_positions = model.position_rows - of_padding;
    return model;
}

/// Which layers look to a window alone: `layer_types` says it, and where it is not there
/// `global_attn_every_n_layers`. Source: transformers 5, configuration_modernbert.py.
void read_modernbert_windows(ConfigObject& in, ModelSpec& model) {
    auto const types = layer_texts(in, "layer_types", model);
    auto const period = static_cast<std::size_t>(in.size("global_attn_every_n_layers", Size::layers, 3));
    for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
        bool sliding = layer % period != 0;
        if (!types.empty()) {
            sliding = types[layer] == "sliding_attention";
            if (!sliding && types[layer] != "full_attention")
                throw InputError("{}[{}]: is '{}' ('full_attention' or 'sliding_attention' is allowed)",
                                 in.path_to("layer_types"), layer, types[layer]);
        }
        model.layers[layer].sliding = sliding;
    }
    drop_unused_window(model);
}

// The first layer has no norm before its attention: the one after the embedding is counted as that. The layer before
// labels is left out. Source: transformers 4.57, modeling_modernbert.py.
ModelSpec read_modernbert(ConfigObject& in) {
    ModelSpec model = read_common(
        in, {.positions = 8192, .hidden = 768, .vocab = 50368, .layers = 22, .heads = 12, .intermediate = 1152});
    AttentionSpec& attention = model.attention;
    attention.head_dim = divided_head_dim(in, model.hidden, attention.heads, "num_attention_heads");
    attention.value_head_dim = attention.head_dim;
    read_attention_bias(in, model, false);
    for (std::string_view const key : {"mlp_bias", "classifier_bias"})
        if (in.flag(key, false))
            throw InputError(
                "{}: is true, and such biases of ModernBERT are not modelled (no published model has them)",
                in.path_to(key));
    model.norm = NormKind::layer;
    model.norm_bias = in.flag("norm_bias", false);
    attention.window = in.size("local_attention", Size::positions, 128);
    read_modernbert_windows(in, model);
    model.causal = false;
    model.tied_embeddings = in.flag("tie_word_embeddings", true);
    model.head_bias = in.flag("decoder_bias", true);
    model.head_transform = true;
    return model;
}

}  // namespace sextant::hf
