// Configs that say by a key, or by a text model inside, that the model is of another form than its class is by default.
#include "tests/catch.hpp"

#include "core/error.hpp"
#include "core/spec/hf_config.hpp"
#include "core/spec/not_modelled.hpp"
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

TEST_CASE("model forms: the first ChatGLM is not read as the second") {
    for (auto const* const key : {"inner_hidden_size", "position_encoding_2d"})
        CHECK_THROWS_WITH(read(config("chatglm", ", \"" + std::string(key) + "\": " +
                                                     (std::string(key) == "position_encoding_2d" ? "true" : "16384"))),
                          contains(std::string(key) + ": the first ChatGLM") && contains("gpt_neox"));
}

TEST_CASE("model forms: which layers slide follows the keys of the class") {
    auto const sliding = [](std::string const& text) {
        std::string out;
        for (LayerKind const layer : read(text).layers)
            out += layer.sliding ? 's' : 'f';
        return out;
    };
    std::string const window = R"(, "use_sliding_window": true, "sliding_window": 512)";
    CHECK(sliding(config("smollm3", window)) == "fffsfffs");  // the layers without rotary positions
    CHECK(sliding(config("smollm3", window + R"(, "no_rope_layer_interval": 2)")) == "fsfsfsfs");
    CHECK(sliding(config("smollm3", window + R"(, "no_rope_layers": [0, 1, 1, 1, 1, 1, 1, 0])")) == "sffffffs");
    CHECK(sliding(config("cohere2")) == "sssfsssf");
    CHECK(sliding(config("cohere2", R"(, "sliding_window_pattern": 2)")) == "sfsfsfsf");
    CHECK(sliding(config("qwen3_moe", window)) == "ssssssss");
    CHECK(sliding(config("qwen3_moe", R"(, "sliding_window": 512)")) == "ffffffff");
    CHECK_THROWS_WITH(read(config("qwen2_moe", window)), contains("use_sliding_window") && contains("layer_types"));
    std::string const types = R"(, "layer_types": ["full_attention", "full_attention", "full_attention",
        "full_attention", "full_attention", "full_attention", "full_attention", ")";
    CHECK(sliding(config("qwen2_moe", window + types + "sliding_attention\"]")) == "fffffffs");
    CHECK(sliding(config("llama4_text", types + "chunked_attention\"]")) == "fffffffs");
    CHECK_THROWS_WITH(read(config("llama4_text", types + "sliding_attention\"]")), contains("chunked_attention"));
}

TEST_CASE("model forms: Llama 4 whose list of layers with experts is empty is dense") {
    std::string const dense = R"(, "intermediate_size_mlp": 6144, "head_dim": 128, "moe_layers": [])";
    CHECK(total(config("llama4_text", dense)) == total(config("llama", R"(, "head_dim": 128)")));
    CHECK(total(config("llama4_text", dense + R"(, "num_local_experts": 0)")) == total(config("llama4_text", dense)));
    CHECK_FALSE(read(config("llama4_text", dense)).moe);
}

TEST_CASE("model forms: a class that is not the model_type's own is refused, naming the one that is") {
    auto const of_class = [](char const* type, std::string const& name) {
        return config(type, R"(, "architectures": [")" + name + "\"]");
    };
    CHECK_THROWS_WITH(read(of_class("mistral", "MixtralModel")), contains("name MistralForCausalLM"));
    CHECK_THROWS_WITH(read(of_class("llama", "Qwen2ForSequenceClassification")), contains("may have other layers"));
    CHECK_THROWS_WITH(read(of_class("gpt2", "MyGPT2")),
                      contains("may have other layers") && contains("GPT2LMHeadModel"));
    CHECK(read(of_class("kimi_k2", "DeepseekV3ForCausalLM")).architecture == "kimi_k2");  // the same reader
    CHECK(read(of_class("baichuan", "BaiChuanForCausalLM")).architecture == "baichuan");  // letter case
}

TEST_CASE("model forms: the class says the head, and output_head says it before the class") {
    auto const of_class = [](std::string const& name, std::string const& more = "") {
        return read(config("llama", R"(, "architectures": [")" + name + "\"]" + more));
    };
    std::string const labels = R"(, "id2label": {"0": "bad", "1": "fair", "2": "good"})";
    CHECK(of_class("LlamaForCausalLM", labels).head == OutputHead::vocabulary);
    ModelSpec const two = of_class("LlamaForSequenceClassification");  // transformers' default, which it does not write
    CHECK((two.head == OutputHead::labels && two.labels == 2));
    CHECK(of_class("LlamaForSequenceClassification", labels).labels == 3);
    CHECK(of_class("LlamaForSequenceClassification", R"(, "num_labels": 1)").labels == 1);
    CHECK(of_class("LlamaForTokenClassification", labels).labels == 3);
    CHECK(of_class("LlamaForQuestionAnswering", labels).labels == 2);
    CHECK(of_class("LlamaModel").head == OutputHead::none);
    CHECK(of_class("LlamaModel", R"(, "output_head": "scalar")").labels == 1);
    CHECK(of_class("LlamaForSequenceClassification", R"(, "output_head": "vocabulary")").head ==
          OutputHead::vocabulary);
    CHECK(of_class("LlamaForCausalLM", R"(, "output_head": "7")").labels == 7);
    CHECK_THROWS_WITH(of_class("LlamaForRewardModel"), contains("output_head"));
    CHECK(of_class("LlamaForRewardModel", R"(, "output_head": "scalar")").labels == 1);
    for (char const* const wrong : {"logits", "0", "-1", "1.5", "99999999999"})
        CHECK_THROWS_WITH(of_class("LlamaForCausalLM", R"(, "output_head": ")" + std::string(wrong) + "\""),
                          contains(wrong) && contains("vocabulary, scalar, none"));
    CHECK(read(config("chatglm", R"(, "architectures": ["ChatGLMModel"])")).head == OutputHead::vocabulary);
}

TEST_CASE("model forms: attention to an encoder is refused, naming the key, and attention both ways is read") {
    for (auto const* const key : {"add_cross_attention", "is_encoder_decoder"}) {
        CHECK_THROWS_WITH(read(config("gemma3_text", ", \"" + std::string(key) + "\": true")), contains(key));
        CHECK_NOTHROW(read(config("gemma3_text", ", \"" + std::string(key) + "\": false")));
    }
    CHECK_FALSE(read(config("gemma3_text", R"(, "use_bidirectional_attention": true)")).causal);
    CHECK(read(config("gemma3_text", R"(, "use_bidirectional_attention": false)")).causal);
    CHECK_FALSE(read(config("llama", R"(, "is_causal": false)")).causal);
    std::string const gemma4 = R"(, "hidden_size_per_layer_input": 0, "use_bidirectional_attention": )";
    CHECK_THROWS_WITH(read(around("gemma4", config("gemma4_text", gemma4 + "\"all\""))), contains("both ways"));
    CHECK_NOTHROW(read(config("gemma4_text", gemma4 + "\"vision\"")));
}

TEST_CASE("model forms: SantaCoder's heads share one of keys and values") {
    ModelSpec const model = read(R"({"model_type": "gpt2", "architectures": ["GPT2LMHeadCustomModel"], "n_embd": 2048,
        "n_head": 16, "n_layer": 24, "n_inner": 8192, "n_positions": 2048, "vocab_size": 49280,
        "attention_head_type": "multiquery"})");
    CHECK(count_parameters(model).total == 1'124'886'528);
    CHECK(kv_cache_bytes_per_token(model, 2) == 12'288);
}

TEST_CASE("model forms: MiMo-V2-Flash follows the lists of its config") {
    ModelSpec const model = read(config("mimo_v2_flash", R"(, "hybrid_layer_pattern": [0, 1, 0, 1, 0, 1, 0, 1],
        "moe_layer_freq": [0, 0, 0, 0, 1, 1, 1, 1], "swa_num_key_value_heads": 4, "sliding_window_size": 128)"));
    for (std::size_t layer = 0; layer < 8; ++layer) {
        CHECK(model.layers[layer].sliding == (layer % 2 == 1));
        CHECK(model.layers[layer].moe == (layer >= 4));
    }
    CHECK(model.window_attention->kv_heads == 4);
    CHECK(model.attention.window == 129);
    ModelSpec const usual = read(config("mimo_v2_flash"));
    CHECK((!usual.layers[0].moe && usual.layers[1].moe && !usual.layers[5].sliding && usual.layers[6].sliding));
    CHECK(usual.window_attention->kv_heads == 8);
    CHECK(usual.attention.window == 129);
    CHECK_THROWS_WITH(read(config("mimo_v2_flash", R"(, "swa_head_dim": 64)")), contains("swa_head_dim: is 64"));
    CHECK_THROWS_WITH(read(config("mimo_v2_flash", R"(, "hybrid_layer_pattern": [0, 1])")),
                      contains("2 entries for 8"));
}

TEST_CASE("model forms: GPT-Neo's layers are what attention_types repeats, unless attention_layers names them") {
    std::string const neo = R"({"model_type": "gpt_neo", "hidden_size": 64, "num_heads": 4, "num_layers": 3,
        "vocab_size": 100, "attention_types": )";
    std::string const types = R"([[["global"], 1], [["local"], 2]])";
    ModelSpec const model = read(neo + types + "}");
    CHECK((!model.layers[0].sliding && model.layers[1].sliding && model.layers[2].sliding));
    CHECK(read(neo + types + R"(, "attention_layers": ["local", "global", "local"]})").layers[0].sliding);
    CHECK_THROWS_WITH(read(neo + R"([[["global", "local"], 2]]})"), contains("attention_layers: has 4 entries for 3"));
    CHECK_THROWS_WITH(read(neo + R"([["global", 3]]})"), contains("attention_types: is no list of lists"));
    CHECK_THROWS_WITH(read(neo + R"([[["global"], 20000]]})"), contains("more than 10000"));
}

TEST_CASE("model forms: defaults are those of the class where a key is null or absent") {
    for (auto const* const type : {"llama4_text", "ministral3", "iquestcoder", "cwm", "seed_oss"}) {
        INFO(type);
        std::string null = config(type, R"(, "head_dim": null)");
        null.replace(null.find("2048"), 4, "1024");
        CHECK(read(null).attention.head_dim == 1024 / 16);
        CHECK(read(config(type)).attention.head_dim == 128);
    }
    std::string const experts = R"(, "n_routed_experts": 4, "num_experts_per_tok": 2)";
    CHECK(read(config("deepseek_v2", experts + R"(, "n_shared_experts": null)")).moe->shared_intermediate == 0);
    CHECK(read(config("deepseek_v2", experts)).moe->shared_intermediate == 2 * 1407);
    CHECK_THROWS_WITH(read(config("deepseek_v2", experts + R"(, "mlp_bias": true)")), contains("mlp_bias"));
    CHECK_FALSE(read(around("gemma3", config("gemma3_text", R"(, "tie_word_embeddings": false)"))).tied_embeddings);
    CHECK(read(around("gemma3", config("gemma3_text"))).tied_embeddings);
    ModelSpec const qwen = read(around("qwen3_vl_moe", R"({"hidden_size": 2048, "num_hidden_layers": 2,
        "num_attention_heads": 16, "intermediate_size": 5632, "vocab_size": 1000})"));
    CHECK(qwen.attention.kv_heads == 16);
    CHECK(qwen.max_positions == 128'000);
    CHECK((qwen.moe->experts == 60 && qwen.moe->top_k == 4 && qwen.moe->intermediate == 1408));
    ModelSpec const exaone = read(R"({"model_type": "exaone", "hidden_size": 64, "num_layers": 2,
        "num_attention_heads": 4, "vocab_size": 1000})");
    CHECK(exaone.mlp.intermediate == 256);
    CHECK(exaone.tied_embeddings);
    ModelSpec const hybrid = read(config("nemotron_h", R"(, "hybrid_override_pattern": "M-M*-M-*",
        "mamba_num_heads": 32, "mamba_conv_bias": false, "mamba_chunk_size": 64)"));
    CHECK_FALSE(hybrid.recurrent->convolution_bias);
    CHECK(hybrid.recurrent->chunk == 64);
}

TEST_CASE("model forms: MPT's positions are what attn_config and learned_pos_emb say") {
    auto const position = [](std::string const& more) {
        return read(R"({"model_type": "mpt", "d_model": 64, "n_heads": 4, "n_layers": 2, "max_seq_len": 32,
            "vocab_size": 100)" +
                    more + "}")
            .position;
    };
    CHECK(position("") == PositionKind::alibi);
    CHECK(position(R"(, "attn_config": {"alibi": false})") == PositionKind::learned);
    CHECK(position(R"(, "attn_config": {"alibi": false, "rope": true})") == PositionKind::rotary);
    CHECK(position(R"(, "attn_config": {"alibi": false}, "learned_pos_emb": false)") == PositionKind::none);
}

TEST_CASE("model forms: encoders beside a model of text are refused, and what predicts further tokens is said") {
    for (auto const* const key : {"vision_config", "audio_config", "visual"})
        CHECK_THROWS_WITH(read(config("qwen", ", \"" + std::string(key) + "\": {}")),
                          contains(key) && contains("leave the key out"));
    CHECK_NOTHROW(read(around("gemma3", config("gemma3_text"), R"(, "vision_config": {})")));
    for (auto const* const type :
         {"ernie4_5_moe", "exaone_moe", "hy_v3", "mimo_v2_flash", "minimax_m2", "qwen3_5_text"})
        CHECK_THAT(std::string(left_out_of(read(config(type)).architecture)), contains("predict further tokens"));
    CHECK_THAT(std::string(left_out_of("qwen3_5")), contains("predict further tokens and its encoders"));
    CHECK(left_out_of("deepseek_v3").empty());  // counted apart
}
