#include "cost_models/serving/cache_shape.hpp"

#include "core/spec/engine_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "tests/catch.hpp"

#include <cmath>

using namespace sextant;

namespace {

CacheShape shape_of(char const* model, char const* engine = "vllm") {
    return cache_shape(find_model(model), find_engine(engine, "test"), {.block_tokens = 16});
}

}  // namespace

TEST_CASE("cache shape: a model without windows, or an engine that keeps everything, has one group") {
    for (CacheShape const& shape : {shape_of("llama-3.1-8b"), shape_of("gpt-oss-20b", "vllm-v0")}) {
        CHECK(shape.groups() == 1);
        CHECK(shape.blocks(1) == 1);
        CHECK(shape.blocks(16) == 1);
        CHECK(shape.blocks(17) == 2);
        CHECK(shape.kept(123456) == 123456);
        CHECK(shape.longest(123456) == 123456);
    }
}

TEST_CASE("cache shape: every second layer of gpt-oss keeps 128 tokens, in at most nine blocks of 16") {
    CacheShape const shape = shape_of("gpt-oss-20b");
    CHECK(shape.whole_groups == 1);
    CHECK(shape.window_groups == 1);
    CHECK(shape.window_blocks == 9);
    CHECK(shape.blocks(16) == 2);
    CHECK(shape.blocks(144) == 18);
    CHECK(shape.blocks(160) == 19);  // only the other half grows
    CHECK(shape.blocks(16 * 1000) == 1009);
    CHECK(shape.kept(100) == 100);
    CHECK(shape.kept(16 * 1000) == Approx((16000 + 144) / 2.0));
}

TEST_CASE("cache shape: a sequence never takes less than a shorter one, and the longest one fits exactly") {
    CacheShape const shape{.block_tokens = 7, .whole_groups = 2, .window_groups = 5, .window_blocks = 4};
    for (std::int64_t tokens = 1; tokens < 100; ++tokens) {
        CAPTURE(tokens);
        CHECK(shape.blocks(tokens) >= shape.blocks(tokens - 1));
        CHECK(shape.longest(shape.kept(static_cast<double>(tokens))) == Approx(static_cast<double>(tokens)));
        CHECK(shape.kept(static_cast<double>(tokens)) <= static_cast<double>(tokens));
    }
    CHECK(shape.blocks(7 * 10) == 2 * 10 + 5 * 4);
    CacheShape const windows{.block_tokens = 16, .whole_groups = 0, .window_groups = 1, .window_blocks = 3};
    CHECK(windows.blocks(100000) == 3);
    CHECK(std::isinf(windows.longest(48.5)));
    CHECK(windows.longest(40) == 40);
}

TEST_CASE(
    "cache shape: vLLM's groups have as many layers as the rarer kind, and the last of the other kind is padded") {
    CacheShape const shape = shape_of("gemma-3-27b");      // 10 layers see everything, 52 have a window of 1,024 tokens
    CHECK(shape.whole_groups * 6 == shape.window_groups);  // 10 and six times 10
    CHECK(shape.groups() * 10 == shape.whole_groups * 62);
    CHECK(shape.window_blocks == 65);
    CHECK(shape.kept(1000) == Approx(1000 * 70 / 62.0));
    CHECK(shape.kept(100000) == Approx((10 * 100000 + 60 * 65 * 16) / 62.0));
    CHECK(shape.copied(1000) == Approx(1000));
    CHECK(shape.copied(100000) == Approx((10 * 100000 + 52 * 65 * 16) / 62.0));
    for (double const tokens : {1.0, 500.0, 1040.0, 5000.0, 100000.0})
        CHECK(shape.longest(shape.kept(tokens)) == Approx(tokens));
    CacheShape const even = shape_of("gemma-3-12b");  // 8 and 40
    CHECK(even.kept(1000) == Approx(1000));
    CHECK(even.groups() == 6);
}

TEST_CASE("cache shape: SGLang's pool for windows holds four fifths of the tokens, however few of them are kept") {
    CacheShape const shape = shape_of("gpt-oss-120b", "sglang");
    CHECK(shape.kept(20000) == Approx(0.9 * 20000));  // of two bytes the other pool holds 0.8
    CHECK(shape.blocks(16 * 1000) * 10 == shape.groups() * 9 * 1000);
    CHECK(shape.longest(0.9 * 20000) == Approx(20000));
    CHECK(shape.copied(20000) == Approx((20000 + 144) / 2.0));
    for (char const* const kept_whole : {"gemma-3-27b", "mistral-7b"})  // no pool for these
        CHECK(shape_of(kept_whole, "sglang").kept(20000) == 20000);
    for (char const* const name : {"llama4", "llama4_text"}) {  // 12 layers see everything, 36 a chunk of 8,192
        ModelSpec scout = find_model("llama-4-scout-17b-16e");
        scout.architecture = name;
        CHECK(cache_shape(scout, find_engine("sglang", "test"), {.block_tokens = 16}).kept(20000) ==
              Approx((12 + 0.8 * 36) / 48 * 20000));
        CHECK(cache_shape(scout, find_engine("vllm", "test"), {.block_tokens = 16}).kept(100000) ==
              Approx((12 * 100000 + 36 * (8192 + 16)) / 48.0));
    }
    CHECK(shape_of("gpt-oss-120b", "tensorrt-llm").kept(20000) == 20000);  // max_attention_window is not set
}

TEST_CASE("cache shape: whole blocks of a prefix that all sequences have are not their own, but windows are") {
    CacheShape const plain = shape_of("llama-3.1-8b");
    CHECK(plain.own(1000, 0) == 1000);
    CHECK(plain.own(1000, 163) == Approx(1000 - 160));
    CacheShape const windows = shape_of("gpt-oss-120b");
    CHECK(windows.own(1000, 160) == Approx(windows.kept(1000) - 80));
    CacheShape states;
    states.state_blocks = 3;
    CHECK(states.own(1000, 160) == states.kept(1000));
}
