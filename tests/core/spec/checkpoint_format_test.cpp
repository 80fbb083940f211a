#include "core/spec/checkpoint_format.hpp"

#include "core/error.hpp"
#include "core/json/text_file.hpp"
#include "core/spec/kernel_constants.hpp"
#include "core/spec/model_catalog.hpp"
#include "core/spec/quantisation_file.hpp"
#include "tests/catch.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

using namespace sextant;

namespace {

CheckpointFormat format_of(std::string const& quantisation) {
    return read_checkpoint_format(fmt::format(R"({{"quantization_config": {}}})", quantisation), "config.json");
}

std::string numbers(char const* type, int bits, char const* strategy = "tensor") {
    return fmt::format(R"({{"num_bits": {}, "type": "{}", "strategy": "{}"}})", bits, type, strategy);
}

std::string group(std::string const& weights, std::string const& activations) {
    return fmt::format(R"({{"targets": ["Linear"], "weights": {}, "input_activations": {}}})", weights, activations);
}

std::string tensors(std::string const& groups, std::string const& cache = "null") {
    return fmt::format(R"({{"quant_method": "compressed-tensors", "config_groups": {{{}}}, "kv_cache_scheme": {}}})",
                       groups, cache);
}

}  // namespace

TEST_CASE("checkpoint format: methods as their authors write them") {
    struct Case {
        char const* config;
        char const* weights;
    };
    // Keys as in the config.json of DeepSeek-V3, Llama-3.1-405B-FP8, gpt-oss, and of the libraries that write them.
    for (Case const& c : {
             Case{R"({"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128]})", "fp8-block"},
             {R"({"quant_method": "fp8", "activation_scheme": "static"})", "fp8"},
             {R"({"quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0})", "fp8"},
             {R"({"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]})", "fp4"},
             {R"({"quant_method": "gptq", "bits": 4, "group_size": 128})", "int4-weights"},
             {R"({"quant_method": "gptq", "bits": 8, "group_size": 128})", "int8-weights"},
             {R"({"quant_method": "awq", "bits": 4, "version": "gemm"})", "int4-weights"},
             {R"({"quant_method": "auto-round", "bits": 4, "data_type": "int"})", "int4-weights"},
             {R"({"quant_method": "bitsandbytes", "load_in_4bit": true, "bnb_4bit_quant_type": "nf4"})",
              "int4-weights"},
             {R"({"load_in_8bit": true, "llm_int8_threshold": 6.0})", "int8-weights"},
             {R"({"quant_method": "modelopt", "quant_algo": "FP8", "kv_cache_quant_algo": "FP8"})", "fp8"},
             {R"({"quant_method": "modelopt", "quant_algo": "NVFP4"})", "fp4"},
         }) {
        CAPTURE(c.config);
        CheckpointFormat const found = format_of(c.config);
        CHECK(found.weights == c.weights);
        CHECK(found.unknown.empty());
        CHECK_FALSE(found.method.empty());
        CHECK(find_gemm_format(found.weights) != nullptr);
    }
    CHECK(format_of(R"({"quant_method": "modelopt", "quant_algo": "FP8", "kv_cache_quant_algo": "FP8"})").cache ==
          CacheFormat::fp8);
}

TEST_CASE("checkpoint format: groups of compressed-tensors by their weights and activations") {
    CHECK(format_of(tensors(R"("group_0": )" + group(numbers("float", 8, "channel"), numbers("float", 8, "token"))))
              .weights == "fp8");
    CHECK(format_of(tensors(R"("group_0": )" + group(numbers("float", 8, "block"), numbers("float", 8, "group"))))
              .weights == "fp8-block");
    CHECK(format_of(tensors(R"("group_0": )" + group(numbers("int", 8), numbers("int", 8)))).weights == "int8");
    CHECK(format_of(tensors(R"("group_0": )" + group(numbers("int", 8), "null"))).weights == "int8-weights");
    CHECK(format_of(tensors(R"("group_0": )" + group(numbers("int", 4, "group"), "null"))).weights == "int4-weights");
    CHECK(format_of(tensors(R"("group_0": )" + group(numbers("float", 4), numbers("float", 4)))).weights == "fp4");
    std::string const fp8 = group(numbers("float", 8), numbers("float", 8));
    CHECK(format_of(tensors(R"("a": )" + fp8 + R"(, "b": )" + fp8, numbers("float", 8))).weights == "fp8");
    CHECK(format_of(tensors(R"("a": )" + fp8, numbers("float", 8))).cache == CacheFormat::fp8);
    CHECK(format_of(tensors(R"("a": )" + fp8, numbers("int", 8))).cache == CacheFormat::int8);
    CHECK_FALSE(format_of(tensors(R"("a": )" + fp8)).cache);
}

TEST_CASE("checkpoint format: four-bit weights have a scale for a group, of the size that the config states") {
    auto const stored = [](std::string const& quantisation) { return stored_format(format_of(quantisation)); };
    auto const grouped = [](char const* size) {
        return tensors(R"("group_0": )" +
                       group(fmt::format(R"({{"num_bits": 4, "type": "int", "group_size": {}}})", size), "null"));
    };
    CHECK(stored(grouped("32")) == "int4-weights/32");
    CHECK(stored(grouped("128")) == "int4-weights");
    CHECK(stored(grouped("null")) == "int4-weights");
    CHECK(stored(R"({"quant_method": "gptq", "bits": 4, "group_size": 64})") == "int4-weights/64");
    CHECK(stored(R"({"quant_method": "gptq", "bits": 8, "group_size": 64})") == "int8-weights");
    CHECK(stored(R"({"quant_method": "awq", "bits": 4, "group_size": -1})") == "int4-weights");
    CHECK(scale_bytes_per_value("int4-weights/32") == 2.0 / 32);
    CHECK(scale_bytes_per_value("int4-weights") == 2.0 / 128);
    CHECK(scale_bytes_per_value("int8-weights") == 0);
    CHECK(stored_format(find_stored_model("kimi-k2.5").checkpoint) == "int4-weights/32");
}

TEST_CASE("checkpoint format: what is not known is said, and is no format") {
    std::string const mixed = tensors(R"("a": )" + group(numbers("float", 8), numbers("float", 8)) + R"(, "b": )" +
                                      group(numbers("int", 4), "null"));
    struct Case {
        std::string config, reason;
    };
    for (Case const& c : {Case{R"({"quant_method": "aqlm"})", "'aqlm' is not known"},
                          {R"({"bits": 4})", "quant_method is missing"},
                          {R"({"quant_method": "gptq", "bits": 3})", "weights of 3 bits"},
                          {R"({"quant_method": "gptq"})", "bits are not stated"},
                          {R"({"quant_method": "auto-round", "bits": 4, "data_type": "mx_fp"})", "'mx_fp'"},
                          {R"({"quant_method": "fp8", "weight_block_size": [1, 32]})", "128 x 128"},
                          {R"({"quant_method": "bitsandbytes"})", "load_in_4bit"},
                          {R"({"quant_method": "modelopt", "quant_algo": "W4A8_AWQ"})", "'W4A8_AWQ'"},
                          {R"({"quant_method": "compressed-tensors"})", "config_groups"},
                          {tensors(R"("a": )" + group(numbers("int", 4), numbers("int", 8))), "int 4 and activations"},
                          {mixed, "several formats"}}) {
        CAPTURE(c.config);
        CheckpointFormat const found = format_of(c.config);
        CHECK(found.weights.empty());
        CHECK_FALSE(found.method.empty());
        CHECK_THAT(found.unknown, contains(c.reason));
    }
    CHECK(read_checkpoint_format(R"({"model_type": "llama"})", "config.json").method.empty());
    CHECK(read_checkpoint_format(R"({"quantization_config": null})", "config.json").method.empty());
    for (char const* const wrong : {R"("fp8")", R"({"quant_method": 8})", R"({"quant_method": "gptq", "bits": "4"})",
                                    R"({"quant_method": "fp8", "weight_block_size": 128})"})
        CHECK_THROWS_AS(format_of(wrong), InputError);
}

TEST_CASE("checkpoint format: presets are in the format that their authors publish, and changes keep it") {
    for (char const* const name : {"deepseek-v3", "deepseek-v3.2", "kimi-k2", "minimax-m2"})
        CHECK(find_stored_model(name).checkpoint.weights == "fp8-block");
    CHECK(find_stored_model("gpt-oss-20b").checkpoint.weights == "fp4");
    CHECK(find_stored_model("llama-3.1-8b").checkpoint.method.empty());
    CHECK(find_stored_model("deepseek-v3:num_hidden_layers=8").checkpoint.weights == "fp8-block");
    for (std::string const& name : model_names()) {
        CAPTURE(name);
        StoredModel const stored = find_stored_model(name);
        CHECK(stored.model.name == find_model(name).name);
        CHECK(stored.checkpoint.unknown.empty());
    }
    CHECK(read_checkpoint_format(R"({"text_config": {"quantization_config": {"quant_method": "awq", "bits": 4}}})",
                                 "config.json")
              .weights == "int4-weights");
}

TEST_CASE("checkpoint format: ModelOpt's file beside the config says what the config does not") {
    char const* const plain = R"({"model_type": "llama", "num_hidden_layers": 2})";
    auto const format = [&](std::string_view config, std::string_view file) {
        return read_checkpoint_format(with_quantisation(config, file, "hf_quant_config.json"), "config.json");
    };
    CheckpointFormat const fp4 =
        format(plain, R"({"producer": {"name": "modelopt", "version": "0.29.0"}, "quantization": {"quant_algo": "NVFP4",
               "kv_cache_quant_algo": "FP8", "group_size": 16, "exclude_modules": ["lm_head"]}})");
    CHECK(fp4.weights == "fp4");
    CHECK(fp4.cache == CacheFormat::fp8);
    // The cache alone.
    CheckpointFormat const cache =
        format(plain, R"({"quantization": {"quant_algo": null, "kv_cache_quant_algo": "FP8"}})");
    CHECK(cache.method.empty());
    CHECK(cache.unknown.empty());
    CHECK(cache.cache == CacheFormat::fp8);
    CHECK_THAT(format(plain, R"({"quantization": {"quant_algo": "MIXED_PRECISION", "quantized_layers": {}}})").unknown,
               contains("MIXED_PRECISION"));
    // What the config says itself goes first.
    CHECK(format(R"({"quantization_config": {"quant_method": "fp8"}})", R"({"quantization": {"quant_algo": "NVFP4"}})")
              .weights == "fp8");
    for (char const* const wrong : {"", "[]", "{}", R"({"quantization": "FP8"})"})
        CHECK_THROWS_WITH(format(plain, wrong), contains("hf_quant_config.json"));
}

TEST_CASE("checkpoint format: a folder's hf_quant_config.json is read, with what it leaves as it was") {
    auto const folder = std::filesystem::temp_directory_path() / fmt::format("sextant_modelopt_{}", ::getpid());
    std::filesystem::create_directories(folder);
    write_text_file((folder / "config.json").string(), model_config("qwen3-30b-a3b"));
    std::string const path = folder.string();
    CHECK(find_stored_model(path).checkpoint.method.empty());
    auto const write = [&](char const* excluded) {
        write_text_file((folder / "hf_quant_config.json").string(),
                        fmt::format(R"({{"quantization": {{"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8",
                                        "exclude_modules": ["lm_head"{}]}}}})",
                                    excluded));
    };
    write("");
    CHECK(find_stored_model(path).checkpoint.weights == "fp4");
    CHECK(find_stored_model(path).checkpoint.cache == CacheFormat::fp8);
    CHECK_FALSE(find_stored_model(path).model.only_experts_narrow);
    CHECK(find_stored_model(path + "/config.json:num_hidden_layers=4").checkpoint.weights == "fp4");
    write(R"(, "model.layers.*.self_attn*")");
    CHECK(find_stored_model(path).model.only_experts_narrow);
    CHECK(find_stored_model(path).model.layer_count() == find_model("qwen3-30b-a3b").layer_count());
    std::filesystem::remove_all(folder);
}

TEST_CASE("checkpoint format: the word in a model's name is its checkpoint's format, before that of the preset") {
    auto const weights = [](char const* name) { return find_stored_model(name).checkpoint.weights; };
    CHECK(weights("Qwen/Qwen3-32B-AWQ") == "int4-weights");
    CHECK(weights("Qwen/Qwen3-32B-AWQ:num_hidden_layers=8") == "int4-weights");
    CHECK(weights("TheBloke/Llama-2-70B-GPTQ") == "int4-weights");
    CHECK(weights("Qwen/Qwen1.5-72B-Chat-GPTQ-Int8") == "int8-weights");
    CHECK(weights("unsloth/Qwen2.5-32B-bnb-4bit") == "int4-weights");
    CHECK(weights("meta-llama/Meta-Llama-3.1-405B-FP8") == "fp8");
    CHECK(weights("nvidia/DeepSeek-R1-0528-FP4") == "fp4");
    CHECK(weights("RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w8a8") == "int8");
    CHECK(weights("moonshotai/Kimi-K2-Thinking") == "int4-weights");
    // fp8 says nothing of scales, of which the preset's are in blocks; bf16 is no quantisation.
    CHECK(weights("Qwen/Qwen3-Coder-480B-A35B-Instruct") == weights("qwen3-coder-480b-a35b"));
    CHECK(weights("deepseek-ai/DeepSeek-V3-FP8") == "fp8-block");
    CHECK(find_stored_model("unsloth/DeepSeek-R1-BF16").checkpoint.method.empty());
    CHECK(find_stored_model("meta-llama/Llama-3.1-8B").checkpoint.method.empty());
    // Qwen's own have scales in blocks, those of others of its models need not.
    CHECK(weights("Qwen/Qwen3-32B-FP8") == "fp8-block");
    CHECK(weights("Qwen/Qwen3-Next-80B-A3B-Instruct-FP8") == "fp8-block");
    CHECK(weights("RedHatAI/Qwen3-32B-FP8-dynamic") == "fp8");
    // A format that has no model here is said, not guessed.
    CHECK(weights("TheBloke/Llama-2-70B-GGUF").empty());
    CHECK_THAT(find_stored_model("TheBloke/Llama-2-70B-GGUF").checkpoint.unknown, contains("gguf"));
}

TEST_CASE("checkpoint format: by name it is known of some what they leave in two bytes, and said of the others") {
    for (char const* const name : {"nvidia/DeepSeek-R1-0528-FP4", "nvidia/DeepSeek-V3-0324-NVFP4",
                                   "moonshotai/Kimi-K2-Thinking", "Kimi-K2-Thinking:num_hidden_layers=8"}) {
        CAPTURE(name);
        CHECK(find_stored_model(name).checkpoint.exclusions == Exclusions::all_but_experts);
        CHECK(find_stored_model(name).model.only_experts_narrow);
    }
    for (char const* const name : {"nvidia/DeepSeek-R1-0528-FP4-v2", "someone/DeepSeek-R1-FP4",
                                   "nvidia/Llama-3.1-405B-Instruct-FP4", "meta-llama/Meta-Llama-3.1-405B-FP8"}) {
        CAPTURE(name);
        CHECK(find_stored_model(name).checkpoint.exclusions == Exclusions::unknown);
        CHECK_FALSE(find_stored_model(name).model.only_experts_narrow);
    }
    for (char const* const name : {"Qwen/Qwen3-32B-AWQ", "Qwen/Qwen3-32B-FP8", "deepseek-ai/DeepSeek-V3-FP8",
                                   "deepseek-v3", "openai/gpt-oss-120b"}) {
        CAPTURE(name);
        CHECK(find_stored_model(name).checkpoint.exclusions == Exclusions::as_config);
    }
    CHECK(find_stored_model("openai/gpt-oss-120b").model.only_experts_narrow);
}
