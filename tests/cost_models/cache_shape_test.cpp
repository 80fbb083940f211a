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
