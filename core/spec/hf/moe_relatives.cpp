// Mixtures of experts with shapes of their own.
#include "core/spec/hf/architectures.hpp"

#include <algorithm>

namespace sextant::hf {
namespace {

/// Layers with rotary positions look back within chunks of `attention_chunk_size`, unless `layer_types` names others.
void read_chunks(ConfigObject& in, ModelSpec& model) {
    auto const rotary = read_rotary_layers(in, model);
    auto const types = layer_texts(in, "layer_types", model);
    std::int64_t const chunk = in.mentions("attention_chunk_size") && !in.has("attention_chunk_size")
                                   ? 0
                                   : in.size("attention_chunk_size", Size::positions, 8192);
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
        if (!types.empty() && types[i] != "chunked_attention" && types[i] != "full_attention")
            throw InputError("{}[{}]: is '{}' ('full_attention' or 'chunked_attention' is allowed)",
                             in.path_to("layer_types"), i, types[i]);
        bool const local = types.empty() ? rotary[i] : types[i] == "chunked_attention";
        model.layers[i].sliding = local && chunk > 0;
    }
    model.attention.window = chunk;
    drop_unused_window(model);
}

/// A list of zeros and ones, one for each layer; empty without one.
std::vector<std::int64_t> layer_switches(ConfigObject& in, std::string_view key, ModelSpec const& model) {
    return in.is_list(key) ? layer_integers(in, key, model) : std::vector<std::int64_t>();
}

/// `sliding_window_size` counts the tokens before a query, `sliding_window` the query's own too.
void read_mimo_windows(ConfigObject& in, ModelSpec& model) {
    std::int64_t const before = in.count("sliding_window_size", 128);
    read_windows(in, model, before + 1, all_but_the_first);
    if (in.has("sliding_window_size") && model.attention.window > 0) model.attention.window = before + 1;
    if (in.has("layer_types")) return;
    auto const slides = layer_switches(in, "hybrid_layer_pattern", model);
    if (slides.empty()) return widen_every(model, 6);
    for (std::size_t layer = 0; layer < model.layers.size(); ++layer)
        model.layers[layer].sliding = slides[layer] != 0 && model.attention.window > 0;
    drop_unused_window(model);
}

void refuse_other_sliding_heads(ConfigObject& in, AttentionSpec const& sliding) {
    struct Named {
        std::string_view key;
        std::int64_t expected;
    };
    for (auto const& [key, expected] :
         {Named{"swa_num_attention_heads", sliding.heads}, Named{"swa_head_dim", sliding.head_dim},
          Named{"swa_v_head_dim", sliding.value_head_dim}})
        if (std::int64_t const given = in.size(key, Size::width, expected); given != expected)
            throw InputError(
                "{}: is {}, and sliding layers with other heads than the {} of the others are not modelled",
                in.path_to(key), given, expected);
}

}  // namespace

// Queries and keys are normalised without learned values; `attention_bias` is not read by the class.
// `intermediate_size` is that of an expert and of the shared one, `intermediate_size_mlp` that of the layers without
// experts.
ModelSpec read_llama4_text(ConfigObject& in) {
    ModelSpec model = read_common(in, 131072);
    read_grouped_attention(in, model, 8, default_head_dim(in, model, 128));
    auto const named = in.integers("moe_layers");
    bool const dense = in.has("moe_layers") && named.empty();
    std::int64_t const experts = dense ? 1 : in.size("num_local_experts", Size::experts, 16);
    model.moe = MoeSpec{.experts = experts,
                        .top_k = dense ? 1 : read_top_k(in, "num_experts_per_tok", experts, 1),
                        .intermediate = model.mlp.intermediate,
                        .shared_intermediate = model.mlp.intermediate};
    model.mlp.intermediate = in.size("intermediate_size_mlp", Size::width, 16384);
    std::int64_t const step = in.size("interleave_moe_layer_step", Size::layers, 1);
    for (std::int64_t i = 0; i < model.layer_count(); ++i)
        model.layers[static_cast<std::size_t>(i)].moe =
            in.has("moe_layers") ? std::find(named.begin(), named.end(), i) != named.end() : (i + 1) % step == 0;
    drop_unused_experts(model);
    read_chunks(in, model);
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

ModelSpec read_dbrx(ConfigObject& in) {
    ModelSpec model;
    model.hidden = in.size("d_model", Size::width, 2048);
    model.vocab = in.size("vocab_size", Size::vocabulary, 32000);
    model.layers.resize(static_cast<std::size_t>(in.size("n_layers", Size::layers, 24)));
    model.max_positions = in.size("max_seq_len", Size::positions, 2048);
    AttentionSpec& attention = model.attention;
    attention.heads = in.size("n_heads", Size::heads, 16);
    attention.kv_heads = 1;
    if (auto config = in.object("attn_config")) attention.kv_heads = config->size("kv_n_heads", Size::heads, 1);
    check_kv_heads(in, "attn_config", attention.kv_heads, attention.heads);
    attention.head_dim = divided_head_dim(in, model.hidden, attention.heads, "n_heads");
    attention.value_head_dim = attention.head_dim;
    MoeSpec moe{.experts = 4, .top_k = 1, .intermediate = 3584};
    if (auto config = in.object("ffn_config")) {
        moe.experts = config->size("moe_num_experts", Size::experts, 4);
        moe.top_k = read_top_k(*config, "moe_top_k", moe.experts, 1);
        moe.intermediate = config->size("ffn_hidden_size", Size::width, 3584);
    }
    model.mlp = {.intermediate = moe.intermediate, .gated = true};
    model.moe = moe;
    place_experts_everywhere(model);
    model.norm = NormKind::layer;  // with a scale and no bias
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

ModelSpec read_phimoe(ConfigObject& in) {
    ModelSpec model = read_common(in, 131072);
    read_grouped_attention(in, model, 8);
    read_attention_bias(in, model, false);
    read_windows(in, model, 0, every_layer);
    read_experts_everywhere(in, model, "num_local_experts", 16, 2);
    model.norm = NormKind::layer;
    model.norm_bias = true;
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    model.head_bias = in.flag("lm_head_bias", false);
    return model;
}

ModelSpec read_olmoe(ConfigObject& in) {
    ModelSpec model = read_common(in, 4096);
    read_grouped_attention(in, model, model.attention.heads);
    read_attention_bias(in, model, false);
    model.attention.query_key_norm = AttentionSpec::QueryKeyNorm::all_heads;
    read_experts_everywhere(in, model, "num_experts", 64, 8);
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

// OLMo 2's layers with experts.
ModelSpec read_flex_olmo(ConfigObject& in) {
    ModelSpec model = read_olmo2(in);
    read_experts_everywhere(in, model, "num_experts", 7, 5);
    return model;
}

// The output of the attention is gated, and norms come before and after each half.
ModelSpec read_afmoe(ConfigObject& in) {
    ModelSpec model = read_common(in, 16384);
    AttentionSpec& attention = model.attention;
    read_grouped_attention(in, model, model.attention.heads, 128);
    if (in.flag("attention_bias", false))
        throw InputError("{}: biases beside a gate without one are not modelled", in.path_to("attention_bias"));
    attention.query_key_norm = AttentionSpec::QueryKeyNorm::shared_head;
    attention.gated = true;
    model.norms_per_layer = 4;
    read_windows(in, model, 1024, every_layer);
    if (model.attention.window > 0 && !in.has("layer_types"))
        widen_every(model, in.size("global_attn_every_n_layers", Size::layers, 4));
    std::int64_t const experts = in.size("num_experts", Size::experts, 64);
    MoeSpec moe{.experts = experts,
                .top_k = read_top_k(in, "num_experts_per_tok", experts, 6),
                .intermediate = in.size("moe_intermediate_size", Size::width, 1408),
                .correction_bias = true};
    moe.shared_intermediate = moe.intermediate * in.count("num_shared_experts", 2);
    std::int64_t const dense = in.count("num_dense_layers", 1);
    for (std::int64_t layer = dense; layer < model.layer_count(); ++layer)
        model.layers[static_cast<std::size_t>(layer)].moe = true;
    if (dense < model.layer_count()) model.moe = moe;
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

ModelSpec read_granitemoe(ConfigObject& in) {
    ModelSpec model = read_common(in, 2048);
    read_grouped_attention(in, model, model.attention.heads);
    read_attention_bias(in, model, false);
    read_experts_everywhere(in, model, "num_local_experts", 8, 2);
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

ModelSpec read_granitemoeshared(ConfigObject& in) {
    ModelSpec model = read_granitemoe(in);
    model.moe->shared_intermediate = in.count("shared_intermediate_size", 0);
    return model;
}

ModelSpec read_granitemoe_swa(ConfigObject& in) {
    ModelSpec model = read_granitemoeshared(in);
    model.attention.sinks = true;
    read_windows(in, model, 128, last_three_of_four);
    return model;
}

// Qwen3's experts; which layers slide and which have experts stands layer by layer.
ModelSpec read_mellum(ConfigObject& in) {
    ModelSpec model = read_common(in, ClassSizes{.positions = 131072, .intermediate = 7168});
    read_grouped_attention(in, model, 4, 128);
    read_attention_bias(in, model, false);
    model.attention.query_key_norm = AttentionSpec::QueryKeyNorm::shared_head;
    if (in.has("layer_types")) read_windows(in, model, 1024, every_layer);
    std::int64_t const experts = in.size("num_experts", Size::experts, 64);
    model.moe = MoeSpec{.experts = experts,
                        .top_k = read_top_k(in, "num_experts_per_tok", experts, 8),
                        .intermediate = in.size("moe_intermediate_size", Size::width, 896)};
    place_experts_everywhere(model);
    read_layer_experts(in, model);
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

// The first layer is dense and sees everything, as every sixth layer does; sliding layers have twice the key/value
// heads, and sinks. The configs on the Hub say so in lists of zeros and ones (`hybrid_layer_pattern`,
// `moe_layer_freq`).
ModelSpec read_mimo_v2_flash(ConfigObject& in) {
    ModelSpec model = read_common(in, 131072);
    AttentionSpec& attention = model.attention;
    read_grouped_attention(in, model, 4, 192);
    attention.value_head_dim = in.size("v_head_dim", Size::width, 128);
    attention.qkv_bias = in.flag("attention_bias", false);  // the output projection has none
    read_mimo_windows(in, model);
    AttentionSpec sliding = attention;
    sliding.kv_heads = in.size("swa_num_key_value_heads", Size::heads, 2 * attention.kv_heads);
    check_kv_heads(in, in.has("swa_num_key_value_heads") ? "swa_num_key_value_heads" : "num_key_value_heads",
                   sliding.kv_heads, sliding.heads);
    refuse_other_sliding_heads(in, sliding);
    sliding.sinks = true;
    if (attention.window > 0) model.window_attention = sliding;
    std::int64_t const experts = in.size("n_routed_experts", Size::experts, 256);
    model.moe = MoeSpec{.experts = experts,
                        .top_k = read_top_k(in, "num_experts_per_tok", experts, 8),
                        .intermediate = in.size("moe_intermediate_size", Size::width, 2048),
                        .correction_bias = true};
    auto const sparse = layer_switches(in, "moe_layer_freq", model);
    for (std::size_t layer = 0; layer < model.layers.size(); ++layer)
        model.layers[layer].moe = sparse.empty() ? layer > 0 : sparse[layer] != 0;
    read_layer_experts(in, model);
    drop_unused_experts(model);
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

ModelSpec read_ernie4_5_moe(ConfigObject& in) {
    ModelSpec model = read_common(in, 131072);
    read_grouped_attention(in, model, 4);
    bool const bias = in.flag("use_bias", false);
    if (bias) throw InputError("{}: biases on everything are not modelled", in.path_to("use_bias"));
    std::int64_t const experts = in.size("moe_num_experts", Size::experts, 64);
    MoeSpec moe{.experts = experts,
                .top_k = read_top_k(in, "moe_k", experts, 6),
                .intermediate = in.size("moe_intermediate_size", Size::width, 1536),
                .correction_bias = true};
    moe.shared_intermediate = moe.intermediate * in.count("moe_num_shared_experts", 2);
    std::int64_t const first = in.count("moe_layer_start_index", 1);
    std::int64_t const interval = in.size("moe_layer_interval", Size::layers, 1);
    std::int64_t last = model.layer_count() - 1;
    if (in.has("moe_layer_end_index") && in.number("moe_layer_end_index", -1) >= 0)
        last = in.count("moe_layer_end_index", last);
    for (std::int64_t i = 0; i < model.layer_count(); ++i)
        model.layers[static_cast<std::size_t>(i)].moe = (i + 1) % interval == 0 && i >= first && i <= last;
    if (std::any_of(model.layers.begin(), model.layers.end(), [](LayerKind kind) { return kind.moe; })) model.moe = moe;
    model.tied_embeddings = in.flag("tie_word_embeddings", true);
    return model;
}

// Queries and keys are normalised over all heads, and every layer has experts whose width is `intermediate_size`.
ModelSpec read_minimax_m2(ConfigObject& in) {
    ModelSpec model = read_common(in, 196608);
    read_grouped_attention(in, model, 8);
    if (in.flag("use_qk_norm", true)) model.attention.query_key_norm = AttentionSpec::QueryKeyNorm::all_heads;
    std::int64_t const experts = in.size("num_local_experts", Size::experts, 256);
    model.moe = MoeSpec{.experts = experts,
                        .top_k = read_top_k(in, "num_experts_per_tok", experts, 8),
                        .intermediate = model.mlp.intermediate,
                        .correction_bias = in.flag("use_routing_bias", true)};
    place_experts_everywhere(model);
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

// Every layer has a shared expert of the width of a routed one. `moe_topk` is a number, or one for each layer.
ModelSpec read_hunyuan_v1_moe(ConfigObject& in) {
    ModelSpec model = read_hunyuan_v1_dense(in);
    std::int64_t const experts = in.size("num_experts", Size::experts, 1);
    std::int64_t top_k = 0;
    if (in.is_list("moe_topk")) {
        auto const all = in.integers("moe_topk");
        if (all.empty() || std::any_of(all.begin(), all.end(), [&](std::int64_t k) { return k != all.front(); }))
            throw InputError("{}: layers with different numbers of experts are not modelled", in.path_to("moe_topk"));
        top_k = all.front();
        if (top_k < 1 || top_k > experts)
            throw InputError("{}: is {} of {} experts (1 to all of them)", in.path_to("moe_topk"), top_k, experts);
    } else {
        top_k = read_top_k(in, "moe_topk", experts, 1);
    }
    model.moe = MoeSpec{.experts = experts,
                        .top_k = top_k,
                        .intermediate = model.mlp.intermediate,
                        .shared_intermediate = model.mlp.intermediate};
    place_experts_everywhere(model);
    return model;
}

// Norms before and after attention and experts. Grok-2 adds to the experts a dense half that reads the same norm
// (`residual_moe`), which costs what a shared expert does.
// Source: github.com/xai-org/grok-1 (model.py, pytorch/configuration_grok_1.py); Grok1DecoderLayer of SGLang for
// Grok-2.
ModelSpec read_grok(ConfigObject& in) {
    ModelSpec model = read_common(in, 8192);
    read_grouped_attention(in, model, model.attention.heads);
    read_experts_everywhere(in, model, in.has("num_experts") ? "num_experts" : "num_local_experts", 8, 2);
    model.moe->intermediate = in.size("moe_intermediate_size", Size::width, model.mlp.intermediate);
    if (in.flag("residual_moe", false)) model.moe->shared_intermediate = model.mlp.intermediate;
    model.norms_per_layer = 4;
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    read_logit_cap(in, model, false);
    return model;
}

// Experts beside a dense half that is as wide as the model and reads a norm of its own: it costs what a shared expert
// does. The two are added at the end, after attention has run beside the experts.
// Source: modeling_arctic.py, published with the checkpoint.
ModelSpec read_arctic(ConfigObject& in) {
    ModelSpec model = read_common(in, 4096);
    read_grouped_attention(in, model, model.attention.heads);
    read_experts_everywhere(in, model, "num_local_experts", 8, 1);
    std::int64_t const every = in.size("moe_layer_frequency", Size::layers, 2);
    if (every > 1)
        throw InputError("{}: is {} (experts in every layer, 1, are modelled)", in.path_to("moe_layer_frequency"),
                         every);
    if (in.flag("parallel_attn_mlp_res", false)) {
        model.moe->shared_intermediate = model.hidden;
        model.norms_per_layer = 3;
    }
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

}  // namespace sextant::hf
