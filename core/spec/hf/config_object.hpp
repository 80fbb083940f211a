#pragma once

#include "core/json/object_reader.hpp"
#include "core/spec/model_spec.hpp"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant::hf {

/// What a number in a config counts; decides how large a value is still believable.
enum class Size : std::uint8_t { layers, heads, width, vocabulary, positions, experts };

/// One object of a Hugging Face config: sizes with a plausible range, flags, and the conventions that several
/// architectures share. Every error names the document and the key.
class ConfigObject {
public:
    explicit ConfigObject(ObjectReader in) : in_(std::move(in)) {}

    /// A size that has to be there. @throws InputError: absent, not a whole number, below 1, or beyond the range of its
    /// kind.
    std::int64_t size(std::string_view key, Size kind);
    /// The same, with the class default for an absent or null key.
    std::int64_t size(std::string_view key, Size kind, std::int64_t fallback);
    /// The first of several spellings that is there; `keys[0]` is named if none is.
    std::int64_t size_of(std::initializer_list<std::string_view> keys, Size kind);
    /// A count that may be zero (`first_k_dense_replace`).
    std::int64_t count(std::string_view key, std::int64_t fallback);
    /// Absent and null mean different things in some classes: true if the key is there, whatever its value.
    [[nodiscard]] bool mentions(std::string_view key) const;
    [[nodiscard]] bool has(std::string_view key) const { return in_.has(key); }
    [[nodiscard]] bool is_text(std::string_view key) const { return in_.is_text(key); }
    [[nodiscard]] bool is_list(std::string_view key) const { return in_.is_list(key); }

    bool flag(std::string_view key, bool fallback) { return in_.flag(key, fallback); }
    double number(std::string_view key, double fallback) { return in_.number(key, fallback); }
    std::string text(std::string_view key, std::string fallback) { return in_.text(key, std::move(fallback)); }
    std::vector<std::string> texts(std::string_view key) { return in_.texts(key); }
    std::vector<std::int64_t> integers(std::string_view key) { return in_.integers(key); }
    std::optional<ConfigObject> object(std::string_view key);
    [[nodiscard]] std::int64_t count_of_keys() const { return static_cast<std::int64_t>(in_.keys().size()); }

    [[nodiscard]] std::string path_to(std::string_view key) const { return in_.path_to(key); }

private:
    ObjectReader in_;
};

/// @throws InputError if the key/value heads, read under `key`, do not divide the heads.
void check_kv_heads(ConfigObject const& in, std::string_view key, std::int64_t kv_heads, std::int64_t heads);

/// `num_key_value_heads`: the class default if the key is absent, `heads` if it is null.
/// @throws InputError if it does not divide `heads`.
std::int64_t read_kv_heads(ConfigObject& in, std::int64_t heads, std::int64_t class_default);

/// `head_dim`, else hidden / heads. @throws InputError if heads do not divide hidden and no `head_dim` is given.
std::int64_t read_head_dim(ConfigObject& in, std::int64_t hidden, std::int64_t heads, std::string_view heads_key);

/// hidden / heads where the class knows no other way. @throws InputError if heads do not divide hidden.
std::int64_t divided_head_dim(ConfigObject const& in, std::int64_t hidden, std::int64_t heads,
                              std::string_view heads_key);

/// Sizes of grouped-query attention: key/value heads and head_dim, of queries and values alike.
void read_grouped_attention(ConfigObject& in, ModelSpec& model, std::int64_t class_default_kv_heads);
/// The same of classes that know a `head_dim` without being told, whatever the width.
void read_grouped_attention(ConfigObject& in, ModelSpec& model, std::int64_t class_default_kv_heads,
                            std::int64_t class_default_head_dim);

/// What classes that know a `head_dim` take without one: `class_default` where the key is absent, hidden / heads where
/// it is null.
std::int64_t default_head_dim(ConfigObject const& in, ModelSpec const& model, std::int64_t class_default);

/// `attention_bias`: biases on all four projections of the attention, or on none.
void read_attention_bias(ConfigObject& in, ModelSpec& model, bool class_default);

/// `final_logit_softcapping`: the class default if the key is absent, none if it is null.
void read_logit_cap(ConfigObject& in, ModelSpec& model, bool class_default);

/// Whether a key makes an encoder of a decoder's class: attention that looks both ways (`use_bidirectional_attention`,
/// `is_causal` false). @throws InputError where it looks to an encoder (`add_cross_attention`, `is_encoder_decoder`).
bool looks_both_ways(ConfigObject& in);

/// Sizes under the names that most decoder classes share: `hidden_size`, `num_hidden_layers`, `num_attention_heads`,
/// `intermediate_size`, `vocab_size`, `max_position_embeddings`; gated MLP, RMS norms, rotary positions, MHA.
ModelSpec read_common(ConfigObject& in, std::int64_t default_positions);
/// Sizes that a class knows without being told: multimodal configs leave out all that are its defaults.
struct ClassSizes {
    std::int64_t positions = 0;
    std::optional<std::int64_t> hidden{}, vocab{}, layers{}, heads{}, intermediate{};
};
/// The same of such a class.
ModelSpec read_common(ConfigObject& in, ClassSizes const& known);

/// Entries of a list with one for each layer; empty without the key. @throws InputError if it has more or fewer.
std::vector<std::string> layer_texts(ConfigObject& in, std::string_view key, ModelSpec const& model);
std::vector<std::int64_t> layer_integers(ConfigObject& in, std::string_view key, ModelSpec const& model);

/// `layer_types` ("sliding_attention" / "full_attention", one per layer) into `LayerKind::sliding`; absent:
/// `pattern(layer)`. Reads the window from `sliding_window`; without one (null, or absent with no class default) every
/// layer is full.
void read_windows(ConfigObject& in, ModelSpec& model, std::int64_t class_default_window,
                  bool (*pattern)(std::int64_t layer));

/// Which layers have rotary positions: the ones of `no_rope_layers` (named after its zeros), else all but every
/// `no_rope_layer_interval`-th. @throws InputError if the list has not one for each layer.
std::vector<bool> read_rotary_layers(ConfigObject& in, ModelSpec const& model);

/// A model none of whose layers slide has no window.
void drop_unused_window(ModelSpec& model);

/// Every `period`-th layer looks back over everything after all.
void widen_every(ModelSpec& model, std::int64_t period);

/// The same of a model whose layers slide from the `max_window_layers`-th on.
void read_layer_windows(ConfigObject& in, ModelSpec& model, std::int64_t class_default_window,
                        std::int64_t class_default_first);

/// Experts that a token goes to, under `key`. @throws InputError if they are more than `experts`.
std::int64_t read_top_k(ConfigObject& in, std::string_view key, std::int64_t experts, std::int64_t class_default);

/// Every layer has experts.
void place_experts_everywhere(ModelSpec& model);

/// As many experts as stand under `key` in every layer, each as wide as the dense feed-forward would be.
void read_experts_everywhere(ConfigObject& in, ModelSpec& model, std::string_view key, std::int64_t class_experts,
                             std::int64_t class_top_k);

/// A model whose layers are all dense has no experts, whatever its config says of them.
void drop_unused_experts(ModelSpec& model);

/// `mlp_layer_types`, where it is there, says which layers are dense and which sparse.
void read_layer_experts(ConfigObject& in, ModelSpec& model);

/// What describes the text model of a multimodal config, `text_config`. @throws InputError without one, or of another
/// kind.
/// @param text_types what its `model_type` may be; the first where it has none
ConfigObject text_config(ConfigObject& in, std::initializer_list<std::string_view> text_types);

/// Qwen's choice of layers: every `decoder_sparse_step`-th layer has experts, but for those in `mlp_only_layers`.
void place_experts(ConfigObject& in, ModelSpec& model);

inline bool every_layer(std::int64_t) { return true; }
inline bool all_but_the_first(std::int64_t layer) { return layer > 0; }
inline bool last_three_of_four(std::int64_t layer) { return layer % 4 != 0; }
inline bool even_layers(std::int64_t layer) { return layer % 2 == 0; }

/// One way to read a config: `name` is its `model_type`, `model_class` what `architectures` calls it.
struct Architecture {
    std::string_view name;
    std::string_view model_class;
    ModelSpec (*read)(ConfigObject& in);
};

}  // namespace sextant::hf
