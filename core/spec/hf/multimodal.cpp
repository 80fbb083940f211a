// Text models of multimodal configs.
#include "core/spec/hf/architectures.hpp"

namespace sextant::hf {
namespace {

/// The output matrix is tied as the whole config says, or, where that says nothing, the text model's.
ModelSpec tied_as(ConfigObject& in, ModelSpec model) {
    model.tied_embeddings = in.flag("tie_word_embeddings", model.tied_embeddings);
    return model;
}

}  // namespace

ModelSpec read_gemma3(ConfigObject& in) {
    ConfigObject text = text_config(in, {"gemma3_text"});
    return tied_as(in, read_gemma3_text(text));
}

ModelSpec read_gemma4(ConfigObject& in) {
    ConfigObject text = text_config(in, {"gemma4_text"});
    return tied_as(in, read_gemma4_text(text));
}

ModelSpec read_llama4(ConfigObject& in) {
    ConfigObject text = text_config(in, {"llama4_text"});
    return read_llama4_text(text);
}

ModelSpec read_mistral3(ConfigObject& in) {
    ConfigObject text = text_config(in, {"mistral", "ministral3", "mistral4"});
    auto const type = text.text("model_type", "mistral");
    if (type == "ministral3") return tied_as(in, read_ministral3(text));
    if (type == "mistral4") return tied_as(in, read_mistral4(text));
    return read_mistral(text);
}

ModelSpec read_qwen3_5(ConfigObject& in) {
    ConfigObject text = text_config(in, {"qwen3_5_text"});
    return tied_as(in, read_qwen3_5_text(text));
}

ModelSpec read_qwen3_5_moe(ConfigObject& in) {
    ConfigObject text = text_config(in, {"qwen3_5_moe_text"});
    return tied_as(in, read_qwen3_5_moe_text(text));
}

// Older configs have the keys of the text model beside those of the image encoder.
ModelSpec read_qwen2_5_vl(ConfigObject& in) {
    if (!in.has("text_config")) return read_qwen2(in);
    ConfigObject text = text_config(in, {"qwen2", "qwen2_5_vl_text"});
    return tied_as(in, read_qwen2(text));
}

ModelSpec read_qwen3_vl(ConfigObject& in) {
    ConfigObject text = text_config(in, {"qwen3", "qwen3_vl_text"});
    return tied_as(in, read_qwen3(text));
}

ModelSpec read_qwen3_vl_moe(ConfigObject& in) {
    ConfigObject text = text_config(in, {"qwen3_moe", "qwen3_vl_moe_text"});
    return tied_as(
        in,
        read_qwen3_moe(text, {.positions = 128000, .kv_heads = 16, .experts = 60, .top_k = 4, .expert_width = 1408}));
}

ModelSpec read_kimi_k25(ConfigObject& in) {
    ConfigObject text = text_config(in, {"kimi_k2", "deepseek_v3"});
    return read_deepseek_v3(text);
}

}  // namespace sextant::hf
