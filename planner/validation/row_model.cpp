#include "core/error.hpp"
#include "core/is_one_of.hpp"
#include "core/spec/model_catalog.hpp"
#include "core/spec/model_name.hpp"
#include "core/text.hpp"
#include "planner/validation/training_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <mutex>
#include <optional>

namespace sextant {
namespace {

constexpr std::int64_t gpt2_vocabulary = 50257;
/// After the name of a model that was cut to some of its layers.
constexpr std::string_view truncated = "(truncated)";

/// The preset that the row's name means; each is read once.
ModelSpec const* preset_named(std::string const& model) {
    static std::mutex guard;
    static auto* const specs = new std::map<std::string, ModelSpec>;
    // Adapters make another plan of the same shape, and layers that were left out are counted in the row.
    std::string shape = lower_case(model);
    for (std::string_view const word : {std::string_view("qlora"), std::string_view("lora"), truncated})
        if (auto const at = shape.find(word); at != std::string::npos) shape.replace(at, word.size(), " ");
    auto const name = preset_called(shape);
    if (!name) return nullptr;
    std::lock_guard const lock(guard);
    auto const [spec, is_new] = specs->try_emplace(*name);
    if (is_new) spec->second = find_model(*name);
    return &spec->second;
}

bool agrees(std::optional<std::int64_t> const& cell, std::int64_t value) { return !cell || *cell == value; }

bool is_truncated(TrainingRow const& row) { return lower_case(row.model).find(truncated) != std::string::npos; }

/// True if no stated dimension contradicts the preset. With fewer layers it is the preset that was cut.
bool fits(TrainingRow const& row, ModelSpec const& preset) {
    bool const has_layers = !row.layers || *row.layers <= preset.layer_count();
    bool const has_experts = !preset.moe || lower_case(row.arch) != "dense";
    return has_layers && has_experts && agrees(row.hidden, preset.hidden) &&
           agrees(row.heads, preset.attention.heads) &&
           (!row.kv_heads || preset.attention.latent || *row.kv_heads == preset.attention.kv_heads) &&
           (!row.ffn_hidden || preset.moe || *row.ffn_hidden == preset.mlp.intermediate) &&
           (!row.moe_experts || !preset.moe || *row.moe_experts == preset.moe->experts) &&
           agrees(row.gated_mlp, preset.mlp.gated ? 1 : 0);
}

bool name_has(TrainingRow const& row, std::string_view word) {
    return lower_case(row.model).find(word) != std::string::npos;
}

/// Letters and digits of a text between anything else, in lower case.
std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words(1);
    for (char const c : lower_case(text)) {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0)
            words.back() += c;
        else if (!words.back().empty())
            words.emplace_back();
    }
    return words;
}

bool is_gpt_named(TrainingRow const& row) { return name_has(row, "gpt") || name_has(row, "opt-"); }

/// Layers of the pattern "([0]*3+[1]*13)": 1 is a mixture-of-experts layer.
std::vector<LayerKind> layers_of(TrainingRow const& row, std::int64_t count) {
    std::vector<LayerKind> layers(static_cast<std::size_t>(count), LayerKind{.moe = row.moe_experts.value_or(0) > 0});
    constexpr std::string_view key = "moe-layer-freq=(";
    auto at = row.notes.find(key);
    if (at == std::string::npos) return layers;
    at += key.size();
    std::vector<LayerKind> pattern;
    while (at + 4 < row.notes.size() && row.notes[at] == '[') {
        bool const moe = row.notes[at + 1] == '1';
        std::int64_t repeat = 1;
        at = row.notes.find(']', at);
        if (at == std::string::npos) break;
        ++at;
        if (row.notes[at] == '*') {
            repeat = 0;
            for (++at; at < row.notes.size() && std::isdigit(static_cast<unsigned char>(row.notes[at])) != 0; ++at)
                repeat = std::min<std::int64_t>(10 * repeat + (row.notes[at] - '0'), 100000);
        }
        pattern.insert(pattern.end(), static_cast<std::size_t>(repeat), LayerKind{.moe = moe});
        if (at < row.notes.size() && row.notes[at] == '+') ++at;
    }
    if (static_cast<std::int64_t>(pattern.size()) != count)
        throw RowSkip("moe layer pattern does not have as many entries as layers");
    return pattern;
}

/// What the columns leave open is the way of the family: Megatron's GPT has layer norms, biases and learned positions;
/// Llama-like models have RMS norms, rotary positions and no biases.
void apply_family(TrainingRow const& row, ModelSpec& model, std::vector<std::string>& assumptions) {
    bool const megatron_test = name_has(row, "megatron-ci");
    bool const gpt_like = megatron_test || row.gated_mlp.value_or(0) == 0;
    bool const nemotron = name_has(row, "nemotron");
    bool const biases = gpt_like && !nemotron && !name_has(row, "disable_bias_linear");
    bool const rotary = !gpt_like || nemotron || name_has(row, "rope") || name_has(row, "neox");
    model.norm = gpt_like ? NormKind::layer : NormKind::rms;
    model.norm_bias = gpt_like;
    model.attention.qkv_bias = biases;
    model.attention.output_bias = biases;
    model.mlp.bias = biases;
    if (name_has(row, "qk_layernorm")) model.attention.query_key_norm = AttentionSpec::QueryKeyNorm::shared_head;
    model.position = rotary ? PositionKind::rotary : PositionKind::learned;
    if (!rotary) model.position_rows = model.max_positions;
    assumptions.emplace_back(gpt_like ? "norms, biases and positions as in Megatron's GPT"
                                      : "norms, biases and positions as in Llama");
}

bool follows_gpt(TrainingRow const& row) { return is_gpt_named(row) || row.gated_mlp.value_or(1) == 0; }

AttentionSpec attention_of(TrainingRow const& row, std::int64_t hidden) {
    AttentionSpec a;
    a.heads = TrainingRow::need(row.heads, "heads");
    if (row.kv_heads)
        a.kv_heads = TrainingRow::need(row.kv_heads, "kv_heads");
    else if (follows_gpt(row) || row.source_id.starts_with("hf-ultrascale"))
        a.kv_heads = a.heads;  // the same models print as many in hf-ultrascale
    else
        throw RowSkip("kv_heads is not stated");
    if (!row.head_dim && hidden % a.heads != 0) throw RowSkip("head_dim is not stated and heads do not divide hidden");
    a.head_dim = row.head_dim ? TrainingRow::need(row.head_dim, "head_dim") : hidden / a.heads;
    a.value_head_dim = a.head_dim;
    return a;
}

/// Width of all shared experts together. The column counts experts; a multiple of the width of one expert, which no
/// model has as many of, is a width.
std::int64_t shared_width(TrainingRow const& row, MoeSpec const& moe, std::vector<std::string>& assumptions) {
    constexpr std::int64_t most_shared = 16;  // published models have 1 to 4
    std::int64_t const shared = row.moe_shared.value_or(0);
    bool const is_width = shared > most_shared && moe.intermediate > 0 && shared % moe.intermediate == 0;
    if (is_width) {
        assumptions.emplace_back("moe_shared is a width: a multiple of moe_ffn_hidden");
        return shared;
    }
    if (shared > moe.experts) throw RowSkip("moe_shared is more than moe_experts and no multiple of moe_ffn_hidden");
    return shared * row.note_number("shared expert width ").value_or(moe.intermediate);
}

MoeSpec experts_of(TrainingRow const& row, std::vector<std::string>& assumptions) {
    MoeSpec moe;
    moe.experts = *row.moe_experts;
    moe.top_k = TrainingRow::need(row.moe_topk, "moe_topk");
    moe.intermediate = TrainingRow::need(row.moe_ffn_hidden, "moe_ffn_hidden");
    moe.shared_intermediate = shared_width(row, moe, assumptions);
    return moe;
}

ModelSpec from_columns(TrainingRow const& row, std::vector<std::string>& assumptions) {
    ModelSpec model;
    model.name = row.model;
    model.architecture = row.arch;
    bool const gpt = follows_gpt(row);
    if (!row.gated_mlp && !gpt) throw RowSkip("gated_mlp is not stated");
    model.hidden = TrainingRow::need(row.hidden, "hidden");
    std::int64_t const layers = TrainingRow::need(row.layers, "layers");
    if (layers > 10000) throw RowSkip("layers is more than 10,000");
    model.attention = attention_of(row, model.hidden);
    model.mlp.gated = row.gated_mlp.value_or(0) == 1;
    if (row.ffn_hidden) {
        model.mlp.intermediate = TrainingRow::need(row.ffn_hidden, "ffn_hidden");
    } else if (gpt && !model.mlp.gated) {
        model.mlp.intermediate = 4 * model.hidden;
        assumptions.emplace_back("feed-forward width 4 x hidden");
    } else if (!row.moe_ffn_hidden) {
        throw RowSkip("ffn_hidden is not stated");
    }
    if (row.vocab) {
        model.vocab = TrainingRow::need(row.vocab, "vocab");
    } else if (gpt) {
        model.vocab = gpt2_vocabulary;
        assumptions.emplace_back("vocabulary of GPT-2");
    } else {
        throw RowSkip("vocab is not stated");
    }
    if (row.moe_experts.value_or(0) > 0) model.moe = experts_of(row, assumptions);
    model.layers = layers_of(row, layers);
    model.max_positions = TrainingRow::need(row.seq_len, "seq_len");
    model.mtp_modules = row.note_number("mtp-num-layers=").value_or(0);
    if (row.tied_embed)
        model.tied_embeddings = *row.tied_embed == 1;
    else {
        // nanotron's models print the tied matrix in hf-ultrascale; Megatron ties unless it is told not to.
        model.tied_embeddings = gpt || row.source_id.starts_with("hf-ultrascale");
        assumptions.emplace_back(model.tied_embeddings ? "tied embeddings" : "untied embeddings");
    }
    apply_family(row, model, assumptions);
    return model;
}

bool is_complete(TrainingRow const& row) {
    return row.layers && row.hidden && row.heads && row.kv_heads && row.ffn_hidden && row.vocab && row.gated_mlp;
}

/// Attention in some layers, a recurrence in the others.
bool is_hybrid(TrainingRow const& row) {
    std::string const arch = lower_case(row.arch);
    return arch.find("mamba") != std::string::npos || arch.find("hybrid") != std::string::npos;
}

/// Words of names that are no decoders'. DeepSeek-R1-Distill is the name of models that were trained without a teacher.
void refuse_other_names(TrainingRow const& row) {
    constexpr std::array t5{"t5", "mt5", "byt5", "umt5"};
    constexpr std::array bert{"bert", "roberta", "deberta", "distilbert", "modernbert"};
    constexpr std::array sizes_of_albert{"base", "large", "xlarge", "xxlarge"};
    std::vector<std::string> const words = words_of(row.model);
    for (std::size_t i = 0; i < words.size(); ++i) {
        std::string const& word = words[i];
        std::string const next = i + 1 < words.size() ? words[i + 1] : "";
        bool const is_tokenizer = next.starts_with("token") || next.starts_with("vocab");
        if (is_one_of(t5, word) && !is_tokenizer) throw RowSkip("encoder-decoder model: only decoders here");
        if (!is_tokenizer && (is_one_of(bert, word) || (word == "albert" && is_one_of(sizes_of_albert, next))))
            throw RowSkip("encoder model (BERT): only decoders here");
        if (word == "flextron") throw RowSkip("elastic model: no such model here");
        if (word.starts_with("distill") && (i == 0 || words[i - 1] != "r1"))
            throw RowSkip("distillation holds a teacher model as well");
    }
}

void refuse_other_architectures(TrainingRow const& row, ModelSpec const* preset) {
    if (lower_case(row.arch).find("encoder-decoder") != std::string::npos)
        throw RowSkip("encoder-decoder model: only decoders here");
    if (preset == nullptr) refuse_other_names(row);
    if (row.notes_have("section \"HF + Deepspeed"))
        throw RowSkip("Hugging Face's model under DeepSpeed of 2021, which is no model of Megatron-DeepSpeed");
    if (is_truncated(row) && !row.layers) throw OpenCellSkip(OpenCell::layers);
}

/// Experts, latent attention or a recurrence: the columns do not say all of these.
bool says_more_than_columns(ModelSpec const& preset) {
    return preset.moe || preset.attention.latent || preset.recurrent;
}

bool is_mixture(TrainingRow const& row) {
    std::string const arch = letters_and_digits(row.arch);
    return row.moe_experts.value_or(0) > 0 || arch == "moe" || arch == "mixtureofexperts";
}

ModelSpec from_preset(TrainingRow const& row, ModelSpec model, std::vector<std::string>& assumptions) {
    if (row.layers && *row.layers < model.layer_count()) {
        auto const layers = static_cast<std::size_t>(TrainingRow::need(row.layers, "layers"));
        if (!is_truncated(row))
            assumptions.push_back(
                fmt::format("the first {} of {} layers of the preset of that name", layers, model.layer_count()));
        model.layers.resize(layers);
    }
    if (!is_complete(row) && !is_mixture(row)) assumptions.emplace_back("dimensions of the preset of that name");
    std::int64_t const sequence = TrainingRow::need(row.seq_len, "seq_len");
    if (model.position == PositionKind::learned && model.max_positions < sequence) {
        model.max_positions = model.position_rows = sequence;
        assumptions.push_back(
            fmt::format("learned positions for {} tokens, more than the preset of that name has", sequence));
    }
    if (row.notes_have("w/o MTP") || row.notes_have("without MTP")) model.mtp_modules = 0;
    return model;
}

/// From columns that contradict the preset of the row's name, if it has one.
ModelSpec beside_preset(TrainingRow const& row, ModelSpec const* preset, std::vector<std::string>& assumptions) {
    if (preset == nullptr) return from_columns(row, assumptions);
    if (says_more_than_columns(*preset))
        assumptions.emplace_back(
            "layers and attention as the columns say: the preset of that name has other dimensions");
    try {
        return from_columns(row, assumptions);
    } catch (RowSkip const& skip) {
        throw RowSkip(fmt::format("{}, and the preset of that name has other dimensions", skip.what()));
    }
}

}  // namespace

ModelSpec model_of(TrainingRow const& row, std::vector<std::string>& assumptions) {
    ModelSpec const* const preset = preset_named(row.model);
    refuse_other_architectures(row, preset);
    bool const mixture = is_mixture(row);
    bool const usable = preset != nullptr && fits(row, *preset);
    if (is_hybrid(row) && !(usable && preset->recurrent))
        throw RowSkip(
            "hybrid of attention and recurrent layers, whose order is not stated, and no preset of that name");
    bool const needed = mixture || is_hybrid(row) || !is_complete(row) || name_has(row, "nemotron");
    if (usable && (needed || says_more_than_columns(*preset))) return from_preset(row, *preset, assumptions);
    if (row.notes_have("multi-latent attention") || row.notes_have("MLA attention"))
        throw RowSkip("ranks of latent attention are not stated");
    if (mixture && !row.moe_experts)
        throw RowSkip("mixture of experts with dimensions not stated and no preset of that name");
    if (!row.layers && !row.hidden) throw RowSkip("model dimensions are not stated and no preset has that name");
    if (!usable) return beside_preset(row, preset, assumptions);
    TrainingRow filled = row;
    if (!row.tied_embed) filled.tied_embed = preset->tied_embeddings ? 1 : 0;
    if (row.head_dim) return from_columns(filled, assumptions);
    filled.head_dim = preset->attention.head_dim;
    if (*filled.head_dim * preset->attention.heads != preset->hidden)
        assumptions.push_back(fmt::format("head_dim {} of the preset of that name", *filled.head_dim));
    return from_columns(filled, assumptions);
}

}  // namespace sextant
