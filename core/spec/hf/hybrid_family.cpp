#include "core/spec/hf/architectures.hpp"
#include "core/spec/parameters.hpp"

#include <algorithm>
#include <array>

namespace sextant::hf {
namespace {

/// Tokens that the kernels of flash-linear-attention, which engines and trainers use, take at a time.
constexpr std::int64_t delta_chunk = 64;

void require_attention(ConfigObject const& in, std::string_view key, ModelSpec const& model) {
    if (std::none_of(model.layers.begin(), model.layers.end(),
                     [](LayerKind kind) { return kind.mixer == Mixer::attention; }))
        throw InputError("{}: no layer has attention (models of recurrent layers alone are not modelled)",
                         in.path_to(key));
}

/// Sizes of a class's gated delta rule where a config does not name them; 0 of values: twice that of keys.
struct DeltaDefaults {
    std::int64_t heads = 32;
    std::int64_t key_heads = 16;
    std::int64_t key_head_dim = 128;
    std::int64_t value_head_dim = 128;
};

/// The gated delta rule of Qwen3-Next and its kin, with its layers: `layer_types`, or all but every
/// `full_attention_interval`-th.
void read_delta_layers(ConfigObject& in, ModelSpec& model, DeltaDefaults const& defaults = {}) {
    std::int64_t const key_width = in.size("linear_key_head_dim", Size::width, defaults.key_head_dim);
    std::int64_t const value_width = defaults.value_head_dim > 0 ? defaults.value_head_dim : 2 * key_width;
    RecurrentSpec r{.rule = StateRule::delta,
                    .heads = in.size("linear_num_value_heads", Size::heads, defaults.heads),
                    .key_heads = in.size("linear_num_key_heads", Size::heads, defaults.key_heads),
                    .key_head_dim = key_width,
                    .value_head_dim = in.size("linear_value_head_dim", Size::width, value_width),
                    .convolution = in.size("linear_conv_kernel_dim", Size::heads, 4),
                    .chunk = delta_chunk};
    check_kv_heads(in, "linear_num_key_heads", r.key_heads, r.heads);
    auto const types = layer_texts(in, "layer_types", model);
    auto const interval = static_cast<std::size_t>(in.size("full_attention_interval", Size::layers, 4));
    for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
        bool recurrent = (layer + 1) % interval != 0;
        if (!types.empty()) {
            recurrent = types[layer] == "linear_attention";
            if (!recurrent && types[layer] != "full_attention")
                throw InputError("{}[{}]: is '{}' ('full_attention' or 'linear_attention' is allowed)",
                                 in.path_to("layer_types"), layer, types[layer]);
        }
        if (!recurrent) continue;
        model.layers[layer].mixer = Mixer::recurrent;
        model.recurrent = r;
    }
    require_attention(in, types.empty() ? "full_attention_interval" : "layer_types", model);
}

/// What Qwen3-Next and Qwen3.5 have in common, without a feed-forward.
void read_gated_attention(ConfigObject& in, ModelSpec& model) {
    AttentionSpec& attention = model.attention;
    read_grouped_attention(in, model, 2, 256);
    read_attention_bias(in, model, false);
    attention.query_key_norm = AttentionSpec::QueryKeyNorm::shared_head;
    attention.gated = true;
    read_delta_layers(in, model);
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
}

constexpr std::int64_t shared_expert = 512;  ///< width of the shared expert of Qwen3-Next and Qwen3.5

MoeSpec read_shared_experts(ConfigObject& in, std::int64_t class_experts, std::int64_t class_top_k) {
    std::int64_t const experts = in.size("num_experts", Size::experts, class_experts);
    return {.experts = experts,
            .top_k = read_top_k(in, "num_experts_per_tok", experts, class_top_k),
            .intermediate = in.size("moe_intermediate_size", Size::width, 512),
            .shared_intermediate = in.size("shared_expert_intermediate_size", Size::width, shared_expert),
            .shared_gate = true};
}

void check_divides(ConfigObject const& in, std::string_view key, std::int64_t heads, std::int64_t width) {
    if (width % heads != 0)
        throw InputError("{}: is {}, which does not divide the {} channels of a recurrent layer", in.path_to(key),
                         heads, width);
}

/// One layer of Nemotron-H's pattern, by its letter or by its name.
std::optional<LayerKind> nemotron_layer(std::string_view name) {
    constexpr LayerKind recurrent{.mixer = Mixer::recurrent, .feed_forward = false};
    constexpr LayerKind attention{.feed_forward = false};
    constexpr LayerKind dense{.mixer = Mixer::none};
    constexpr LayerKind experts{.moe = true, .mixer = Mixer::none};
    struct Named {
        std::string_view name;
        LayerKind kind;
    };
    constexpr std::array known{
        Named{"M", recurrent}, Named{"mamba", recurrent},     Named{"linear_attention", recurrent},
        Named{"*", attention}, Named{"attention", attention}, Named{"full_attention", attention},
        Named{"-", dense},     Named{"mlp", dense},           Named{"E", experts},
        Named{"moe", experts}};
    for (Named const& entry : known)
        if (entry.name == name) return entry.kind;
    return {};
}

void read_nemotron_layers(ConfigObject& in, ModelSpec& model) {
    std::string_view const key = in.has("layers_block_type") ? "layers_block_type" : "hybrid_override_pattern";
    std::vector<std::string> names = in.texts("layers_block_type");
    if (names.empty()) {
        std::string const pattern = in.text("hybrid_override_pattern", "");
        if (auto const other = pattern.find_first_not_of("M*-E"); other != std::string::npos)
            throw InputError("{}: layer {} is none of M, *, - and E", in.path_to(key), other + 1);
        for (char const letter : pattern)
            names.emplace_back(1, letter);
    }
    if (names.empty())
        throw InputError("{}: is missing (a letter for each layer: M, * and - or E)",
                         in.path_to("hybrid_override_pattern"));
    if (in.has("num_hidden_layers"))
        if (std::int64_t const layers = in.size("num_hidden_layers", Size::layers);
            layers != static_cast<std::int64_t>(names.size()))
            throw InputError("{}: has {} entries for {} layers (one per layer is expected)", in.path_to(key),
                             names.size(), layers);
    if (names.size() > 10000) throw InputError("{}: has {} layers (at most 10000)", in.path_to(key), names.size());
    for (std::size_t layer = 0; layer < names.size(); ++layer) {
        auto const kind = nemotron_layer(names[layer]);
        if (!kind)
            throw InputError("{}[{}]: is '{}' ('mamba', 'attention', 'mlp' or 'moe' is allowed)", in.path_to(key),
                             layer, names[layer]);
        model.layers.push_back(*kind);
    }
    require_attention(in, key, model);
}

/// What a class calls the sizes of its Mamba-2 layers, and what it takes where a config does not name them.
struct MambaKeys {
    std::string_view heads = "mamba_n_heads";
    std::string_view groups = "mamba_n_groups";
    std::string_view state = "mamba_d_state";
    std::string_view head_dim = "mamba_d_head";
    std::string_view convolution = "mamba_d_conv";
    std::string_view convolution_bias = "mamba_conv_bias";
    std::string_view chunk = "mamba_chunk_size";
    std::int64_t class_groups = 1;
    std::int64_t class_state = 256;
    std::int64_t class_head_dim = 0;  ///< 0: an equal part of `mamba_expand` times the width
    std::int64_t class_chunk = 256;
};

/// Size of a Mamba-2 head: a number, "auto", or the class's.
std::int64_t read_mamba_head_dim(ConfigObject& in, ModelSpec const& model, MambaKeys const& keys, std::int64_t heads) {
    if (keys.class_head_dim > 0) return in.size(keys.head_dim, Size::width, keys.class_head_dim);
    std::int64_t const width = in.size("mamba_expand", Size::heads, 2) * model.hidden;
    if (in.has(keys.head_dim) && !in.is_text(keys.head_dim)) return in.size(keys.head_dim, Size::width);
    check_divides(in, keys.heads, heads, width);
    return width / heads;
}

/// Sizes of the Mamba-2 layers, if there are any; under the names of IBM's classes unless others are given.
void read_mamba_layers(ConfigObject& in, ModelSpec& model, MambaKeys const& keys = {}) {
    if (in.flag("mamba_proj_bias", false))
        throw InputError("{}: biases there are not modelled", in.path_to("mamba_proj_bias"));
    if (count_mixers(model, Mixer::recurrent) == 0) return;
    std::int64_t const heads = in.size(keys.heads, Size::heads, 128);
    model.recurrent = RecurrentSpec{.rule = StateRule::decay,
                                    .heads = heads,
                                    .key_heads = in.size(keys.groups, Size::heads, keys.class_groups),
                                    .key_head_dim = in.size(keys.state, Size::width, keys.class_state),
                                    .value_head_dim = read_mamba_head_dim(in, model, keys, heads),
                                    .convolution = in.size(keys.convolution, Size::heads, 4),
                                    .convolution_bias = in.flag(keys.convolution_bias, true),
                                    .chunk = in.size(keys.chunk, Size::positions, keys.class_chunk)};
    check_kv_heads(in, keys.groups, model.recurrent->key_heads, heads);
}

}  // namespace

ModelSpec read_qwen3_next(ConfigObject& in) {
    ModelSpec model = read_common(in, 32768);
    read_gated_attention(in, model);
    model.moe = read_shared_experts(in, 512, 10);
    place_experts(in, model);
    return model;
}

// OLMo 2's attention; a key head of the recurrent layers is three quarters of an equal part of the width.
ModelSpec read_olmo_hybrid(ConfigObject& in) {
    ModelSpec model = read_olmo2(in);
    model.max_positions = in.size("max_position_embeddings", Size::positions, 65536);
    std::int64_t const heads = model.attention.heads;
    std::int64_t const key_heads = in.size("linear_num_key_heads", Size::heads, heads);
    read_delta_layers(in, model,
                      {.heads = heads,
                       .key_heads = key_heads,
                       .key_head_dim = std::max<std::int64_t>(1, 3 * model.hidden / (4 * key_heads)),
                       .value_head_dim = 0});
    return model;
}

ModelSpec read_qwen3_5_text(ConfigObject& in) {
    ModelSpec model = read_common(in, 32768);
    read_gated_attention(in, model);
    return model;
}

ModelSpec read_qwen3_5_moe_text(ConfigObject& in) {
    ModelSpec model = read_common(in, ClassSizes{.positions = 32768,
                                                 .hidden = 2048,
                                                 .vocab = 248320,
                                                 .layers = 40,
                                                 .heads = 16,
                                                 .intermediate = shared_expert});
    read_gated_attention(in, model);
    model.moe = read_shared_experts(in, 256, 8);
    // Every layer has experts; the width of a dense one is that of the shared expert.
    model.mlp.intermediate = model.moe->shared_intermediate;
    place_experts_everywhere(model);
    return model;
}

// Every layer is one of Mamba-2, attention without positions, a dense feed-forward or experts, behind one norm. The
// class takes no notice of attention_bias and tie_word_embeddings.
ModelSpec read_nemotron_h(ConfigObject& in) {
    ModelSpec model;
    model.hidden = in.size("hidden_size", Size::width, 4096);
    model.vocab = in.size("vocab_size", Size::vocabulary, 131072);
    model.max_positions = in.size("max_position_embeddings", Size::positions, 4096);
    model.position = PositionKind::none;
    model.attention.heads = in.size("num_attention_heads", Size::heads, 32);
    model.attention.kv_heads = read_kv_heads(in, model.attention.heads, 8);
    std::string_view const head_dim = in.has("attention_head_dim") ? "attention_head_dim" : "head_dim";
    model.attention.head_dim = in.size(head_dim, Size::width, 128);
    model.attention.value_head_dim = model.attention.head_dim;
    model.mlp = {.intermediate = in.size("intermediate_size", Size::width, 21504), .bias = in.flag("mlp_bias", false)};
    read_nemotron_layers(in, model);
    if (in.flag("use_bias", false)) throw InputError("{}: biases there are not modelled", in.path_to("use_bias"));
    if (in.has("moe_latent_size"))
        throw InputError("{}: experts in a latent are not modelled", in.path_to("moe_latent_size"));
    read_mamba_layers(in, model,
                      {.heads = "mamba_num_heads",
                       .groups = in.has("mamba_n_groups") ? "mamba_n_groups" : "n_groups",
                       .state = "ssm_state_size",
                       .head_dim = "mamba_head_dim",
                       .convolution = in.has("mamba_d_conv") ? "mamba_d_conv" : "conv_kernel",
                       .convolution_bias = in.has("mamba_conv_bias") ? "mamba_conv_bias" : "use_conv_bias",
                       .chunk = in.has("mamba_chunk_size") ? "mamba_chunk_size" : "chunk_size",
                       .class_groups = 8,
                       .class_state = 128,
                       .class_head_dim = 64,
                       .class_chunk = 128});
    if (std::any_of(model.layers.begin(), model.layers.end(), [](LayerKind kind) { return kind.moe; })) {
        std::int64_t const experts = in.size("n_routed_experts", Size::experts, 8);
        MoeSpec moe{.experts = experts,
                    .top_k = read_top_k(in, "num_experts_per_tok", experts, 2),
                    .intermediate = in.size("moe_intermediate_size", Size::width, 7688),
                    .correction_bias = true};
        if (std::int64_t const shared = in.count("n_shared_experts", 1); shared > 0)
            moe.shared_intermediate = shared * in.size("moe_shared_expert_intermediate_size", Size::width, 7688);
        if (model.mlp.bias) throw InputError("{}: biases of shared experts are not modelled", in.path_to("mlp_bias"));
        model.moe = moe;
    }
    return model;
}

// Every layer has Mamba-2 or attention, and experts beside a shared one, or the shared one alone.
ModelSpec read_granitemoehybrid(ConfigObject& in) {
    ModelSpec model = read_common(in, 2048);
    read_grouped_attention(in, model, model.attention.heads);
    read_attention_bias(in, model, false);
    if (in.text("position_embedding_type", "") != "rope") model.position = PositionKind::none;
    auto const types = in.texts(in.has("layers_block_type") ? "layers_block_type" : "layer_types");
    if (types.size() != model.layers.size())
        throw InputError("{}: has {} entries for {} layers (one per layer is expected)", in.path_to("layer_types"),
                         types.size(), model.layers.size());
    for (std::size_t layer = 0; layer < types.size(); ++layer) {
        auto const kind = nemotron_layer(types[layer]);
        if (!kind || kind->mixer == Mixer::none)
            throw InputError("{}[{}]: is '{}' ('mamba' or 'attention' is allowed)", in.path_to("layer_types"), layer,
                             types[layer]);
        model.layers[layer].mixer = kind->mixer;
    }
    require_attention(in, "layer_types", model);
    read_mamba_layers(in, model);
    std::int64_t const shared = in.size("shared_intermediate_size", Size::width, 1024);
    if (std::int64_t const experts = in.count("num_local_experts", 8); experts > 0) {
        model.moe = MoeSpec{.experts = experts,
                            .top_k = read_top_k(in, "num_experts_per_tok", experts, 2),
                            .intermediate = model.mlp.intermediate,
                            .shared_intermediate = shared};
        place_experts_everywhere(model);
    } else {
        model.mlp.intermediate = shared;
    }
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

// Mamba-2 in every layer but those that `attn_layer_indices` names, and a dense feed-forward in all.
ModelSpec read_bamba(ConfigObject& in) {
    ModelSpec model = read_common(in, 262144);
    read_grouped_attention(in, model, 8);
    read_attention_bias(in, model, false);
    model.mlp.bias = in.flag("mlp_bias", false);
    for (LayerKind& kind : model.layers)
        kind.mixer = Mixer::recurrent;
    for (std::int64_t const layer : in.integers("attn_layer_indices")) {
        if (layer < 0 || layer >= model.layer_count())
            throw InputError("{}: names layer {} of {} (counted from 0)", in.path_to("attn_layer_indices"), layer,
                             model.layer_count());
        model.layers[static_cast<std::size_t>(layer)].mixer = Mixer::attention;
    }
    require_attention(in, "attn_layer_indices", model);
    read_mamba_layers(in, model);
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

}  // namespace sextant::hf
