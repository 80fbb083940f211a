#include "core/spec/model_name.hpp"

#include "core/spec/model_catalog.hpp"
#include "core/spec/not_modelled.hpp"
#include "core/spec/parameters.hpp"
#include "tests/catch.hpp"

#include <string>
#include <utility>

using namespace sextant;

namespace {

std::string called(std::string_view name) { return preset_called(name).value_or("none"); }

}  // namespace

TEST_CASE("model names: every preset is called by its own name, with other punctuation too") {
    for (auto const& name : model_names()) {
        CHECK(called(name) == name);
        std::string spaced = name;
        for (char& c : spaced)
            if (c == '-') c = ' ';
        CHECK(called(spaced) == name);
        CHECK(called("somebody/" + name + "-Instruct-FP8") == name);
    }
}

TEST_CASE("model names: Hugging Face ids and the spellings of tables mean their preset") {
    auto const [name, preset] = GENERATE(table<char const*, char const*>(
        {{"meta-llama/Meta-Llama-3-8B-Instruct", "llama-3-8b"},
         {"meta-llama/Llama-3.1-405B-Instruct-FP8", "llama-3.1-405b"},
         {"meta-llama/Llama-4-Scout-17B-16E-Instruct", "llama-4-scout-17b-16e"},
         {"RedHatAI/Llama-4-Maverick-17B-128E-Instruct-FP8-dynamic", "llama-4-maverick-17b-128e"},
         {"LLaMA v2 70B", "llama-2-70b"},
         {"Command R+", "command-r-plus"},
         {"Mixtral 8\xc3\x97"
          "7B",
          "mixtral-8x7b"},
         {"DeepSeekV3", "deepseek-v3"},
         {"Llama 405B", "llama-3.1-405b"},
         {"TinyLlama", "tinyllama-1.1b"},
         {"GPT-2 1.5B", "gpt2-xl"},
         {"GPT-2 XL 1.5B", "gpt2-xl"},
         {"GPT-2 124M", "gpt2"},
         {"GPT-6.7B", "gpt3-6.7b"},
         {"BLOOM-7.1B", "bloom-7b1"},
         {"Llama 1 13B", "llama-13b"},
         {"Phi-3-medium-14B", "phi-3-medium"},
         {"DeepSeek-V2-Lite-16B", "deepseek-v2-lite"},
         {"DeepSeek 67B", "deepseek-llm-67b"},
         {"Kimi-K2-1T", "kimi-k2"},
         {"Llama 4 Maverick (400B)", "llama-4-maverick-17b-128e"},
         {"70B LLaMA2-class", "llama-2-70b"},
         {"Llama-70B", "llama-2-70b"},
         {"LLaMA 65B", "llama-65b"},
         {"LLAMA3.1_8B", "llama-3.1-8b"},
         {"Llama-2-34B", "codellama-34b"},
         {"codellama/CodeLlama-34b-Instruct-hf", "codellama-34b"},
         {"lmsys/vicuna-13b-v1.5", "llama-2-13b"},
         {"lmsys/vicuna-7b-v1.3", "llama-7b"},
         {"lmsys/vicuna-13b-v1.1", "llama-13b"},
         {"deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", "qwen2.5-1.5b"},
         {"NousResearch/Hermes-3-Llama-3.1-8B", "llama-3.1-8b"},
         {"NousResearch/Nous-Hermes-2-Mixtral-8x7B-DPO", "mixtral-8x7b"},
         {"NousResearch/Hermes-2-Pro-Mistral-7B", "mistral-7b"},
         {"WizardLM/WizardLM-70B-V1.0", "llama-2-70b"},
         {"openchat/openchat-3.5-0106", "mistral-7b"},
         {"openchat/openchat_3.5", "mistral-7b"},
         {"accounts/fireworks/models/llama-v3p1-70b-instruct", "llama-3.1-70b"},
         {"llama-v3-70b", "llama-3-70b"},
         {"qwen2p5-72b-instruct", "qwen2.5-72b"},
         {"meta-llama/Meta-Llama-3.1-70B-Instruct-Turbo", "llama-3.1-70b"},
         {"nvidia/Llama-3.1-Nemotron-Nano-8B-v1", "llama-3.1-8b"},
         {"mistralai/Mistral-7B-Instruct-v0.1", "mistral-7b"},
         {"mistralai/Mistral-7B-Instruct-v0.2", "mistral-7b-v0.2"},
         {"mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b-v0.3"},
         {"mistralai/Mathstral-7B-v0.1", "mistral-7b-v0.3"},
         {"mistralai/Mixtral-8x7B-v0.1", "mixtral-8x7b"},
         {"mistralai/Mistral-Small-3.2-24B-Instruct-2506", "mistral-small-24b-2503"},
         {"mistralai/Mistral-Small-24B-Instruct-2501", "mistral-small-24b"},
         {"mistralai/Mistral-Large-Instruct-2407", "mistral-large-123b"},
         {"Qwen/Qwen2.5-72B-Instruct-GPTQ-Int4", "qwen2.5-72b"},
         {"Qwen/Qwen3-30B-A3B-Instruct-2507", "qwen3-30b-a3b-2507"},
         {"Qwen/Qwen3-4B-Thinking-2507-FP8", "qwen3-4b-2507"},
         {"Qwen/Qwen3-235B-A22B-Instruct-2507", "qwen3-235b-a22b-2507"},
         {"Qwen3-30B3A", "qwen3-30b-a3b"},
         {"Qwen/Qwen1.5-MoE-A2.7B-Chat", "qwen1.5-moe-a2.7b"},
         {"Qwen/QwQ-32B", "qwen2.5-32b"},
         {"deepseek-ai/DeepSeek-V3-0324", "deepseek-v3"},
         {"nvidia/DeepSeek-R1-0528-NVFP4-v2", "deepseek-v3"},
         {"deepseek-ai/DeepSeek-R1-Distill-Llama-70B", "llama-3.3-70b"},
         {"deepseek-ai/DeepSeek-Coder-V2-Lite-Instruct", "deepseek-v2-lite"},
         {"moonshotai/Kimi-K2-Instruct-0905", "kimi-k2-0905"},
         {"moonshotai/Kimi-K2-Instruct-0711", "kimi-k2"},
         {"moonshotai/Kimi-K2.5", "kimi-k2.5"},
         {"moonshotai/Kimi-K2-Thinking", "kimi-k2-0905"},
         {"CohereForAI/c4ai-command-r-plus-08-2024", "command-r-plus"},
         {"ibm-granite/granite-3.1-8b-instruct", "granite-3.3-8b"},
         {"Megatron-Turing NLG 530B", "megatron-530b"},
         {"internlm/internlm2_5-7b-chat", "internlm2-7b"},
         {"InternLM-20B", "internlm-20b"},
         {"01-ai/Yi-34B-Chat", "yi-34b"},
         {"baichuan-inc/Baichuan2-13B-Chat", "baichuan2-13b"},
         {"EleutherAI/gpt-j-6b", "gpt-j-6b"},
         {"nomic-ai/gpt4all-j", "gpt-j-6b"},
         {"google/gemma-2-9b-it", "gemma-2-9b"},
         {"microsoft/Phi-3-mini-4k-instruct", "phi-3-mini"},
         {"microsoft/Phi-3-mini-128k-instruct", "phi-3-mini-128k"},
         {"microsoft/Phi-3.5-mini-instruct", "phi-3-mini-128k"},
         {"01-ai/Yi-34B-200K", "yi-34b-200k"},
         {"microsoft/Phi-3.5-MoE-instruct", "phi-3.5-moe"},
         {"zai-org/GLM-4.6-FP8", "glm-4.6"},
         {"MiniMaxAI/MiniMax-M2.5", "minimax-m2"},
         {"Nemotron-22B", "nemotron-3-22b"},
         {"GPT-3 (175B)", "gpt3-175b"},
         {"facebook/opt-13b", "opt-13b"},
         {"GPT-3 1.3B", "gpt3-1.3b"},
         {"bigscience/bloom", "bloom-176b"},
         {"deepseek-ai/DeepSeek-V3.2-Exp", "deepseek-v3.2"},
         {"deepseek-ai/DeepSeek-V3.2", "deepseek-v3.2"},
         {"zai-org/GLM-5-FP8", "glm-5"},
         {"Qwen/Qwen3-Next-80B-A3B-Instruct-FP8", "qwen3-next-80b-a3b"},
         {"Qwen/Qwen3.5-397B-A17B-FP8", "qwen3.5-397b-a17b"},
         {"Qwen/Qwen3.6-27B", "qwen3.5-27b"},
         {"nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-FP8", "nemotron-3-nano-30b-a3b"},
         {"Nemotron-3-Nano", "nemotron-3-nano-30b-a3b"},
         {"mistralai/Mistral-Small-Instruct-2409", "codestral-22b"},
         {"Snowflake/snowflake-arctic-instruct", "arctic-480b"},
         {"PaLM (540B)", "palm-540b"},
         {"xai-org/grok-1", "grok-1"},
         {"inclusionAI/Ring-1T", "ling-1t"},
         {"allenai/Olmo-3-32B-Think", "olmo-3-32b"},
         {"tencent/Hunyuan-A13B-Instruct", "hunyuan-a13b"},
         {"nvidia/Nemotron-H-8B-Base-8K", "nemotron-h-8b"},
         {"moonshotai/Moonlight-16B-A3B-Instruct", "moonlight-16b-a3b"},
         {"baidu/ERNIE-4.5-300B-A47B-PT", "ernie-4.5-300b-a47b"},
         {"mistralai/Devstral-Small-2505", "mistral-small-24b-2503"},
         {"LGAI-EXAONE/EXAONE-4-32B", "exaone-4.0-32b"},
         {"Mistral Large 2", "mistral-large-123b"},
         {"MT-NLG", "megatron-530b"},
         {"granite-3-8b", "granite-3.3-8b"},
         {"ibm-granite/granite-34b-code-instruct-8k", "granite-34b-code"},
         {"Granite Code 20B", "granite-20b-code"},
         {"swiss-ai/Apertus-70B-Instruct-2509", "apertus-70b"},
         {"Skywork/Skywork-13B-Base", "skywork-13b"},
         {"nvidia/Nemotron-H-47B-Base-8K", "nemotron-h-47b"},
         {"nvidia/NVIDIA-Nemotron-Nano-9B-v2", "nemotron-nano-9b-v2"},
         {"Nemotron Nano v2 12B", "nemotron-nano-12b-v2"},
         {"mistralai/Mistral-Large-3-675B-Instruct-2512", "mistral-large-3-675b"},
         {"mistral-large-2512", "mistral-large-3-675b"},
         {"mistralai/Mistral-Small-4-119B-2603", "mistral-small-4-119b"}}));
    CHECK(called(name) == preset);
}

TEST_CASE("model names: a name that no preset has means none, however near") {
    auto const* const name =
        GENERATE("", "instruct", "7b", "Deci/DeciLM-7B", "deepseek-ai/DeepSeek-V5", "Qwen/Qwen3-Next-40B",
                 "Llama-3-70B (truncated)", "Llama-70B int4 verifier + Llama-7B int4 draft", "Llama-like-7B",
                 "mistralai/Mistral-Medium-2312", "llama-3-9b", "LLaMA", "lama-3-8b", "Hermes-3", "Nous-Hermes-13b",
                 "gpt-3.5-turbo");
    CHECK(called(name) == "none");
}

TEST_CASE("model names: a release whose sizes no preset has means none") {
    auto const* const name = GENERATE(
        "mistralai/Mistral-7B-v0.4", "mistralai/Mixtral-8x22B-Instruct-v0.3", "Qwen/Qwen3-4B-2511", "01-ai/Yi-6B-200K",
        "Qwen/Qwen2.5-7B-Instruct-1M", "microsoft/Phi-3-medium-128k-instruct", "togethercomputer/LLaMA-2-7B-32K",
        "lmsys/vicuna-7b-v1.7", "THUDM/GLM-4-9B-0414", "CohereForAI/c4ai-command-r-08-2024", "mosaicml/mpt-7b-8k");
    CHECK(called(name) == "none");
}

TEST_CASE("model names: releases keep the lengths and windows of their own") {
    CHECK(find_model("mistralai/Mistral-7B-Instruct-v0.3").attention.window == 0);
    CHECK(count_parameters(find_model("mistralai/Mistral-7B-Instruct-v0.3")).total == 7'248'023'552);
    CHECK(find_model("mistralai/Mistral-7B-v0.1").attention.window == 4096);
    CHECK(find_model("microsoft/Phi-3.5-mini-instruct").max_positions == 131072);
    CHECK(find_model("Qwen/Qwen3-4B-Instruct-2507").max_positions == 262144);
    CHECK(find_model("mistralai/Mistral-Small-3.2-24B-Instruct-2506").max_positions == 131072);
}

TEST_CASE("model names: no preset is kept from use by a reason why models are not modelled") {
    for (std::string const& preset : model_names()) {
        INFO(preset);
        CHECK(why_not_modelled(preset).empty());
        CHECK(why_not_modelled(find_model(preset).architecture).empty());
    }
}

TEST_CASE("model names: a known model that cannot be a preset is refused with the reason") {
    auto const [name, part] =
        GENERATE(table<char const*, char const*>({{"chinchilla-70b", "relative positions"},
                                                  {"google/t5-v1_1-xxl", "only decoders"},
                                                  {"bert-large-uncased", "look"},
                                                  {"ai21labs/AI21-Jamba-1.5-Large", "Mamba's first kind"},
                                                  {"moonshotai/Kimi-Linear-48B-A3B-Instruct", "recurrent layers"},
                                                  {"openai/clip-vit-large-patch14", "encoders of pictures"},
                                                  {"stable-diffusion-3", "denoise"},
                                                  {"GPT-4o", "not published"},
                                                  {"nomic-ai/gpt4all-13b-snoozy", "its base"},
                                                  {"stepfun-ai/Step-3.5-Flash", "gate on each head"},
                                                  {"Zyphra/Zamba2-7B", "several layers share"}}));
    INFO(name);
    CHECK_THROWS_WITH(find_model(name), contains(part) && contains("model '") && !contains("did you mean"));
}

TEST_CASE("models with a text model inside say that their encoders are left out, others that nothing is") {
    for (auto const& [name, left_out] :
         {std::pair{"gemma-3-27b", true}, std::pair{"llama-4-scout-17b-16e", true}, std::pair{"gemma-3-1b", false},
          std::pair{"kimi-k2.5", true}, std::pair{"llama-3.1-8b", false}, std::pair{"deepseek-v3", false}}) {
        INFO(name);
        CHECK(left_out_of(find_model(name).architecture).empty() != left_out);
    }
}

TEST_CASE("model names: the id of an unknown model is not taken for a file") {
    CHECK_THROWS_WITH(find_model("nobody/no-such-model"), contains("unknown"));
    CHECK_THROWS_WITH(find_model("./no-such-model"), contains("cannot be opened"));
}

TEST_CASE("model names: a command's --model takes them") {
    CHECK(find_model("meta-llama/Llama-3.1-8B-Instruct").name == "llama-3.1-8b");
    CHECK(find_model("Qwen2.5-7B-Instruct:num_hidden_layers=4").layer_count() == 4);
    CHECK_THROWS(find_model("no-such-folder/config.json"));
}
