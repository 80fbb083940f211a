#include "core/graph/block.hpp"
#include "core/graph/plan_check.hpp"
#include "core/spec/hf_config.hpp"
#include "core/spec/model_catalog.hpp"
#include "core/spec/parameters.hpp"
#include "tests/catch.hpp"

#include <algorithm>

using namespace sextant;

namespace {

constexpr LayerKind whole{};
constexpr LayerKind sliding{.sliding = true};

Gemm const& product(Block const& block, std::string_view name) {
    auto const found = std::find_if(block.ops.begin(), block.ops.end(), [&](Op const& op) { return op.name == name; });
    REQUIRE(found != block.ops.end());
    return std::get<Gemm>(found->what);
}

}  // namespace

TEST_CASE(
    "window heads: Gemma 4's layers that see everything have fewer and larger heads, and no projection of values") {
    ModelSpec const model = find_model("gemma-4-31b");
    CHECK(std::count(model.layers.begin(), model.layers.end(), sliding) == 50);
    CHECK(model.layers.back() == whole);
    AttentionSpec const& full = model.attention_of(whole);
    CHECK((full.heads == 32 && full.kv_heads == 4 && full.head_dim == 512 && full.keys_are_values));
    AttentionSpec const& window = model.attention_of(sliding);
    CHECK((window.heads == 32 && window.kv_heads == 16 && window.head_dim == 256 && !window.keys_are_values));
    // Queries and keys of 512; queries, keys and values of 256.
    CHECK(product(build_layer(model, whole, {}, 4096), "qkv").n == (32 + 4) * 512);
    CHECK(product(build_layer(model, sliding, {}, 4096), "qkv").n == (32 + 16 + 16) * 256);
    CHECK(product(build_layer(model, whole, {.tp = 8}, 4096), "qkv").n == (4 + 1) * 512);
    CHECK(product(build_layer(model, sliding, {.tp = 8}, 4096), "attention out").k == 4 * 256);
}

TEST_CASE("window heads: weights a rank holds are those of the kind of layer") {
    ModelSpec const model = find_model("gemma-4-31b");
    for (LayerKind const kind : {whole, sliding}) {
        double sum = 0;
        for (Parameter const& p : layer_parameters(model, kind))
            sum += static_cast<double>(p.count()) / static_cast<double>(p.tensor_shards(8));
        CHECK(build_layer(model, kind, {.tp = 8}, 4096).parameters.dense == Approx(sum));
    }
    // Four heads on eight ranks: each holds one of them whole.
    auto const weights = layer_parameters(model, whole);
    auto const keys =
        std::find_if(weights.begin(), weights.end(), [](Parameter const& p) { return p.name == "attention.k"; });
    CHECK((keys->tensor_shards(2) == 2 && keys->tensor_shards(8) == 4));
}

TEST_CASE("window heads: the cache adds up what each kind of layer keeps") {
    ModelSpec const model = find_model("gemma-4-31b");
    CHECK(kv_cache_bytes_per_token(model, 2) == 2 * (50 * 2 * 16 * 256 + 10 * 2 * 4 * 512));
    // On eight ranks: two of the sixteen heads, and one of the four, which two ranks share.
    CHECK(kv_cache_bytes_per_token(model, 2, 8) == 2 * (50 * 2 * 2 * 256 + 10 * 2 * 1 * 512));
}

TEST_CASE("window heads: tensor parallelism has to suit both kinds", "[INV-11]") {
    ModelSpec model = find_model("gemma-4-31b");
    CHECK(divides_heads(model, 8));
    CHECK(!find_fault(model, {.tp = 8}, {.sequence = 8192, .global_batch = 8}));
    model.window_attention->kv_heads = 6;
    auto const fault = find_fault(model, {.tp = 4}, {.sequence = 8192, .global_batch = 8});
    REQUIRE(fault);
    CHECK(fault->message.find("6 key/value heads") != std::string::npos);
}

TEST_CASE("window heads: MiMo-V2-Flash has sinks and twice the key/value heads where it slides") {
    auto const model = read_hf_config(R"({"model_type": "mimo_v2_flash", "hidden_size": 512, "num_hidden_layers": 12,
        "num_attention_heads": 16, "num_key_value_heads": 4, "intermediate_size": 1024, "vocab_size": 1000})",
                                      "mimo");
    CHECK(std::count_if(model.layers.begin(), model.layers.end(), [](LayerKind k) { return k.sliding; }) == 9);
    CHECK((!model.layers[0].sliding && !model.layers[5].sliding && !model.layers[11].sliding));
    CHECK((model.attention.kv_heads == 4 && model.window_attention->kv_heads == 8));
    CHECK((!model.attention.sinks && model.window_attention->sinks));
    CHECK((model.attention.head_dim == 192 && model.attention.value_head_dim == 128));
}

TEST_CASE("window heads: what transformers writes of Gemma 4 reads as what was published") {
    std::string const common = R"({"model_type": "gemma4_text", "hidden_size": 512, "num_hidden_layers": 6,
        "num_attention_heads": 8, "num_key_value_heads": 4, "hidden_size_per_layer_input": 0, "attention_k_eq_v": true)";
    auto const published =
        read_hf_config(common + R"(, "global_head_dim": 128, "num_global_key_value_heads": 2})", "a");
    auto const written =
        read_hf_config(common + R"(, "per_layer_config": {"5": {"head_dim": 128, "num_key_value_heads": 2}}})", "b");
    CHECK(count_parameters(published).total == count_parameters(written).total);
    CHECK((written.attention.head_dim == 128 && written.attention.kv_heads == 2));
}
