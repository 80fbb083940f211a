#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "planner/exporters/exporter.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"

#include <algorithm>

using namespace sextant;

namespace {

Export exported(char const* format, char const* model) {
    return find_exporter(format, "test")
        .write(make_launch_plan(find_model(model), find_cluster("h100-sxm", "test"),
                                {.sequence = 1024, .global_batch = 8}, ParallelPlan{}, {}));
}

bool writes(Export const& e, std::string const& part) {
    return std::any_of(e.files.begin(), e.files.end(),
                       [&](ExportedFile const& file) { return file.text.find(part) != std::string::npos; });
}

bool notes(Export const& e, std::string const& part) {
    return std::any_of(e.not_expressed.begin(), e.not_expressed.end(), [&](NotExpressed const& note) {
        return note.field == "model" && note.message.find(part) != std::string::npos;
    });
}

}  // namespace

TEST_CASE("the activation is the model's, or is said to be another", "[export]") {
    for (char const* const format : {"megatron", "deepspeed"}) {
        CAPTURE(format);
        CHECK(writes(exported(format, "llama-2-7b"), "--swiglu"));
        CHECK(writes(exported(format, "nemotron-4-15b"), "--squared-relu"));
        Export const geglu = exported(format, "gemma-2b");
        CHECK(writes(geglu, "--swiglu"));  // the same shapes
        CHECK(notes(geglu, "GELU within a gate"));
        CHECK(notes(exported(format, "opt-6.7b"), "ReLU (the file has GELU"));
        CHECK_FALSE(notes(exported(format, "gpt2"), ""));
    }
    CHECK(writes(exported("nemo", "llama-2-7b"), "activation_func=torch.nn.functional.silu"));
    CHECK(writes(exported("nemo", "gemma-2b"), "activation_func=torch.nn.functional.gelu"));
    CHECK(writes(exported("nemo", "opt-6.7b"), "activation_func=torch.nn.functional.relu"));
    CHECK(writes(exported("nemo", "nemotron-4-15b"), "import squared_relu"));
    CHECK_FALSE(writes(exported("nemo", "llama-2-7b"), "squared_relu"));
    CHECK(notes(exported("nemo", "gpt-oss-20b"), "activation function"));
}

TEST_CASE("Megatron-DeepSpeed gets the interval, the width and the heads of a model, or says that it cannot",
          "[export]") {
    Export const mixtral = exported("deepspeed", "mixtral-8x7b");
    CHECK(writes(mixtral, "--expert-interval 1"));
    CHECK_FALSE(notes(mixtral, ""));
    CHECK(writes(exported("deepspeed", "qwen3-30b-a3b"), "--ffn-hidden-size 768"));
    Export const dense_first = exported("deepspeed", "deepseek-v2-lite");
    CHECK(notes(dense_first, "every n-th layer"));
    CHECK(notes(dense_first, "one feed-forward width"));
    CHECK(writes(exported("deepspeed", "gemma-7b"), "--kv-channels 256"));
    CHECK(notes(exported("deepspeed", "qwen2.5-7b"), "queries, keys and values"));
    CHECK(notes(exported("deepspeed", "gpt-oss-20b"), "sinks"));
    CHECK(notes(exported("deepspeed", "deepseek-v3"), "multi-token prediction"));
}

TEST_CASE("what no Megatron has words for is said by every exporter of its line", "[export]") {
    for (char const* const format : {"megatron", "deepspeed", "nemo"}) {
        CAPTURE(format);
        CHECK(notes(exported(format, "bloom-7b1"), "ALiBi"));
        CHECK(notes(exported(format, "bloom-7b1"), "a norm after the embedding"));
        CHECK(notes(exported(format, "falcon-7b"), "in parallel"));
        CHECK(notes(exported(format, "gemma-2-9b"), "norms after"));
        CHECK(notes(exported(format, "olmoe-1b-7b"), "over all heads"));
        CHECK_FALSE(notes(exported(format, "llama-3.1-8b"), ""));
    }
}

TEST_CASE("NeMo's recipe has the norms of queries and keys and the layers with experts", "[export]") {
    CHECK(writes(exported("nemo", "qwen3-30b-a3b"), "qk_layernorm=True"));
    CHECK(writes(exported("nemo", "deepseek-v2-lite"), "moe_layer_freq=[0,1,"));
    CHECK_FALSE(writes(exported("nemo", "mixtral-8x7b"), "moe_layer_freq"));
    CHECK(notes(exported("nemo", "gpt-oss-20b"), "sliding window"));
    CHECK(writes(exported("nemo", "bloom-7b1"), "position_embedding_type=\"none\""));
}
