#include "core/spec/hf_config.hpp"

#include "core/is_one_of.hpp"
#include "core/nearest.hpp"
#include "core/spec/hf/architectures.hpp"
#include "core/spec/hf/attention_types.hpp"
#include "core/spec/not_modelled.hpp"
#include "core/spec/output_head.hpp"
#include "core/spec/parameters.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <array>

namespace sextant {
namespace {

using hf::Architecture;
using hf::ConfigObject;

constexpr std::array architectures{
    Architecture{"afmoe", "AfmoeForCausalLM", hf::read_afmoe},
    Architecture{"apertus", "ApertusForCausalLM", hf::read_apertus},
    Architecture{"arcee", "ArceeForCausalLM", hf::read_arcee},
    Architecture{"arctic", "ArcticForCausalLM", hf::read_arctic},
    Architecture{"baichuan", "BaichuanForCausalLM", hf::read_baichuan},
    Architecture{"bailing_moe", "BailingMoeForCausalLM", hf::read_bailing_moe},
    Architecture{"bailing_moe_v2", "BailingMoeV2ForCausalLM", hf::read_bailing_moe_v2},
    Architecture{"bamba", "BambaForCausalLM", hf::read_bamba},
    Architecture{"bert", "BertForMaskedLM", hf::read_bert},
    Architecture{"bloom", "BloomForCausalLM", hf::read_bloom},
    Architecture{"chatglm", "ChatGLMModel", hf::read_chatglm},
    Architecture{"codegen", "CodeGenForCausalLM", hf::read_gptj},
    Architecture{"cohere", "CohereForCausalLM", hf::read_cohere},
    Architecture{"cohere2", "Cohere2ForCausalLM", hf::read_cohere2},
    Architecture{"cwm", "CwmForCausalLM", hf::read_cwm},
    Architecture{"dbrx", "DbrxForCausalLM", hf::read_dbrx},
    Architecture{"deepseek", "DeepseekForCausalLM", hf::read_deepseek},
    Architecture{"deepseek_v2", "DeepseekV2ForCausalLM", hf::read_deepseek_v2},
    Architecture{"deepseek_v3", "DeepseekV3ForCausalLM", hf::read_deepseek_v3},
    Architecture{"deepseek_v32", "DeepseekV32ForCausalLM", hf::read_deepseek_v32},
    Architecture{"dots1", "Dots1ForCausalLM", hf::read_dots1},
    Architecture{"ernie4_5", "Ernie4_5ForCausalLM", hf::read_ernie4_5},
    Architecture{"ernie4_5_moe", "Ernie4_5_MoeForCausalLM", hf::read_ernie4_5_moe},
    Architecture{"exaone", "ExaoneForCausalLM", hf::read_exaone},
    Architecture{"exaone4", "Exaone4ForCausalLM", hf::read_exaone4},
    Architecture{"exaone_moe", "ExaoneMoeForCausalLM", hf::read_exaone_moe},
    Architecture{"falcon", "FalconForCausalLM", hf::read_falcon},
    Architecture{"flex_olmo", "FlexOlmoForCausalLM", hf::read_flex_olmo},
    Architecture{"gemma", "GemmaForCausalLM", hf::read_gemma},
    Architecture{"gemma2", "Gemma2ForCausalLM", hf::read_gemma2},
    Architecture{"gemma3", "Gemma3ForConditionalGeneration", hf::read_gemma3},
    Architecture{"gemma3_text", "Gemma3ForCausalLM", hf::read_gemma3_text},
    Architecture{"gemma4", "Gemma4ForConditionalGeneration", hf::read_gemma4},
    Architecture{"gemma4_text", "Gemma4ForCausalLM", hf::read_gemma4_text},
    Architecture{"glm", "GlmForCausalLM", hf::read_glm},
    Architecture{"glm4", "Glm4ForCausalLM", hf::read_glm4},
    Architecture{"glm4_moe", "Glm4MoeForCausalLM", hf::read_glm4_moe},
    Architecture{"glm4_moe_lite", "Glm4MoeLiteForCausalLM", hf::read_glm4_moe_lite},
    Architecture{"glm_moe_dsa", "GlmMoeDsaForCausalLM", hf::read_glm_moe_dsa},
    Architecture{"gpt2", "GPT2LMHeadModel", hf::read_gpt2},
    Architecture{"gpt_bigcode", "GPTBigCodeForCausalLM", hf::read_gpt_bigcode},
    Architecture{"gpt_neo", "GPTNeoForCausalLM", hf::read_gpt_neo},
    Architecture{"gpt_neox", "GPTNeoXForCausalLM", hf::read_gpt_neox},
    Architecture{"gpt_oss", "GptOssForCausalLM", hf::read_gpt_oss},
    Architecture{"gptj", "GPTJForCausalLM", hf::read_gptj},
    Architecture{"granite", "GraniteForCausalLM", hf::read_granite},
    Architecture{"granite_swa", "GraniteSWAForCausalLM", hf::read_granite_swa},
    Architecture{"granitemoe", "GraniteMoeForCausalLM", hf::read_granitemoe},
    Architecture{"granitemoehybrid", "GraniteMoeHybridForCausalLM", hf::read_granitemoehybrid},
    Architecture{"granitemoe_swa", "GraniteMoeSWAForCausalLM", hf::read_granitemoe_swa},
    Architecture{"granitemoeshared", "GraniteMoeSharedForCausalLM", hf::read_granitemoeshared},
    Architecture{"grok-1", "Grok1ModelForCausalLM", hf::read_grok},
    Architecture{"grok-2", "Grok1ForCausalLM", hf::read_grok},
    Architecture{"helium", "HeliumForCausalLM", hf::read_helium},
    Architecture{"hunyuan_v1_dense", "HunYuanDenseV1ForCausalLM", hf::read_hunyuan_v1_dense},
    Architecture{"hunyuan_v1_moe", "HunYuanMoEV1ForCausalLM", hf::read_hunyuan_v1_moe},
    Architecture{"hy_v3", "HYV3ForCausalLM", hf::read_hy_v3},
    Architecture{"internlm", "InternLMForCausalLM", hf::read_internlm},
    Architecture{"internlm2", "InternLM2ForCausalLM", hf::read_internlm2},
    Architecture{"internlm3", "InternLM3ForCausalLM", hf::read_internlm3},
    Architecture{"iquestcoder", "IQuestCoderForCausalLM", hf::read_iquestcoder},
    Architecture{"jais2", "Jais2ForCausalLM", hf::read_jais2},
    Architecture{"kimi_k2", "KimiK2ForCausalLM", hf::read_deepseek_v3},
    Architecture{"kimi_k25", "KimiK25ForConditionalGeneration", hf::read_kimi_k25},
    Architecture{"llama", "LlamaForCausalLM", hf::read_llama},
    Architecture{"llama4", "Llama4ForConditionalGeneration", hf::read_llama4},
    Architecture{"llama4_text", "Llama4ForCausalLM", hf::read_llama4_text},
    Architecture{"mellum", "MellumForCausalLM", hf::read_mellum},
    Architecture{"mimo_v2_flash", "MiMoV2FlashForCausalLM", hf::read_mimo_v2_flash},
    Architecture{"minicpm3", "MiniCPM3ForCausalLM", hf::read_minicpm3},
    Architecture{"minimax_m2", "MiniMaxM2ForCausalLM", hf::read_minimax_m2},
    Architecture{"ministral", "MinistralForCausalLM", hf::read_ministral},
    Architecture{"ministral3", "Ministral3ForCausalLM", hf::read_ministral3},
    Architecture{"mistral", "MistralForCausalLM", hf::read_mistral},
    Architecture{"mistral3", "Mistral3ForConditionalGeneration", hf::read_mistral3},
    Architecture{"mistral4", "Mistral4ForCausalLM", hf::read_mistral4},
    Architecture{"mixtral", "MixtralForCausalLM", hf::read_mixtral},
    Architecture{"modernbert", "ModernBertForMaskedLM", hf::read_modernbert},
    Architecture{"mpt", "MPTForCausalLM", hf::read_mpt},
    Architecture{"nemotron", "NemotronForCausalLM", hf::read_nemotron},
    Architecture{"nemotron_h", "NemotronHForCausalLM", hf::read_nemotron_h},
    Architecture{"olmo", "OlmoForCausalLM", hf::read_olmo},
    Architecture{"olmo2", "Olmo2ForCausalLM", hf::read_olmo2},
    Architecture{"olmo3", "Olmo3ForCausalLM", hf::read_olmo3},
    Architecture{"olmo_hybrid", "OlmoHybridForCausalLM", hf::read_olmo_hybrid},
    Architecture{"olmoe", "OlmoeForCausalLM", hf::read_olmoe},
    Architecture{"opt", "OPTForCausalLM", hf::read_opt},
    Architecture{"phi", "PhiForCausalLM", hf::read_phi},
    Architecture{"phi3", "Phi3ForCausalLM", hf::read_phi3},
    Architecture{"phimoe", "PhimoeForCausalLM", hf::read_phimoe},
    Architecture{"qwen", "QWenLMHeadModel", hf::read_qwen},
    Architecture{"qwen2", "Qwen2ForCausalLM", hf::read_qwen2},
    Architecture{"qwen2_moe", "Qwen2MoeForCausalLM", hf::read_qwen2_moe},
    Architecture{"qwen2_5_vl", "Qwen2_5_VLForConditionalGeneration", hf::read_qwen2_5_vl},
    Architecture{"qwen3", "Qwen3ForCausalLM", hf::read_qwen3},
    Architecture{"qwen3_moe", "Qwen3MoeForCausalLM", hf::read_qwen3_moe},
    Architecture{"qwen3_vl", "Qwen3VLForConditionalGeneration", hf::read_qwen3_vl},
    Architecture{"qwen3_vl_moe", "Qwen3VLMoeForConditionalGeneration", hf::read_qwen3_vl_moe},
    Architecture{"qwen3_next", "Qwen3NextForCausalLM", hf::read_qwen3_next},
    Architecture{"qwen3_5", "Qwen3_5ForConditionalGeneration", hf::read_qwen3_5},
    Architecture{"qwen3_5_text", "Qwen3_5ForCausalLM", hf::read_qwen3_5_text},
    Architecture{"qwen3_5_moe", "Qwen3_5MoeForConditionalGeneration", hf::read_qwen3_5_moe},
    Architecture{"qwen3_5_moe_text", "Qwen3_5MoeForCausalLM", hf::read_qwen3_5_moe_text},
    Architecture{"roberta", "RobertaForMaskedLM", hf::read_roberta},
    Architecture{"seed_oss", "SeedOssForCausalLM", hf::read_seed_oss},
    Architecture{"smollm3", "SmolLM3ForCausalLM", hf::read_smollm3},
    Architecture{"solar_open", "SolarOpenForCausalLM", hf::read_solar_open},
    Architecture{"stablelm", "StableLmForCausalLM", hf::read_stablelm},
    Architecture{"starcoder2", "Starcoder2ForCausalLM", hf::read_starcoder2},
    Architecture{"vaultgemma", "VaultGemmaForCausalLM", hf::read_vaultgemma},
    Architecture{"xlm-roberta", "XLMRobertaForMaskedLM", hf::read_roberta},
    Architecture{"youtu", "YoutuForCausalLM", hf::read_youtu},
};

Architecture const* of_class(std::vector<std::string> const& classes) {
    for (auto const& entry : architectures)
        if (!classes.empty() && entry.model_class == classes.front()) return &entry;
    return nullptr;
}

/// What ends the name of a class says what it puts on the layers. Labels of 0: as many as its config has.
struct ClassHead {
    std::string_view ending;
    HeadChoice choice;
};

constexpr std::array class_heads{
    ClassHead{"ForCausalLM", {}},
    ClassHead{"ForMaskedLM", {}},
    ClassHead{"LMHeadModel", {}},
    ClassHead{"ForConditionalGeneration", {}},
    ClassHead{"ForSequenceClassification", {.head = OutputHead::labels}},
    ClassHead{"ForTokenClassification", {.head = OutputHead::labels, .pooled = false}},
    // Where an answer begins and ends.
    ClassHead{"ForQuestionAnswering", {.head = OutputHead::labels, .labels = 2, .pooled = false}},
    ClassHead{"TextModel", {.head = OutputHead::none}},
    ClassHead{"Model", {.head = OutputHead::none}},
};

/// Nothing for a class "...For..." that none of these ends.
ClassHead const* head_of_class(std::string_view name) {
    bool const bare = name.find("For") == std::string_view::npos;
    auto const* const found = std::find_if(class_heads.begin(), class_heads.end(), [&](ClassHead const& entry) {
        return name.ends_with(entry.ending) && (bare || entry.ending.starts_with("For"));
    });
    return found == class_heads.end() ? nullptr : found;
}

/// The name of a class without what says its head, in small letters: "LlamaForTokenClassification" is "llama".
std::string family_of_class(std::string_view name) {
    ClassHead const* const head = head_of_class(name);
    std::string_view const ending =
        head != nullptr ? head->ending : name.substr(std::min(name.find("For"), name.size()));
    return lower_case(name.substr(0, name.size() - ending.size()));
}

/// Whether a class has the layers that `entry` reads: it is its own, in any letter case, that of another entry with the
/// same reader, or one of those that are read by their keys.
bool has_layers_of(std::string_view name, Architecture const& entry) {
    constexpr std::array<std::string_view, 2> by_their_keys{"ChatGLMForConditionalGeneration", "GPT2LMHeadCustomModel"};
    auto const text = lower_case(name);
    return std::any_of(std::begin(architectures), std::end(architectures),
                       [&](Architecture const& other) {
                           return other.read == entry.read && lower_case(other.model_class) == text;
                       }) ||
           is_one_of(by_their_keys, name);
}

/// Whether a class puts another head on the layers that `entry` reads.
bool shares_layers_of(std::string_view name, Architecture const& entry) {
    std::string const family = family_of_class(name);
    return std::any_of(std::begin(architectures), std::end(architectures), [&](Architecture const& other) {
        return other.read == entry.read && family_of_class(other.model_class) == family;
    });
}

/// Labels of a classifier. transformers writes the names of all but two, its default.
std::int64_t read_labels(ConfigObject& in) {
    if (auto const names = in.object("id2label"); names && names->count_of_keys() > 0) return names->count_of_keys();
    return in.size("num_labels", hf::Size::width, 2);
}

/// The head that the config asks for (`output_head`), else that of its class. A class that is not the architecture's
/// own may have other layers, or a head that is not known.
HeadChoice read_head(ConfigObject& in, Architecture const& entry) {
    auto const classes = in.texts("architectures");
    bool const own = classes.empty() || has_layers_of(classes.front(), entry);
    if (!own && !shares_layers_of(classes.front(), entry))
        throw InputError(
            "{}: '{}' is a class that is not known and may have other layers (name {}, the class that '{}' is read as, "
            "or none, to count its layers)",
            in.path_to("architectures"), classes.front().substr(0, 60), entry.model_class, entry.name);
    if (in.has(output_head_key)) return head_choice_from(in.text(output_head_key, ""), in.path_to(output_head_key));
    if (own) return {};
    ClassHead const* const head = head_of_class(classes.front());
    if (head == nullptr)
        throw InputError(
            "{}: '{}' has the layers of '{}', and a head that is not known (\"output_head\": \"scalar\" beside it "
            "counts one number a token, \"none\" the layers alone, \"vocabulary\" logits)",
            in.path_to("architectures"), classes.front().substr(0, 60), entry.name);
    HeadChoice choice = head->choice;
    if (choice.head == OutputHead::labels && choice.labels == 0) choice.labels = read_labels(in);
    return choice;
}

/// Encoders beside a model whose architecture is one of text are not what its reports could say is left out.
void refuse_encoders(ConfigObject& in, Architecture const& entry) {
    if (is_multimodal(entry.name)) return;
    for (std::string_view const key : {"vision_config", "audio_config", "visual"})
        if (in.has(key))
            throw InputError(
                "{}: encoders beside '{}' are not modelled (leave the key out to count the language model)",
                in.path_to(key), entry.name);
}

/// Whether `name` is a later version of `type`: "bailing_moe_v2" of "bailing_moe".
bool is_version_of(std::string_view name, std::string_view type) {
    return name.starts_with(type) && name.substr(type.size()).starts_with("_v") && name.back() >= '0' &&
           name.back() <= '9';
}

/// By `model_type` (where the class is of a later version of it, as in the configs of Ling 2.0, by that), or, where
/// that is missing or says nothing (Grok-2's is that of a model for images), by the first entry of `architectures`.
Architecture const& find_architecture(ConfigObject& in) {
    auto const known = known_architectures();
    auto const classes = in.texts("architectures");
    if (in.has("model_type")) {
        auto const type = in.text("model_type", "");
        auto const* const by_class = of_class(classes);
        if (by_class != nullptr && is_version_of(by_class->name, type)) return *by_class;
        for (auto const& entry : architectures)
            if (entry.name == type) return entry;
        if (by_class != nullptr) return *by_class;
        if (auto const why = why_not_modelled(type); !why.empty())
            throw InputError("{}: '{}': {}", in.path_to("model_type"), type.substr(0, 60), why);
        for (std::string const& name : classes)
            if (auto const why = why_not_modelled(name); !why.empty())
                throw InputError("{}: '{}': {}", in.path_to("architectures"), name.substr(0, 60), why);
        throw InputError("{}: unknown architecture '{}'{} (known: {})", in.path_to("model_type"), type.substr(0, 60),
                         did_you_mean(type, known), join(known));
    }
    if (classes.empty())
        throw InputError("{}: is missing (it names the architecture; known: {})", in.path_to("model_type"),
                         join(known));
    if (auto const* entry = of_class(classes)) return *entry;
    if (auto const why = why_not_modelled(classes.front()); !why.empty())
        throw InputError("{}: '{}': {}", in.path_to("architectures"), classes.front().substr(0, 60), why);
    throw InputError("{}: model_type is missing, and '{}' is an unknown class (known model types: {})",
                     in.path_to("architectures"), classes.front().substr(0, 60), join(known));
}

/// Whether the quantised checkpoint that the config belongs to left attention as it was: then the experts are what is
/// narrow. Source: `modules_to_not_convert` of quantization_config, as Hugging Face writes it; `ignore`, as
/// compressed-tensors and ModelOpt do, which may also name single layers, or all by a pattern.
bool keeps_attention(ConfigObject& in, ModelSpec const& model) {
    auto quantised = in.object("quantization_config");
    if (!quantised) return false;
    auto const names_attention = [](std::string const& module) {
        return module.find("self_attn") != std::string::npos;
    };
    auto const kept = quantised->texts("modules_to_not_convert");
    if (std::any_of(kept.begin(), kept.end(), names_attention)) return true;
    auto const ignored = quantised->texts("ignore");
    auto const of_all_layers = [&](std::string const& module) {
        return names_attention(module) && (module.starts_with("re:") || module.find('*') < module.find("self_attn"));
    };
    return std::any_of(ignored.begin(), ignored.end(), of_all_layers) ||
           std::count_if(ignored.begin(), ignored.end(), names_attention) >= model.layer_count();
}

/// The kind and the factor of a scaling of rotary positions, under the names of older and newer configs; nothing where
/// layers of different kinds have scalings of their own.
std::optional<ConfigObject> rotary_scaling(ConfigObject& in) {
    for (std::string_view const key : {"rope_scaling", "rope_parameters"})
        if (auto scaling = in.object(key); scaling && (scaling->has("rope_type") || scaling->has("type")))
            return scaling;
    return std::nullopt;
}

/// The longest sequence that engines take of a config with scaled rotary positions: of "yarn" the original length times
/// the factor, of "linear" and "dynamic" `max_position_embeddings` times it; "llama3" and "longrope" are in that
/// already, as Gemma 3's "linear" is. Never less than `max_position_embeddings`.
/// Source: vLLM 0.11, config/model.py, _get_and_verify_max_len; transformers 4.57, modeling_rope_utils.py.
std::int64_t scaled_positions(ConfigObject& in, ModelSpec const& model) {
    constexpr double most = 1'099'511'627'776;  // of `Size::positions`
    auto scaling = rotary_scaling(in);
    if (!scaling || model.architecture.starts_with("gemma3")) return model.max_positions;
    std::string const type = scaling->text(scaling->has("rope_type") ? "rope_type" : "type", "");
    bool const yarn = type == "yarn";
    if (!yarn && type != "linear" && type != "dynamic") return model.max_positions;
    double const factor = scaling->number("factor", 1);
    if (!(factor > 0 && factor <= 1e6))
        throw InputError("{}: is {} (above 0, up to 1e6)", scaling->path_to("factor"), factor);
    constexpr std::string_view original = "original_max_position_embeddings";
    std::int64_t const from =
        yarn ? scaling->size(original, hf::Size::positions, model.max_positions) : model.max_positions;
    double const scaled = static_cast<double>(from) * factor;
    if (scaled > most)
        throw InputError("{}: {} times {} tokens are more than any model has", scaling->path_to("factor"), factor,
                         from);
    return std::max(model.max_positions, static_cast<std::int64_t>(scaled));
}

/// The same of the text model of a multimodal config, where it is described by itself.
std::int64_t longest_sequence(ConfigObject& in, ModelSpec const& model) {
    if (auto text = in.object("text_config")) return scaled_positions(*text, model);
    return scaled_positions(in, model);
}

/// Sizes that are believable one by one may still not be together; past 2^53 the counts would not be exact.
void refuse_absurd_total(ModelSpec const& model) {
    constexpr double most = 1e16;
    double total = 0;
    auto const add = [&total](std::vector<Parameter> const& parameters, double times) {
        for (auto const& p : parameters)
            total +=
                times * static_cast<double>(p.rows) * static_cast<double>(p.columns) * static_cast<double>(p.copies);
    };
    for (LayerKind const kind : model.layers)
        add(layer_parameters(model, kind), 1);
    add(embedding_parameters(model), 1);
    add(head_parameters(model), 1);
    if (model.mtp_modules > 0) add(mtp_parameters(model), static_cast<double>(model.mtp_modules));
    if (total > most)
        throw InputError("{}: describes a model of {:.3g} parameters (at most {:.0g} are counted exactly)", model.name,
                         total, most);
}

}  // namespace

std::vector<std::string> known_architectures() {
    std::vector<std::string> names;
    names.reserve(std::size(architectures));
    for (auto const& entry : architectures)
        names.emplace_back(entry.name);
    return names;
}

ModelSpec read_hf_config(std::string_view text, std::string name) {
    auto const document = JsonDocument::from_text(hf::with_attention_layers(text, name), name);
    ConfigObject in{ObjectReader(document)};
    Architecture const& architecture = find_architecture(in);
    bool const both_ways = hf::looks_both_ways(in);
    HeadChoice const head = read_head(in, architecture);
    refuse_encoders(in, architecture);
    ModelSpec model = with_head(architecture.read(in), head);
    model.causal = model.causal && !both_ways;
    model.name = std::move(name);
    model.architecture = architecture.name;
    model.max_positions = longest_sequence(in, model);
    model.only_experts_narrow = model.moe && keeps_attention(in, model);
    refuse_absurd_total(model);
    return model;
}

}  // namespace sextant
