#include "core/spec/not_modelled.hpp"

#include "core/is_one_of.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <array>

namespace sextant {
namespace {

constexpr std::string_view encoder_decoder =
    "encoders and decoders with attention between them are not modelled, only decoders (a decoder of the same width "
    "and as many layers as both halves together has about the same products)";
constexpr std::string_view encoder =
    "encoders, whose attention looks both ways, have no preset (give the Hugging Face config.json of a model of bert, "
    "roberta, xlm-roberta or modernbert; others are not modelled)";
constexpr std::string_view relative_positions =
    "attention with Transformer-XL's relative positions, a thirteenth of its parameters, is not modelled (give a "
    "config of "
    "the same layers, heads and width without them as model_type gpt_neox)";
constexpr std::string_view first_mamba =
    "recurrent layers of Mamba's first kind are not modelled (Mamba-2 beside attention is: nemotron_h, "
    "granitemoehybrid, bamba)";
constexpr std::string_view recurrent_alone = "models of recurrent layers alone are not modelled";
constexpr std::string_view other_recurrence =
    "its recurrent layers are of a kind that is not modelled (Mamba-2 and the gated delta rule are: nemotron_h, "
    "qwen3_next)";
constexpr std::string_view mixed_experts =
    "layers with a gated feed-forward beside layers whose experts have no gate are not modelled";
constexpr std::string_view shared_caches = "keys and values that layers share are not modelled";
constexpr std::string_view uneven_layers =
    "layers that differ in heads or width are not modelled (give a config of their average)";
constexpr std::string_view factorised_queries =
    "queries of low rank over keys of full rank are not modelled (a config without the low rank comes near)";
constexpr std::string_view gated_heads =
    "layers that differ in heads, with a gate on each head's output, are not modelled (give a config of their average)";
constexpr std::string_view shared_blocks =
    "blocks of attention whose weights several layers share, with adapters of each layer's own, are not modelled";
constexpr std::string_view layer_inputs =
    "embeddings of each layer's own, and keys and values that layers share, are not modelled (a gemma3 config of the "
    "same layers comes near in the products)";
constexpr std::string_view cross_attention =
    "layers that attend to an encoder's pictures are not modelled (a llama config without them has the products of the "
    "others)";
constexpr std::string_view several_bases =
    "is the name of tuned models of several families (give that of its base: gpt-j-6b, llama-13b or mpt-7b)";
constexpr std::string_view beside_attention = "recurrent heads beside attention in one layer are not modelled";
constexpr std::string_view diffusion = "models of pictures that denoise are not modelled, only decoders of text";
constexpr std::string_view pictures =
    "encoders of pictures are not modelled, only decoders (of a model that has both give the name of its language "
    "model, or a config.json with its sizes)";
constexpr std::string_view unpublished =
    "its sizes are not published (give a Hugging Face config.json with the sizes that you assume)";

struct Reason {
    std::string_view beginning;  ///< of a name, as letters and digits
    std::string_view why;
};

constexpr std::array reasons{
    Reason{"ai21jamba", first_mamba},
    Reason{"bart", encoder_decoder},
    Reason{"bert", encoder},
    Reason{"blip", pictures},
    Reason{"chinchilla", relative_positions},
    Reason{"claude", unpublished},
    Reason{"clip", pictures},
    Reason{"ddpm", diffusion},
    Reason{"deberta", encoder},
    Reason{"decilm", uneven_layers},
    Reason{"dinov2", pictures},
    Reason{"distilbert", encoder},
    Reason{"dit", diffusion},
    Reason{"electra", encoder},
    Reason{"falconh1", beside_attention},
    Reason{"falconmamba", recurrent_alone},
    Reason{"flant5", encoder_decoder},
    Reason{"flanul2", encoder_decoder},
    Reason{"flux", diffusion},
    Reason{"gemma3n", layer_inputs},
    Reason{"gemini", unpublished},
    Reason{"glam", mixed_experts},
    Reason{"glm4v", pictures},
    Reason{"gopher", relative_positions},
    Reason{"gpt35turbo", unpublished},
    Reason{"gpt4all", several_bases},  // before GPT-4
    Reason{"gpt4", unpublished},
    Reason{"gpt5", unpublished},
    Reason{"grok3", unpublished},
    Reason{"grok4", unpublished},
    Reason{"hunyuanlarge", shared_caches},
    Reason{"hunyuanvideo", diffusion},
    Reason{"idefics", pictures},
    Reason{"internvl", pictures},
    Reason{"jamba", first_mamba},
    Reason{"kimilinear", other_recurrence},
    Reason{"llama3211bvision", cross_attention},
    Reason{"llama3290bvision", cross_attention},
    Reason{"llama33nemotronsuper", uneven_layers},
    Reason{"llama31nemotronultra", uneven_layers},
    Reason{"llava", pictures},
    Reason{"mamba", recurrent_alone},
    Reason{"mbart", encoder_decoder},
    Reason{"minimax01", other_recurrence},
    Reason{"minimaxm1", other_recurrence},
    Reason{"minimaxtext01", other_recurrence},
    Reason{"mllama", cross_attention},
    Reason{"modernbert", encoder},
    Reason{"mt5", encoder_decoder},
    Reason{"nemotronnas", uneven_layers},
    Reason{"openelm", uneven_layers},
    Reason{"paligemma", pictures},
    Reason{"palm2", unpublished},
    Reason{"pixart", diffusion},
    Reason{"qwen2vl", pictures},
    Reason{"recurrentgemma", other_recurrence},
    Reason{"roberta", encoder},
    Reason{"rwkv", recurrent_alone},
    Reason{"sd3", diffusion},
    Reason{"sdxl", diffusion},
    Reason{"siglip", pictures},
    Reason{"stablediffusion", diffusion},
    Reason{"step3p5", gated_heads},
    Reason{"step35", gated_heads},
    Reason{"step3", factorised_queries},
    Reason{"switch", encoder_decoder},
    Reason{"t5", encoder_decoder},
    Reason{"ul2", encoder_decoder},
    Reason{"umt5", encoder_decoder},
    Reason{"vit", pictures},
    Reason{"wan2", diffusion},
    Reason{"whisper", encoder_decoder},
    Reason{"xlmroberta", encoder},
    Reason{"zamba", shared_blocks},
};

/// Architectures whose configs describe encoders beside the language model (core/spec/hf/multimodal.cpp).
constexpr std::array<std::string_view, 10> multimodal{"gemma3",   "gemma4",      "kimi_k25",    "llama4",
                                                      "mistral3", "qwen3_5",     "qwen3_5_moe", "qwen2_5_vl",
                                                      "qwen3_vl", "qwen3_vl_moe"};

/// Architectures whose prediction modules are of another kind than those that are counted (`ModelSpec::mtp_modules`).
constexpr std::array<std::string_view, 11> with_prediction{"ernie4_5_moe",  "exaone_moe",  "hy_v3",           "mellum",
                                                           "mimo_v2_flash", "minimax_m2",  "nemotron_h",      "qwen3_5",
                                                           "qwen3_5_text",  "qwen3_5_moe", "qwen3_5_moe_text"};

}  // namespace

bool is_multimodal(std::string_view architecture) { return is_one_of(multimodal, architecture); }

std::string_view left_out_of(std::string_view architecture) {
    bool const predicts = is_one_of(with_prediction, architecture);
    if (!is_multimodal(architecture)) return predicts ? "its modules that predict further tokens, if it has any" : "";
    return predicts ? "its modules that predict further tokens and its encoders of pictures and sound; the language "
                      "model alone is counted"
                    : "its encoders of pictures and sound; the language model alone is counted";
}

std::string_view why_not_modelled(std::string_view name) {
    auto const slash = name.rfind('/');
    auto const letters = letters_and_digits(slash == std::string_view::npos ? name : name.substr(slash + 1));
    auto const found = std::find_if(reasons.begin(), reasons.end(),
                                    [&](Reason const& reason) { return letters.starts_with(reason.beginning); });
    return found == reasons.end() ? std::string_view() : found->why;
}

}  // namespace sextant
