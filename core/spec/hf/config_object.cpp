#include "core/spec/hf/config_object.hpp"

#include "core/is_one_of.hpp"
#include "core/nearest.hpp"
#include "core/spec/not_modelled.hpp"

#include <algorithm>

namespace sextant::hf {
namespace {

/// Largest size that is read: far above any model that exists, low enough that products stay exact.
std::int64_t largest(Size kind) {
    switch (kind) {
        case Size::layers: return 10'000;
        case Size::heads: return 65'536;
        case Size::width: return 16'777'216;
        case Size::vocabulary: return 268'435'456;
        case Size::positions: return 1'099'511'627'776;
        case Size::experts: return 1'000'000;
    }
    return 0;
}

std::int64_t checked(std::int64_t value, Size kind, std::string const& where) {
    if (value < 1 || value > largest(kind))
        throw InputError("{}: is {} (1 to {} is allowed)", where, value, largest(kind));
    return value;
}

}  // namespace

std::int64_t ConfigObject::size(std::string_view key, Size kind) {
    return checked(in_.integer(key), kind, in_.path_to(key));
}

std::int64_t ConfigObject::size(std::string_view key, Size kind, std::int64_t fallback) {
    return in_.has(key) ? size(key, kind) : fallback;
}

std::int64_t ConfigObject::size_of(std::initializer_list<std::string_view> keys, Size kind) {
    for (auto const key : keys)
        if (in_.has(key)) return size(key, kind);
    return size(*keys.begin(), kind);
}

std::int64_t ConfigObject::count(std::string_view key, std::int64_t fallback) {
    std::int64_t const value = in_.integer(key, fallback);
    if (value < 0 || value > largest(Size::experts))
        throw InputError("{}: is {} (0 to {} is allowed)", in_.path_to(key), value, largest(Size::experts));
    return value;
}

bool ConfigObject::mentions(std::string_view key) const {
    auto const keys = in_.keys();
    return std::find(keys.begin(), keys.end(), key) != keys.end();
}

std::optional<ConfigObject> ConfigObject::object(std::string_view key) {
    auto inner = in_.optional_object(key);
    if (!inner) return std::nullopt;
    return ConfigObject(std::move(*inner));
}

void check_kv_heads(ConfigObject const& in, std::string_view key, std::int64_t kv_heads, std::int64_t heads) {
    if (kv_heads > heads || heads % kv_heads != 0)
        throw InputError(
            "{}: is {}, which does not divide the {} attention heads (each key/value head serves the same number of "
            "query heads)",
            in.path_to(key), kv_heads, heads);
}

std::int64_t read_kv_heads(ConfigObject& in, std::int64_t heads, std::int64_t class_default) {
    constexpr std::string_view key = "num_key_value_heads";
    std::int64_t const kv_heads = in.size(key, Size::heads, in.mentions(key) ? heads : class_default);
    check_kv_heads(in, key, kv_heads, heads);
    return kv_heads;
}

std::int64_t divided_head_dim(ConfigObject const& in, std::int64_t hidden, std::int64_t heads,
                              std::string_view heads_key) {
    if (hidden % heads != 0)
        throw InputError("{}: is {}, which does not divide the hidden size {} (every head takes an equal part)",
                         in.path_to(heads_key), heads, hidden);
    return hidden / heads;
}

std::int64_t read_head_dim(ConfigObject& in, std::int64_t hidden, std::int64_t heads, std::string_view heads_key) {
    return in.has("head_dim") ? in.size("head_dim", Size::width) : divided_head_dim(in, hidden, heads, heads_key);
}

void read_grouped_attention(ConfigObject& in, ModelSpec& model, std::int64_t class_default_kv_heads) {
    AttentionSpec& attention = model.attention;
    attention.kv_heads = read_kv_heads(in, attention.heads, class_default_kv_heads);
    attention.head_dim = read_head_dim(in, model.hidden, attention.heads, "num_attention_heads");
    attention.value_head_dim = attention.head_dim;
}

void read_grouped_attention(ConfigObject& in, ModelSpec& model, std::int64_t class_default_kv_heads,
                            std::int64_t class_default_head_dim) {
    AttentionSpec& attention = model.attention;
    attention.kv_heads = read_kv_heads(in, attention.heads, class_default_kv_heads);
    attention.head_dim = in.size("head_dim", Size::width, class_default_head_dim);
    attention.value_head_dim = attention.head_dim;
}

std::int64_t default_head_dim(ConfigObject const& in, ModelSpec const& model, std::int64_t class_default) {
    if (!in.mentions("head_dim") || in.has("head_dim")) return class_default;
    return divided_head_dim(in, model.hidden, model.attention.heads, "num_attention_heads");
}

void read_attention_bias(ConfigObject& in, ModelSpec& model, bool class_default) {
    model.attention.qkv_bias = in.flag("attention_bias", class_default);
    model.attention.output_bias = model.attention.qkv_bias;
}

void read_logit_cap(ConfigObject& in, ModelSpec& model, bool class_default) {
    constexpr std::string_view key = "final_logit_softcapping";
    model.capped_logits = in.mentions(key) ? in.number(key, 0) > 0 : class_default;
}

bool looks_both_ways(ConfigObject& in) {
    for (std::string_view const key : {"add_cross_attention", "is_encoder_decoder"})
        if (in.flag(key, false))
            throw InputError("{}: attention to an encoder is not modelled, only one stack of layers", in.path_to(key));
    constexpr std::string_view both_ways = "use_bidirectional_attention";  // a text in Gemma 4: "vision" is of pictures
    if (in.is_text(both_ways) ? in.text(both_ways, "") == "all" : in.flag(both_ways, false)) return true;
    return !in.flag("is_causal", true);
}

ModelSpec read_common(ConfigObject& in, ClassSizes const& known) {
    auto const size = [&](std::string_view key, Size kind, std::optional<std::int64_t> fallback) {
        return fallback ? in.size(key, kind, *fallback) : in.size(key, kind);
    };
    ModelSpec model;
    model.hidden = size("hidden_size", Size::width, known.hidden);
    model.vocab = size("vocab_size", Size::vocabulary, known.vocab);
    model.max_positions = in.size("max_position_embeddings", Size::positions, known.positions);
    model.layers.resize(static_cast<std::size_t>(size("num_hidden_layers", Size::layers, known.layers)));
    model.attention.heads = size("num_attention_heads", Size::heads, known.heads);
    model.attention.kv_heads = model.attention.heads;
    model.mlp = {.intermediate = size("intermediate_size", Size::width, known.intermediate), .gated = true};
    return model;
}

ModelSpec read_common(ConfigObject& in, std::int64_t default_positions) {
    return read_common(in, ClassSizes{.positions = default_positions});
}

namespace {

template <class Entry>
std::vector<Entry> one_per_layer(std::vector<Entry> entries, ConfigObject& in, std::string_view key,
                                 ModelSpec const& model) {
    if (!entries.empty() && entries.size() != model.layers.size())
        throw InputError("{}: has {} entries for {} layers (one per layer is expected)", in.path_to(key),
                         entries.size(), model.layers.size());
    return entries;
}

}  // namespace

std::vector<std::string> layer_texts(ConfigObject& in, std::string_view key, ModelSpec const& model) {
    return one_per_layer(in.texts(key), in, key, model);
}

std::vector<std::int64_t> layer_integers(ConfigObject& in, std::string_view key, ModelSpec const& model) {
    return one_per_layer(in.integers(key), in, key, model);
}

void read_windows(ConfigObject& in, ModelSpec& model, std::int64_t class_default_window,
                  bool (*pattern)(std::int64_t layer)) {
    bool const asked_off = in.mentions("sliding_window") && !in.has("sliding_window");
    std::int64_t const window = asked_off                  ? 0
                                : in.has("sliding_window") ? in.size("sliding_window", Size::positions)
                                                           : class_default_window;
    auto const types = layer_texts(in, "layer_types", model);
    for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
        bool sliding = pattern(static_cast<std::int64_t>(layer));
        if (!types.empty()) {
            sliding = types[layer] == "sliding_attention";
            if (!sliding && types[layer] != "full_attention")
                throw InputError("{}[{}]: is '{}' ('full_attention' or 'sliding_attention' is allowed)",
                                 in.path_to("layer_types"), layer, types[layer]);
            if (sliding && window == 0)
                throw InputError(
                    "{}: layer {} slides, but sliding_window is not given (it has to be a number of tokens)",
                    in.path_to("layer_types"), layer);
        }
        model.layers[layer].sliding = sliding && window > 0;
    }
    bool const any = std::any_of(model.layers.begin(), model.layers.end(), [](LayerKind kind) { return kind.sliding; });
    model.attention.window = any ? window : 0;
}

std::vector<bool> read_rotary_layers(ConfigObject& in, ModelSpec const& model) {
    auto const given = layer_integers(in, "no_rope_layers", model);
    auto const interval = static_cast<std::size_t>(in.size("no_rope_layer_interval", Size::layers, 4));
    std::vector<bool> rotary(model.layers.size());
    for (std::size_t layer = 0; layer < rotary.size(); ++layer)
        rotary[layer] = given.empty() ? (layer + 1) % interval != 0 : given[layer] != 0;
    return rotary;
}

void drop_unused_window(ModelSpec& model) {
    if (std::none_of(model.layers.begin(), model.layers.end(), [](LayerKind kind) { return kind.sliding; }))
        model.attention.window = 0;
}

void widen_every(ModelSpec& model, std::int64_t period) {
    for (std::int64_t layer = period - 1; layer < model.layer_count(); layer += period)
        model.layers[static_cast<std::size_t>(layer)].sliding = false;
    drop_unused_window(model);
}

void read_layer_windows(ConfigObject& in, ModelSpec& model, std::int64_t class_default_window,
                        std::int64_t class_default_first) {
    read_windows(in, model, class_default_window, every_layer);
    std::int64_t const first = in.count("max_window_layers", class_default_first);
    if (in.has("layer_types")) return;
    for (std::size_t layer = 0; layer < model.layers.size(); ++layer)
        if (static_cast<std::int64_t>(layer) < first) model.layers[layer].sliding = false;
    if (first >= model.layer_count()) model.attention.window = 0;
}

std::int64_t read_top_k(ConfigObject& in, std::string_view key, std::int64_t experts, std::int64_t class_default) {
    std::int64_t const top_k = in.size(key, Size::experts, class_default);
    if (top_k > experts)
        throw InputError("{}: is {} of {} experts (at most all of them)", in.path_to(key), top_k, experts);
    return top_k;
}

void place_experts_everywhere(ModelSpec& model) {
    for (LayerKind& kind : model.layers)
        kind.moe = true;
}

void read_experts_everywhere(ConfigObject& in, ModelSpec& model, std::string_view key, std::int64_t class_experts,
                             std::int64_t class_top_k) {
    std::int64_t const experts = in.size(key, Size::experts, class_experts);
    model.moe = MoeSpec{.experts = experts,
                        .top_k = read_top_k(in, "num_experts_per_tok", experts, class_top_k),
                        .intermediate = model.mlp.intermediate};
    place_experts_everywhere(model);
}

ConfigObject text_config(ConfigObject& in, std::initializer_list<std::string_view> text_types) {
    auto text = in.object("text_config");
    if (!text)
        throw InputError(
            "{}: is missing (the text model of a multimodal config is described there; a text-only config has "
            "model_type '{}')",
            in.path_to("text_config"), *text_types.begin());
    auto const type = text->text("model_type", std::string(*text_types.begin()));
    if (is_one_of(text_types, type)) {
        if (looks_both_ways(*text))
            throw InputError("{}: attention that looks both ways is not modelled beside an encoder of pictures",
                             in.path_to("text_config"));
        return std::move(*text);
    }
    auto const why = why_not_modelled(type);
    throw InputError("{}: is '{}'{}{} (read here: {}; give another text model as a config of its own)",
                     text->path_to("model_type"), type.substr(0, 60), why.empty() ? "" : ": ", why,
                     join(std::vector<std::string>(text_types.begin(), text_types.end())));
}

void drop_unused_experts(ModelSpec& model) {
    if (std::none_of(model.layers.begin(), model.layers.end(), [](LayerKind kind) { return kind.moe; }))
        model.moe.reset();
}

void read_layer_experts(ConfigObject& in, ModelSpec& model) {
    auto const types = layer_texts(in, "mlp_layer_types", model);
    for (std::size_t layer = 0; layer < types.size(); ++layer) {
        if (types[layer] != "dense" && types[layer] != "sparse")
            throw InputError("{}[{}]: is '{}' ('dense' or 'sparse' is allowed)", in.path_to("mlp_layer_types"), layer,
                             types[layer]);
        model.layers[layer].moe = model.moe && types[layer] == "sparse";
    }
    drop_unused_experts(model);
}

}  // namespace sextant::hf
