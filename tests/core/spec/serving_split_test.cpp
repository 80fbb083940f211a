#include "core/spec/serving_split.hpp"
#include "core/spec/engine_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "core/spec/serving_plan.hpp"
#include "tests/catch.hpp"

using namespace sextant;

namespace {

std::string fault(char const* model, ServingPlan const& plan) {
    return split_fault(find_model(model), plan).value_or("");
}

}  // namespace

TEST_CASE("serving split: tensor-parallel ranks have whole key/value heads, or a part of one each") {
    for (std::int64_t const tp : {1, 2, 5, 10, 20})
        CHECK(fault("phi-4", {.tp = tp}) == "");  // 40 heads on 10
    CHECK_THAT(fault("phi-4", {.tp = 4}), contains("--tp: 4 and the 10 key/value heads"));
    CHECK_THAT(fault("qwen3-coder-480b-a35b", {.tp = 6}), contains("--tp: 6 and the 8 key/value heads"));
    CHECK(fault("qwen3-coder-480b-a35b", {.tp = 16}) == "");
    CHECK(fault("deepseek-v3", {.tp = 16}) == "");  // a latent is whole on every rank
    CHECK_THROWS_WITH(check_serving_plan(find_model("phi-4"), {.tp = 4}), contains("a divisor or a multiple of 10"));
}

TEST_CASE("serving split: ranks have whole key heads of recurrent layers, or all a copy of the only one") {
    CHECK(fault("nemotron-h-56b", {.tp = 8}) == "");
    CHECK_THAT(fault("nemotron-h-56b", {.tp = 16}), contains("--tp: 16 does not divide the 8 key heads"));
    CHECK(fault("granite-4.0-h-small", {.tp = 8}) == "");
    ModelSpec delta = find_model("qwen3-next-80b-a3b");
    delta.recurrent->key_heads = 1;
    CHECK(split_fault(delta, {.tp = 2}).has_value());
}

TEST_CASE("serving split: tensor-parallel ranks divide feed-forwards and shared experts") {
    CHECK_THAT(fault("llama-3.2-3b", {.tp = 24}), contains("--tp: 24 does not divide the 8192 values"));
    CHECK_THAT(fault("qwen2-0.5b", {.tp = 14}), contains("--tp: 14 does not divide the 4864 values"));
    CHECK(fault("qwen2-0.5b", {.tp = 7}) != "");
    ModelSpec shared = find_model("deepseek-v3");
    shared.moe->shared_intermediate = 2052;
    CHECK_THAT(split_fault(shared, {.tp = 8, .ep = 8}).value_or(""), contains("shared experts"));
    CHECK(split_fault(shared, {.tp = 4, .ep = 4}).value_or("") == "");
}

TEST_CASE("serving split: an expert is cut evenly over the ranks of all attention groups, or experts are divided") {
    CHECK(fault("qwen3-235b-a22b", {.tp = 2, .attention_dp = 32}) == "");
    CHECK_THAT(fault("gpt-oss-120b", {.attention_dp = 128}), contains("--ep 128 divides the experts over them"));
    CHECK(fault("gpt-oss-120b", {.ep = 128, .attention_dp = 128}) == "");
}

TEST_CASE("serving split: attention groups of TensorRT-LLM are single ranks, those of others are not") {
    for (char const* engine : {"vllm", "sglang"})
        CHECK_FALSE(split_fault(find_engine(engine, "test"), {.tp = 2, .ep = 16, .attention_dp = 8}));
    EngineProfile const engine = find_engine("tensorrt-llm", "test");
    CHECK_FALSE(split_fault(engine, {.tp = 8}));
    CHECK_FALSE(split_fault(engine, {.ep = 8, .attention_dp = 8}));
    CHECK_THAT(split_fault(engine, {.tp = 2, .ep = 16, .attention_dp = 8}).value_or(""),
               contains("--tp 1 --attention-dp 16"));
}

TEST_CASE("cut_blocks: vLLM and SGLang load blocks of fp8-block whole") {
    EngineProfile const vllm = find_engine("vllm", "test");
    auto const words = [&](EngineProfile const& engine, char const* model, ServingPlan const& plan) {
        return cut_blocks(engine, find_model(model), plan).value_or("");
    };
    for (char const* engine : {"vllm", "sglang"}) {
        EngineProfile const e = find_engine(engine, "test");
        CHECK_THAT(words(e, "qwen3-coder-480b-a35b", {.tp = 8, .weights = "fp8-block"}),
                   contains("8 ranks cut the 2560 values of an expert") && contains("--ep 8"));
    }
    CHECK(words(vllm, "qwen3-coder-480b-a35b", {.tp = 4, .weights = "fp8-block"}) == "");
    CHECK(words(vllm, "qwen3-coder-480b-a35b", {.tp = 8, .ep = 8, .weights = "fp8-block"}) == "");
    CHECK(words(vllm, "qwen3-coder-480b-a35b", {.tp = 8, .weights = "fp8"}) == "");
    CHECK(words(find_engine("tensorrt-llm", "test"), "qwen3-coder-480b-a35b", {.tp = 8, .weights = "fp8-block"}) == "");
    CHECK(words(vllm, "deepseek-v3", {.tp = 8, .weights = "fp8-block"}) == "");
    CHECK_THAT(words(vllm, "deepseek-v3", {.tp = 64, .ep = 64, .weights = "fp8-block"}), contains("a feed-forward"));
}

TEST_CASE("split_fault: experts that ep does not divide may be filled up by copies") {
    CHECK_THAT(fault("deepseek-v3", {.ep = 72, .attention_dp = 72}), contains("72 does not divide the 256 experts") &&
                                                                         contains("--redundant-experts 32") &&
                                                                         contains("288") && contains("--ep 64"));
    CHECK(fault("deepseek-v3", {.ep = 72, .attention_dp = 72, .redundant_experts = 32}).empty());
    CHECK_THAT(fault("deepseek-v3", {.ep = 72, .attention_dp = 72, .redundant_experts = 8}),
               contains("256 experts and 8 copies") && contains("--redundant-experts 32"));
}
