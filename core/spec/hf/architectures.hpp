#pragma once

#include "core/spec/hf/config_object.hpp"

namespace sextant::hf {

// One reader per architecture. Defaults are those of the Hugging Face configuration class of the same name
// (transformers 4.57, src/transformers/models/<name>/configuration_<name>.py); of InternLM, Baichuan, Kimi K2,
// MiniMax M2, the first Qwen, ChatGLM, EXAONE 3, DeepSeekMoE, Ling, Arctic and Grok, which it does not have, those of
// the class that is published with the checkpoints.

ModelSpec read_llama(ConfigObject& in);
ModelSpec read_mistral(ConfigObject& in);
ModelSpec read_phi3(ConfigObject& in);
ModelSpec read_qwen2(ConfigObject& in);
ModelSpec read_qwen3(ConfigObject& in);
ModelSpec read_olmo2(ConfigObject& in);

ModelSpec read_gemma(ConfigObject& in);
ModelSpec read_gemma2(ConfigObject& in);
ModelSpec read_gemma3_text(ConfigObject& in);
ModelSpec read_gemma4_text(ConfigObject& in);

ModelSpec read_gpt2(ConfigObject& in);
ModelSpec read_gpt_neo(ConfigObject& in);
ModelSpec read_gpt_neox(ConfigObject& in);
ModelSpec read_opt(ConfigObject& in);
ModelSpec read_bloom(ConfigObject& in);

ModelSpec read_falcon(ConfigObject& in);
ModelSpec read_mpt(ConfigObject& in);

ModelSpec read_nemotron(ConfigObject& in);
ModelSpec read_cohere(ConfigObject& in);
ModelSpec read_starcoder2(ConfigObject& in);

ModelSpec read_mixtral(ConfigObject& in);
ModelSpec read_qwen2_moe(ConfigObject& in);
ModelSpec read_qwen3_moe(ConfigObject& in);
/// Sizes that Qwen3-MoE's class takes where a config does not name them; Qwen3-VL's takes others.
struct Qwen3MoeDefaults {
    std::int64_t positions = 32768, kv_heads = 4, experts = 128, top_k = 8, expert_width = 768;
};
ModelSpec read_qwen3_moe(ConfigObject& in, Qwen3MoeDefaults const& defaults);
ModelSpec read_gpt_oss(ConfigObject& in);

ModelSpec read_internlm(ConfigObject& in);
ModelSpec read_internlm2(ConfigObject& in);
ModelSpec read_internlm3(ConfigObject& in);
ModelSpec read_baichuan(ConfigObject& in);
ModelSpec read_qwen(ConfigObject& in);
ModelSpec read_chatglm(ConfigObject& in);
ModelSpec read_exaone(ConfigObject& in);
ModelSpec read_granite(ConfigObject& in);
ModelSpec read_olmo(ConfigObject& in);
ModelSpec read_smollm3(ConfigObject& in);
ModelSpec read_seed_oss(ConfigObject& in);
ModelSpec read_glm(ConfigObject& in);
ModelSpec read_glm4(ConfigObject& in);
ModelSpec read_stablelm(ConfigObject& in);
ModelSpec read_cohere2(ConfigObject& in);

ModelSpec read_gptj(ConfigObject& in);
ModelSpec read_gpt_bigcode(ConfigObject& in);
ModelSpec read_phi(ConfigObject& in);

ModelSpec read_llama4_text(ConfigObject& in);
ModelSpec read_dbrx(ConfigObject& in);
ModelSpec read_phimoe(ConfigObject& in);
ModelSpec read_olmoe(ConfigObject& in);
ModelSpec read_ernie4_5_moe(ConfigObject& in);
ModelSpec read_minimax_m2(ConfigObject& in);
ModelSpec read_arctic(ConfigObject& in);
ModelSpec read_grok(ConfigObject& in);

ModelSpec read_qwen3_next(ConfigObject& in);
ModelSpec read_qwen3_5_text(ConfigObject& in);
ModelSpec read_qwen3_5_moe_text(ConfigObject& in);
ModelSpec read_olmo_hybrid(ConfigObject& in);
ModelSpec read_nemotron_h(ConfigObject& in);
ModelSpec read_granitemoehybrid(ConfigObject& in);

ModelSpec read_afmoe(ConfigObject& in);
ModelSpec read_apertus(ConfigObject& in);
ModelSpec read_arcee(ConfigObject& in);
ModelSpec read_bamba(ConfigObject& in);
ModelSpec read_cwm(ConfigObject& in);
ModelSpec read_exaone_moe(ConfigObject& in);
ModelSpec read_flex_olmo(ConfigObject& in);
ModelSpec read_granitemoe(ConfigObject& in);
ModelSpec read_granitemoeshared(ConfigObject& in);
ModelSpec read_helium(ConfigObject& in);
ModelSpec read_hy_v3(ConfigObject& in);
ModelSpec read_jais2(ConfigObject& in);
ModelSpec read_minicpm3(ConfigObject& in);
ModelSpec read_ministral(ConfigObject& in);
ModelSpec read_olmo3(ConfigObject& in);
ModelSpec read_solar_open(ConfigObject& in);
ModelSpec read_vaultgemma(ConfigObject& in);

ModelSpec read_granite_swa(ConfigObject& in);
ModelSpec read_granitemoe_swa(ConfigObject& in);
ModelSpec read_iquestcoder(ConfigObject& in);
ModelSpec read_mellum(ConfigObject& in);
ModelSpec read_mimo_v2_flash(ConfigObject& in);
ModelSpec read_youtu(ConfigObject& in);

ModelSpec read_ministral3(ConfigObject& in);
ModelSpec read_ernie4_5(ConfigObject& in);
ModelSpec read_exaone4(ConfigObject& in);
ModelSpec read_hunyuan_v1_dense(ConfigObject& in);
ModelSpec read_hunyuan_v1_moe(ConfigObject& in);
ModelSpec read_dots1(ConfigObject& in);
ModelSpec read_glm4_moe_lite(ConfigObject& in);
ModelSpec read_deepseek_v32(ConfigObject& in);
ModelSpec read_glm_moe_dsa(ConfigObject& in);

// Encoders.
ModelSpec read_bert(ConfigObject& in);
ModelSpec read_roberta(ConfigObject& in);
ModelSpec read_modernbert(ConfigObject& in);

// Multimodal: their text models.
ModelSpec read_gemma3(ConfigObject& in);
ModelSpec read_gemma4(ConfigObject& in);
ModelSpec read_llama4(ConfigObject& in);
ModelSpec read_mistral3(ConfigObject& in);
ModelSpec read_qwen3_5(ConfigObject& in);
ModelSpec read_qwen3_5_moe(ConfigObject& in);
ModelSpec read_qwen2_5_vl(ConfigObject& in);
ModelSpec read_qwen3_vl(ConfigObject& in);
ModelSpec read_qwen3_vl_moe(ConfigObject& in);
ModelSpec read_kimi_k25(ConfigObject& in);

ModelSpec read_deepseek(ConfigObject& in);
ModelSpec read_bailing_moe(ConfigObject& in);
ModelSpec read_bailing_moe_v2(ConfigObject& in);
ModelSpec read_deepseek_v2(ConfigObject& in);
ModelSpec read_deepseek_v3(ConfigObject& in);
ModelSpec read_glm4_moe(ConfigObject& in);
ModelSpec read_mistral4(ConfigObject& in);

}  // namespace sextant::hf
