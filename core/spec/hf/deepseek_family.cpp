#include "core/error.hpp"
#include "core/spec/hf/architectures.hpp"

#include <algorithm>

namespace sextant::hf {
namespace {

/// Multi-token-prediction modules; each is a layer and a share of the head on the last stage.
std::int64_t prediction_modules(ConfigObject& in) {
    constexpr std::int64_t most = 100;
    std::int64_t const modules = in.count("num_nextn_predict_layers", 0);
    if (modules > most)
        throw InputError("{}: is {} (0 to {} is allowed)", in.path_to("num_nextn_predict_layers"), modules, most);
    return modules;
}

struct LatentDefaults {
    std::int64_t query_rank = 1536, nope_head_dim = 128, value_head_dim = 128, kv_rank = 512, rope_head_dim = 64;
};

void read_latent_attention(ConfigObject& in, ModelSpec& model, LatentDefaults defaults = {}) {
    LatentAttention latent;
    latent.query_rank = in.has("q_lora_rank") ? in.size("q_lora_rank", Size::width)
                        : in.mentions("q_lora_rank")
                            ? 0
                            : defaults.query_rank;  // null: queries are projected directly (V2-Lite)
    latent.kv_rank = in.size("kv_lora_rank", Size::width, defaults.kv_rank);
    latent.rope_head_dim = in.size("qk_rope_head_dim", Size::width, defaults.rope_head_dim);
    latent.nope_head_dim = in.size("qk_nope_head_dim", Size::width, defaults.nope_head_dim);
    AttentionSpec& attention = model.attention;
    attention.kv_heads = attention.heads;  // every head has its own keys and values, expanded from the latent
    attention.head_dim = latent.rope_head_dim + latent.nope_head_dim;
    attention.value_head_dim = in.size("v_head_dim", Size::width, defaults.value_head_dim);
    attention.latent = latent;
    read_attention_bias(in, model, false);
}

/// Every layer has an index of its own.
void read_key_index(ConfigObject& in, ModelSpec& model, std::int64_t class_default_heads) {
    AttentionSpec& attention = model.attention;
    if (attention.latent->query_rank == 0)
        throw InputError("{}: is null (the index of keys reads the latent of the queries)", in.path_to("q_lora_rank"));
    auto const shared = [&](char const* key) {
        return InputError("{}: layers that share the keys another has chosen are not modelled", in.path_to(key));
    };
    auto const types = in.texts("indexer_types");
    if (std::any_of(types.begin(), types.end(), [](std::string const& type) { return type != "full"; }))
        throw shared("indexer_types");
    if (in.text("index_topk_pattern", "").find_first_not_of('F') != std::string::npos)
        throw shared("index_topk_pattern");
    if (in.count("index_topk_freq", 1) > 1) throw shared("index_topk_freq");
    attention.index = KeyIndex{.heads = in.size("index_n_heads", Size::heads, class_default_heads),
                               .head_dim = in.size("index_head_dim", Size::width, 128),
                               .chosen = in.size("index_topk", Size::positions, 2048)};
}

struct ExpertDefaults {
    std::int64_t experts, top_k, intermediate, shared, dense_layers;
    std::int64_t groups = 1, chosen_groups = 1;
};

struct ExpertKeys {
    std::string_view experts = "n_routed_experts";
    std::string_view shared = "n_shared_experts";
};

/// `n_group` and `topk_group`, the groups of experts that a token may choose from; the greedy choice of DeepSeek-V2
/// knows none.
void read_expert_groups(ConfigObject& in, MoeSpec& moe, ExpertDefaults const& defaults) {
    std::int64_t const groups = in.has("n_group") ? in.size("n_group", Size::experts, 1) : defaults.groups;
    std::int64_t const chosen = in.has("topk_group") ? in.size("topk_group", Size::experts, 1) : defaults.chosen_groups;
    if (in.text("topk_method", "") == "greedy" || groups == 1) return;
    bool const leaves_enough =
        moe.experts % groups == 0 && chosen <= groups && chosen * (moe.experts / groups) >= moe.top_k;
    if (!leaves_enough && !in.has("n_group")) return;
    if (!leaves_enough)
        throw InputError("{}: {} groups, of which a token uses {}, do not leave {} of {} experts to choose",
                         in.path_to("n_group"), groups, chosen, moe.top_k, moe.experts);
    moe.groups = groups;
    moe.chosen_groups = chosen;
}

/// `n_routed_experts` and its kin: the first `first_k_dense_replace` layers are dense, then every `moe_layer_freq`-th
/// has experts.
void read_experts(ConfigObject& in, ModelSpec& model, ExpertDefaults defaults, ExpertKeys keys = {}) {
    if (in.mentions(keys.experts) && !in.has(keys.experts)) return;  // null: a dense model
    MoeSpec moe;
    moe.experts = in.size(keys.experts, Size::experts, defaults.experts);
    moe.top_k = read_top_k(in, "num_experts_per_tok", moe.experts, defaults.top_k);
    read_expert_groups(in, moe, defaults);
    moe.intermediate = in.size("moe_intermediate_size", Size::width, defaults.intermediate);
    bool const no_shared = in.mentions(keys.shared) && !in.has(keys.shared);  // null
    moe.shared_intermediate = no_shared ? 0 : moe.intermediate * in.count(keys.shared, defaults.shared);
    std::int64_t const first = in.count("first_k_dense_replace", defaults.dense_layers);
    std::int64_t const every = in.size("moe_layer_freq", Size::layers, 1);
    for (std::int64_t layer = 0; layer < model.layer_count(); ++layer)
        model.layers[static_cast<std::size_t>(layer)].moe = layer >= first && layer % every == 0;
    model.moe = moe;
    drop_unused_experts(model);
}

}  // namespace

// DeepSeekMoE: Llama's attention beside DeepSeek's experts. A config without experts is a Llama.
ModelSpec read_deepseek(ConfigObject& in) {
    ModelSpec model = read_common(in, 2048);
    read_grouped_attention(in, model, model.attention.heads);
    read_attention_bias(in, model, false);
    if (in.has("n_routed_experts"))
        read_experts(in, model, {.experts = 64, .top_k = 6, .intermediate = 1407, .shared = 0, .dense_layers = 0});
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

// Ling and Ring; the second version has norms of queries and keys and corrects the scores of its experts.
ModelSpec read_bailing_moe(ConfigObject& in) {
    ModelSpec model = read_common(in, 16384);
    read_grouped_attention(in, model, model.attention.heads);
    model.attention.qkv_bias = in.flag("use_qkv_bias", false);
    model.attention.output_bias = in.flag("use_bias", false);
    read_experts(in, model, {.experts = 16, .top_k = 2, .intermediate = 1408, .shared = 0, .dense_layers = 0},
                 {.experts = "num_experts", .shared = "num_shared_experts"});
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

ModelSpec read_bailing_moe_v2(ConfigObject& in) {
    ModelSpec model = read_bailing_moe(in);
    if (in.flag("use_qk_norm", true)) model.attention.query_key_norm = AttentionSpec::QueryKeyNorm::shared_head;
    if (model.moe) model.moe->correction_bias = in.flag("moe_router_enable_expert_bias", true);
    model.mtp_modules = in.count("num_nextn_predict_layers", 0);
    return model;
}

ModelSpec read_deepseek_v2(ConfigObject& in) {
    ModelSpec model = read_common(in, 2048);
    if (in.flag("mlp_bias", false))
        throw InputError("{}: biases beside experts are not modelled", in.path_to("mlp_bias"));
    read_latent_attention(in, model);
    read_experts(in, model, {.experts = 64, .top_k = 6, .intermediate = 1407, .shared = 2, .dense_layers = 0});
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

ModelSpec read_deepseek_v3(ConfigObject& in) {
    ModelSpec model = read_common(in, 4096);
    read_latent_attention(in, model);
    read_experts(in, model,
                 {.experts = 256,
                  .top_k = 8,
                  .intermediate = 2048,
                  .shared = 1,
                  .dense_layers = 3,
                  .groups = 8,
                  .chosen_groups = 4});
    if (model.moe) model.moe->correction_bias = true;
    model.mtp_modules = prediction_modules(in);
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

// DeepSeek's layers without score correction.
ModelSpec read_mistral4(ConfigObject& in) {
    ModelSpec model = read_common(
        in,
        ClassSizes{
            .positions = 1048576, .hidden = 4096, .vocab = 131072, .layers = 36, .heads = 32, .intermediate = 12288});
    read_latent_attention(in, model, {.query_rank = 1024, .nope_head_dim = 64, .kv_rank = 256});
    read_experts(in, model, {.experts = 128, .top_k = 4, .intermediate = 2048, .shared = 1, .dense_layers = 0},
                 {.experts = in.has("num_local_experts") ? "num_local_experts" : "n_routed_experts"});
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

// Without experts; the ranks are DeepSeek-V3's.
ModelSpec read_youtu(ConfigObject& in) {
    ModelSpec model = read_common(in, 131072);
    read_latent_attention(in, model);
    model.tied_embeddings = in.flag("tie_word_embeddings", true);
    return model;
}

ModelSpec read_glm4_moe(ConfigObject& in) {
    ModelSpec model = read_common(in, 131072);
    AttentionSpec& attention = model.attention;
    attention.kv_heads = read_kv_heads(in, attention.heads, 8);
    attention.head_dim = read_head_dim(in, model.hidden, attention.heads, "num_attention_heads");
    attention.value_head_dim = attention.head_dim;
    attention.qkv_bias = in.flag("attention_bias", false);  // the output projection has none
    if (in.flag("use_qk_norm", false)) attention.query_key_norm = AttentionSpec::QueryKeyNorm::shared_head;
    read_experts(in, model, {.experts = 128, .top_k = 8, .intermediate = 1408, .shared = 1, .dense_layers = 1});
    if (model.moe) model.moe->correction_bias = true;
    model.mtp_modules = prediction_modules(in);
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

ModelSpec read_dots1(ConfigObject& in) {
    ModelSpec model = read_common(in, 2048);
    read_grouped_attention(in, model, 32);
    read_attention_bias(in, model, false);
    model.attention.query_key_norm = AttentionSpec::QueryKeyNorm::shared_head;
    read_layer_windows(in, model, 4096, 62);
    if (!in.has("n_routed_experts"))
        throw InputError("{}: is missing (a count is expected)", in.path_to("n_routed_experts"));
    read_experts(in, model, {.experts = 1, .top_k = 1, .intermediate = 1408, .shared = 0, .dense_layers = 0});
    if (model.moe) model.moe->correction_bias = true;
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

// `mlp_layer_types` says which layers are dense; without it the first is.
ModelSpec read_glm4_moe_lite(ConfigObject& in) {
    ModelSpec model = read_common(in, 202752);
    read_latent_attention(in, model, {.query_rank = 768, .nope_head_dim = 192, .value_head_dim = 256});
    read_experts(in, model, {.experts = 64, .top_k = 4, .intermediate = 1536, .shared = 1, .dense_layers = 1});
    read_layer_experts(in, model);
    if (model.moe) model.moe->correction_bias = true;
    model.mtp_modules = prediction_modules(in);
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

// EXAONE 4's attention; `mlp_layer_types` says which layers are dense, without it the first ones are.
ModelSpec read_exaone_moe(ConfigObject& in) {
    ModelSpec model = read_exaone4(in);
    read_experts(in, model, {.experts = 64, .top_k = 8, .intermediate = 1024, .shared = 1, .dense_layers = 1},
                 {.experts = "num_experts", .shared = "num_shared_experts"});
    read_layer_experts(in, model);
    if (model.moe) model.moe->correction_bias = true;
    return model;
}

// `mlp_layer_types` says which layers are dense; without it the first is.
ModelSpec read_hy_v3(ConfigObject& in) {
    ModelSpec model = read_common(in, 131072);
    AttentionSpec& attention = model.attention;
    read_grouped_attention(in, model, 8, 128);
    read_attention_bias(in, model, false);
    attention.query_key_norm = AttentionSpec::QueryKeyNorm::shared_head;
    if (in.flag("mlp_bias", false))
        throw InputError("{}: biases beside experts are not modelled", in.path_to("mlp_bias"));
    read_experts(in, model, {.experts = 192, .top_k = 8, .intermediate = 1536, .shared = 1, .dense_layers = 1},
                 {.experts = "num_experts", .shared = "num_shared_experts"});
    read_layer_experts(in, model);
    if (model.moe) model.moe->correction_bias = true;
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

ModelSpec read_minicpm3(ConfigObject& in) {
    ModelSpec model = read_common(in, 32768);
    std::int64_t const divided =
        in.has("v_head_dim") ? 0 : divided_head_dim(in, model.hidden, model.attention.heads, "num_attention_heads");
    read_latent_attention(
        in, model,
        {.query_rank = 768, .nope_head_dim = 64, .value_head_dim = divided, .kv_rank = 256, .rope_head_dim = 32});
    model.mlp.bias = in.flag("mlp_bias", false);
    model.tied_embeddings = in.flag("tie_word_embeddings", true);
    return model;
}

// No layer is dense, so that a config need not say how wide one would be.
ModelSpec read_solar_open(ConfigObject& in) {
    ModelSpec model = read_common(
        in, ClassSizes{.positions = 131072, .intermediate = in.size("moe_intermediate_size", Size::width, 1280)});
    AttentionSpec& attention = model.attention;
    read_grouped_attention(in, model, 8, 128);
    attention.qkv_bias = in.flag("attention_bias", false);  // the output projection has none
    read_experts(in, model, {.experts = 128, .top_k = 8, .intermediate = 1280, .shared = 1, .dense_layers = 0});
    if (model.moe) model.moe->correction_bias = true;
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

ModelSpec read_deepseek_v32(ConfigObject& in) {
    ModelSpec model = read_deepseek_v3(in);
    read_layer_experts(in, model);
    read_key_index(in, model, 64);
    return model;
}

ModelSpec read_glm_moe_dsa(ConfigObject& in) {
    ModelSpec model = read_common(in, 202752);
    read_latent_attention(in, model, {.query_rank = 2048, .nope_head_dim = 192, .value_head_dim = 256});
    read_experts(in, model, {.experts = 256, .top_k = 8, .intermediate = 2048, .shared = 1, .dense_layers = 3});
    read_layer_experts(in, model);
    if (model.moe) model.moe->correction_bias = true;
    read_key_index(in, model, 32);
    model.mtp_modules = prediction_modules(in);
    model.tied_embeddings = in.flag("tie_word_embeddings", false);
    return model;
}

}  // namespace sextant::hf
