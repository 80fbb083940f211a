// Configs that say by a key, or by a text model inside, that the model is of another form than its class is by default.
#include "tests/catch.hpp"

#include "core/error.hpp"
#include "core/spec/hf_config.hpp"
#include "core/spec/parameters.hpp"

#include <string>

using namespace sextant;

namespace {

/// A config of eight layers with some more of its keys, which begin with a comma.
std::string config(std::string const& type, std::string const& more = "") {
    return R"({"model_type": ")" + type +
           R"(", "hidden_size": 2048, "num_hidden_layers": 8, "num_attention_heads": 16, "num_key_value_heads": 4,
           "intermediate_size": 6144, "vocab_size": 32000)" +
           more + "}";
}

/// A multimodal config around a text model.
std::string around(std::string const& type, std::string const& text, std::string const& more = "") {
    return R"({"model_type": ")" + type + R"(", "text_config": )" + text + more + "}";
}

ModelSpec read(std::string const& text) { return read_hf_config(text, "test.json"); }
std::int64_t total(std::string const& text) { return count_parameters(read(text)).total; }

}  // namespace

TEST_CASE("model forms: a text model of another kind than its wrapper's is refused, naming the kinds that are read") {
    auto const [wrapper, inside] = GENERATE(table<char const*, char const*>({{"gemma3", "gemma2"},
                                                                             {"gemma4", "gemma3n_text"},
                                                                             {"llama4", "llama"},
                                                                             {"mistral3", "mixtral"},
                                                                             {"qwen3_5", "qwen3_next"},
                                                                             {"qwen3_5_moe", "qwen3_5_text"},
                                                                             {"qwen2_5_vl", "qwen3"},
                                                                             {"qwen3_vl", "qwen3_moe"},
                                                                             {"qwen3_vl_moe", "qwen3"}}));
    CHECK_THROWS_WITH(read(around(wrapper, config(inside))),
                      contains("text_config.model_type: is '" + std::string(inside)) && contains("read here") &&
                          contains("config of its own"));
    CHECK_THROWS_WITH(read(around("kimi_k25", config("kimi_linear"))), contains("recurrent layers are of a kind"));
}

TEST_CASE("model forms: Mistral Small 4 has Mistral 3's wrapper around latent attention and experts") {
    std::string const text =
        R"({"model_type": "mistral4", "hidden_size": 4096, "intermediate_size": 12288, "moe_intermediate_size": 2048,
        "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 32, "n_shared_experts": 1,
        "n_routed_experts": 128, "kv_lora_rank": 256, "q_lora_rank": 1024, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "qk_nope_head_dim": 64, "head_dim": 128, "num_experts_per_tok": 4, "first_k_dense_replace": 0,
        "vocab_size": 131072, "max_position_embeddings": 1048576, "tie_word_embeddings": false})";
    ModelSpec const model = read(around("mistral3", text));
    CHECK(count_parameters(model).total == 118'972'826'624);
    CHECK(count_parameters(model).active == 6'632'588'288);
    CHECK(kv_cache_bytes_per_token(model, 2) == 36 * 320 * 2);
    CHECK(model.attention.window == 0);
    CHECK(total(around("mistral3", R"({"model_type": "mistral4"})")) == 118'972'826'624);  // the class's own sizes
}
