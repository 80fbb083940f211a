#include "tests/catch.hpp"

#include "core/error.hpp"
#include "core/spec/hf_config.hpp"
#include "core/spec/model_catalog.hpp"
#include "core/spec/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

using namespace sextant;

namespace {

/// A llama config with one more line, which may repeat none of its keys.
std::string llama_with(std::string const& line, std::string const& without = "") {
    std::string text = R"({"model_type": "llama")";
    for (auto const* pair :
         {R"("hidden_size": 64)", R"("intermediate_size": 128)", R"("num_hidden_layers": 2)",
          R"("num_attention_heads": 4)", R"("vocab_size": 1000)", R"("max_position_embeddings": 512)"})
        if (without.empty() || std::string(pair).find('"' + without + '"') == std::string::npos)
            text += std::string(", ") + pair;
    return text + (line.empty() ? "" : ", " + line) + "}";
}

std::string message_of(std::string const& text) {
    try {
        read_hf_config(text, "test.json");
    } catch (InputError const& error) {
        return error.what();
    }
    return "(accepted)";
}

bool has(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

/// The text is refused, in a sentence that names the document and each of `parts`.
template <class... Parts>
void check_refused(std::string const& text, Parts const&... parts) {
    auto const message = message_of(text);
    INFO(message);
    CHECK(has(message, "test.json"));
    for (std::string const& part : {std::string(parts)...})
        CHECK(has(message, part));
}

}  // namespace

TEST_CASE("config: what is not a JSON object is refused with its place") {
    check_refused("", "empty");
    check_refused("   \n ", "empty");
    check_refused("[1, 2]", "object");
    check_refused("{\"model_type\": \"llama\",\n \"hidden_size\": 40", "line 2");
    check_refused("not json", "line 1");
    check_refused(llama_with("\"rope_theta\": NaN"), "JSON");
}

TEST_CASE("config: each missing size is named") {
    for (auto const* key :
         {"hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "vocab_size"})
        check_refused(llama_with("", key), std::string(key), "missing");
    check_refused(R"({"model_type": "gpt2"})", "n_embd", "missing");
    check_refused(R"({"model_type": "mpt"})", "d_model", "missing");
    check_refused(R"({"model_type": "gemma3"})", "text_config", "missing");
    check_refused(llama_with("\"hidden_size\": null", "hidden_size"), "hidden_size", "null");
}

TEST_CASE("config: sizes that are no sizes are refused, naming the key") {
    for (auto const* value : {"0", "-64", "1e30", "64.5", "\"64\"", "true", "[64]", "123456789012345"})
        check_refused(llama_with("\"hidden_size\": ") + value, "hidden_size", "hidden_size");
    check_refused(llama_with("\"num_hidden_layers\": 100000000", "num_hidden_layers"), "num_hidden_layers", "10000");
    check_refused(llama_with("\"attention_bias\": 1"), "attention_bias", "true or false");
    check_refused(llama_with("\"tie_word_embeddings\": \"yes\""), "tie_word_embeddings");
    check_refused(llama_with("\"head_dim\": 0"), "head_dim");
}

TEST_CASE("config: sizes that are possible one by one but not together are refused") {
    auto const text =
        R"({"model_type": "llama", "hidden_size": 16777216, "intermediate_size": 16777216, "num_hidden_layers": 10000,
                          "num_attention_heads": 4, "vocab_size": 1000})";
    check_refused(text, "parameters");
}

TEST_CASE("config: heads have to divide") {
    check_refused(llama_with("\"num_attention_heads\": 5", "num_attention_heads"), "num_attention_heads", "divide");
    check_refused(llama_with("\"num_key_value_heads\": 3"), "num_key_value_heads", "divide");
    check_refused(llama_with("\"num_key_value_heads\": 8"), "num_key_value_heads", "divide");
    check_refused(R"({"model_type": "gpt2", "n_embd": 64, "n_head": 5, "n_layer": 1, "vocab_size": 10})", "n_head");
    check_refused(
        R"({"model_type": "falcon", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 1, "vocab_size": 10,
                      "new_decoder_architecture": true, "num_kv_heads": 3})",
        "num_kv_heads");
    // With a head_dim of its own, hidden need not be a multiple of the heads.
    CHECK(message_of(llama_with("\"num_attention_heads\": 5, \"head_dim\": 16", "num_attention_heads")) ==
          "(accepted)");
}

TEST_CASE("config: more experts per token than experts are refused") {
    check_refused(R"({"model_type": "mixtral", "hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 1,
        "num_attention_heads": 8, "vocab_size": 10, "num_local_experts": 2, "num_experts_per_tok": 3})",
                  "num_experts_per_tok");
}

TEST_CASE("config: an architecture that is not modelled is refused with why, by its type or its class") {
    auto const why = [](char const* type, char const* name) {
        return message_of(fmt::format(R"({{"model_type": "{}", "architectures": ["{}"]}})", type, name));
    };
    CHECK(has(why("nemotron-nas", "DeciLMForCausalLM"), "layers that differ in heads or width"));
    CHECK(has(why("some_nas", "DeciLMForCausalLM"), "architectures: 'DeciLMForCausalLM': layers that differ"));
    CHECK(has(why("gemma3n", "Gemma3nForConditionalGeneration"), "embeddings of each layer's own"));
    CHECK(has(why("mllama", "MllamaForConditionalGeneration"), "attend to an encoder's pictures"));
    CHECK(has(why("qwen2_vl", "Qwen2VLForConditionalGeneration"), "encoders of pictures"));
    CHECK(has(why("glm4v_moe", "Glm4vMoeForConditionalGeneration"), "encoders of pictures"));
    for (char const* type : {"nemotron-nas", "gemma3n", "mllama", "qwen2_vl"})
        CHECK_FALSE(has(why(type, "Unknown"), "did you mean"));
}

TEST_CASE("config: an unknown architecture is refused with what is known and the nearest") {
    auto const message = message_of(R"({"model_type": "lama"})");
    INFO(message);
    CHECK(has(message, "'lama'"));
    CHECK(has(message, "did you mean 'llama'"));
    for (auto const& known : known_architectures())
        CHECK(has(message, known));
    check_refused(R"({"hidden_size": 5})", "model_type", "missing");
    check_refused(R"({"architectures": ["NoSuchForCausalLM"]})", "NoSuchForCausalLM", "llama");
    check_refused(R"({"model_type": 7})", "model_type");
}

TEST_CASE("config: an architecture that is known not to be modelled is refused with what of it is not") {
    check_refused(R"({"architectures": ["MambaForCausalLM"]})", "MambaForCausalLM", "recurrent layers alone");
    check_refused(R"({"model_type": "t5"})", "model_type", "'t5'", "encoders and decoders");
    check_refused(R"({"model_type": "jamba"})", "Mamba's first kind", "nemotron_h");
}

TEST_CASE("config: a model_type that says nothing leaves the class to tell the architecture") {
    auto const model = read_hf_config(R"({"model_type": "git", "architectures": ["Grok1ForCausalLM"],
        "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
        "vocab_size": 1000, "residual_moe": true, "moe_intermediate_size": 32})",
                                      "test.json");
    CHECK(model.architecture == "grok-2");
    REQUIRE(model.moe);
    CHECK(model.moe->intermediate == 32);
    CHECK(model.moe->shared_intermediate == 128);
}

TEST_CASE("config: a class of a later version than the model_type decides") {
    auto const read = [](std::string const& model_class) {
        return read_hf_config(R"({"model_type": "bailing_moe", "architectures": [")" + model_class +
                                  R"("], "hidden_size": 96, "num_attention_heads": 6, "vocab_size": 1000,
            "num_hidden_layers": 4, "intermediate_size": 200, "num_key_value_heads": 2, "num_experts": 8,
            "num_experts_per_tok": 3, "moe_intermediate_size": 24})",
                              "test.json");
    };
    auto const ling2 = read("BailingMoeV2ForCausalLM");
    CHECK(ling2.architecture == "bailing_moe_v2");
    CHECK(ling2.attention.query_key_norm == AttentionSpec::QueryKeyNorm::shared_head);
    CHECK(ling2.moe.value().correction_bias);
    CHECK(read("BailingMoeForCausalLM").architecture == "bailing_moe");
    CHECK_THROWS_WITH(read("LlamaForCausalLM"), contains("BailingMoeForCausalLM"));  // no version of it
}

TEST_CASE("config: without model_type, the class name tells the architecture") {
    auto const model =
        read_hf_config(R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 128,
        "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 1000})",
                       "x");
    CHECK(model.architecture == "llama");
    CHECK(model.max_positions == 2048);  // the class default
}

TEST_CASE("config: keys that nobody needs are ignored") {
    CHECK(message_of(llama_with(R"("some_future_key": {"a": [1, null]}, "quantization_config": {"bits": 4})")) ==
          "(accepted)");
}

TEST_CASE("config: logits are capped where the class or the file says so") {
    auto const capped = [](std::string const& type, std::string const& more = "") {
        return read_hf_config(R"({"model_type": ")" + type + R"(", "hidden_size": 64, "intermediate_size": 64,
            "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 10)" +
                                  more + "}",
                              "x")
            .capped_logits;
    };
    CHECK(capped("gemma2"));
    CHECK(capped("vaultgemma"));
    CHECK_FALSE(capped("gemma3_text"));
    CHECK_FALSE(capped("llama"));
    CHECK(capped("gemma3_text", R"(, "final_logit_softcapping": 30.0)"));
    CHECK_FALSE(capped("gemma2", R"(, "final_logit_softcapping": null)"));
    for (char const* const model : {"gemma-2-9b", "gemma-4-31b", "grok-2"})
        CHECK(find_model(model).capped_logits);
    CHECK_FALSE(find_model("gemma-3-1b").capped_logits);
}

TEST_CASE("config: layer_types says which layers slide") {
    std::string const head =
        R"({"model_type": "gemma2", "hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 3,
        "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 10, "sliding_window": 8)";
    auto const pattern = read_hf_config(head + "}", "x");
    CHECK((pattern.layers[0].sliding && !pattern.layers[1].sliding && pattern.layers[2].sliding));
    CHECK(pattern.attention.window == 8);
    auto const given =
        read_hf_config(head + R"(, "layer_types": ["full_attention", "sliding_attention", "full_attention"]})", "x");
    CHECK((!given.layers[0].sliding && given.layers[1].sliding && !given.layers[2].sliding));
    check_refused(head + R"(, "layer_types": ["full_attention"]})", "layer_types", "3 layers");
    check_refused(head + R"(, "layer_types": ["full_attention", "chunked", "full_attention"]})", "chunked");
}

TEST_CASE("config: MPT's own switches follow its format's definition") {
    std::string const head =
        R"({"model_type": "mpt", "d_model": 64, "n_heads": 4, "n_layers": 2, "max_seq_len": 32, "vocab_size": 100)";
    auto const total = [&](std::string const& more) {
        return count_parameters(read_hf_config(head + more + "}", "x")).total;
    };
    std::int64_t const plain = total("");
    CHECK(plain == 100 * 64 + 2 * (4 * 64 * 64 + 2 * 4 * 64 * 64 + 2 * 64) + 64);
    CHECK(total(R"(, "no_bias": false)") == plain + 2 * (4 * 64 + 4 * 64 + 64 + 2 * 64) + 64);
    CHECK(total(R"(, "attn_config": {"alibi": false})") == plain + 32 * 64);
    CHECK(total(R"(, "attn_config": {"qk_ln": true})") == plain + 2 * 2 * 64);
    CHECK(total(R"(, "attn_config": {"attn_type": "multiquery_attention"})") == plain - 2 * 2 * 48 * 64);
    CHECK(total(R"(, "expansion_ratio": 2.5)") == plain - 2 * 2 * 96 * 64);
    check_refused(head + R"(, "attn_config": {"attn_type": "linear"}})", "attn_type", "linear");
    check_refused(head + R"(, "expansion_ratio": -1})", "expansion_ratio");
}

TEST_CASE("config: any prefix of a config is refused cleanly") {
    std::string const whole = llama_with("\"num_key_value_heads\": 2");
    for (std::size_t length = 0; length < whole.size(); ++length) {
        auto const message = message_of(whole.substr(0, length));
        INFO(length << ": " << message);
        CHECK(has(message, "test.json"));
    }
    CHECK(message_of(whole) == "(accepted)");
}

TEST_CASE("config: later families refuse what they cannot express") {
    std::string const sizes =
        R"("hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4, "num_key_value_heads": 4,
           "num_hidden_layers": 4, "vocab_size": 1000)";
    auto const config = [&](std::string const& type, std::string const& more) {
        return R"({"model_type": ")" + type + "\", " + sizes + more + "}";
    };
    check_refused(config("hunyuan_v1_moe", R"(, "num_experts": 4, "moe_topk": [2, 2, 1, 2])"), "moe_topk");
    check_refused(config("hunyuan_v1_moe", R"(, "num_experts": 4, "moe_topk": [5, 5, 5, 5])"), "5 of 4 experts");
    check_refused(config("hunyuan_v1_moe", R"(, "num_experts": 4, "moe_topk": [])"), "moe_topk");
    check_refused(config("dots1", ""), "n_routed_experts: is missing");
    check_refused(config("glm4_moe_lite", R"(, "mlp_layer_types": ["dense"])"), "1 entries for 4");
    check_refused(config("glm4_moe_lite", R"(, "mlp_layer_types": ["dense", "moe", "moe", "moe"])"),
                  "mlp_layer_types[1]: is 'moe'");
    std::string const latent = R"(, "n_routed_experts": 4, "num_experts_per_tok": 2)";
    check_refused(config("glm_moe_dsa", latent + R"(, "index_topk_freq": 4)"), "index_topk_freq", "not modelled");
    check_refused(config("glm_moe_dsa", latent + R"(, "index_topk_pattern": "FFSF")"), "index_topk_pattern");
    check_refused(config("glm_moe_dsa", latent + R"(, "indexer_types": ["full", "shared"])"), "indexer_types");
    check_refused(config("deepseek_v32", latent + R"(, "num_nextn_predict_layers": 44333)"),
                  "num_nextn_predict_layers: is 44333 (0 to 100 is allowed)");
    check_refused(config("deepseek_v32", latent + R"(, "q_lora_rank": null)"), "q_lora_rank: is null");
    check_refused(config("deepseek_v32", latent + R"(, "index_topk": 0)"), "index_topk: is 0");
    CHECK(read_hf_config(config("deepseek_v32", latent + R"(, "index_topk_freq": 1)"), "test.json").attention.index);
    check_refused(R"({"model_type": "kimi_k25"})", "text_config: is missing");
    CHECK(read_hf_config(config("exaone4", R"(, "sliding_window": 8, "sliding_window_pattern": "LG")"), "test.json")
              .layers[1]
              .sliding == false);
    CHECK(read_hf_config(config("exaone4", R"(, "sliding_window": 8)"), "test.json").layers[2].sliding);
    CHECK(read_hf_config(config("qwen2_5_vl", ""), "test.json").attention.qkv_bias);
    // Which layers slide where the config does not say: three of four, all but each fourth from the first, all, every
    // other.
    auto const sliding = [&](std::string const& kind, std::string const& more = "") {
        std::string out;
        for (LayerKind const layer : read_hf_config(config(kind, more), "test.json").layers)
            out += layer.sliding ? 's' : 'f';
        return out;
    };
    CHECK(sliding("olmo3") == "sssf");
    CHECK(sliding("cwm") == "fsss");
    CHECK(sliding("ministral") == "ssss");
    CHECK(sliding("ministral", R"(, "sliding_window": null)") == "ffff");
    CHECK(sliding("vaultgemma") == "sfsf");
    CHECK(sliding("exaone_moe") == "sssf");
    CHECK(sliding("afmoe") == "sssf");
    CHECK(sliding("afmoe", R"(, "global_attn_every_n_layers": 2)") == "sfsf");
    CHECK(sliding("afmoe", R"(, "global_attn_every_n_layers": 1)") == "ffff");
    check_refused(config("hy_v3", R"(, "mlp_bias": true)"), "mlp_bias: biases beside experts are not modelled");
    check_refused(config("afmoe", R"(, "attention_bias": true)"), "attention_bias: biases beside a gate");
    CHECK_FALSE(read_hf_config(config("afmoe", R"(, "num_dense_layers": 4)"), "test.json").moe);
    check_refused(config("bamba", R"(, "attn_layer_indices": [4])"), "attn_layer_indices: names layer 4 of 4");
    check_refused(config("bamba", ""), "attn_layer_indices");
    check_refused(config("helium", R"(, "head_dim": 24)"), "head_dim: 4 heads of 24 are not the width of 64");
    check_refused(config("flex_olmo", R"(, "num_experts": 3)"), "num_experts_per_tok: is 5 of 3 experts");
    check_refused(config("exaone_moe", R"(, "mlp_layer_types": ["dense"])"), "1 entries for 4");
    CHECK(read_hf_config(config("granitemoeshared", R"(, "shared_intermediate_size": 40)"), "test.json")
              .moe->shared_intermediate == 40);
}

TEST_CASE("config: a mixture whose layers are all named dense is a dense model") {
    auto const read = [](std::string const& types) {
        return read_hf_config(
            R"({"model_type": "glm4_moe_lite", "hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4,
                "num_key_value_heads": 4, "num_hidden_layers": 2, "vocab_size": 1000, "n_routed_experts": 4,
                "num_experts_per_tok": 2, "mlp_layer_types": )" +
                types + "}",
            "test.json");
    };
    CHECK(read(R"(["dense", "sparse"])").moe);
    ModelSpec const dense = read(R"(["dense", "dense"])");
    CHECK_FALSE(dense.moe);
    CHECK(count_parameters(dense).active == count_parameters(dense).total);
}

TEST_CASE("config: scaled rotary positions make the longest sequence longer, as engines take it") {
    auto const longest = [](std::string const& line) {
        return read_hf_config(llama_with(line), "x").max_positions;  // max_position_embeddings is 512
    };
    CHECK(longest(R"("rope_scaling": null)") == 512);
    CHECK(longest(R"("rope_scaling": {"rope_type": "default"})") == 512);
    CHECK(longest(R"("rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 400})") ==
          1600);
    CHECK(longest(R"("rope_scaling": {"type": "yarn", "factor": 2, "original_max_position_embeddings": 256})") == 512);
    CHECK(longest(R"("rope_parameters": {"rope_type": "yarn", "factor": 4.0})") == 2048);
    CHECK(longest(R"("rope_scaling": {"type": "linear", "factor": 2.0})") == 1024);
    CHECK(longest(R"("rope_scaling": {"type": "dynamic", "factor": 1.5})") == 768);
    for (char const* const extended : {"llama3", "longrope", "su"})
        CHECK(longest(std::string(R"("rope_scaling": {"rope_type": ")") + extended +
                      R"(", "factor": 8.0, "original_max_position_embeddings": 256})") == 512);
    CHECK(longest(R"("rope_parameters": {"full_attention": {"rope_type": "yarn", "factor": 4.0}})") == 512);
    check_refused(llama_with(R"("rope_scaling": {"type": "linear", "factor": -1})"), "rope_scaling.factor");
    check_refused(llama_with(R"("rope_scaling": {"type": "linear", "factor": "4"})"), "rope_scaling.factor");
    // What the presets state is in their max_position_embeddings already.
    CHECK(find_model("gpt-oss-120b").max_positions == 131072);
    CHECK(find_model("deepseek-v3").max_positions == 163840);
    CHECK(find_model("gemma-3-27b").max_positions == 131072);
}
