#include "core/graph/block.hpp"
#include "core/graph/plan_check.hpp"
#include "core/spec/model_catalog.hpp"
#include "core/spec/parameters.hpp"
#include "tests/catch.hpp"

#include <algorithm>

using namespace sextant;

namespace {

Op const* named(Block const& block, std::string_view name) {
    auto const found = std::find_if(block.ops.begin(), block.ops.end(), [&](Op const& op) { return op.name == name; });
    return found == block.ops.end() ? nullptr : &*found;
}

Block layer_of(ModelSpec const& model, std::int64_t sequence) {
    return build_layer(model, model.layers.back(), {}, sequence);
}

}  // namespace

TEST_CASE("sparse attention: a sequence no longer than what is chosen is attended to whole", "[INV-4]") {
    ModelSpec const sparse = find_model("deepseek-v3.2");
    ModelSpec whole = sparse;
    whole.attention.index.reset();
    Block const with = layer_of(sparse, 2048);
    CHECK(named(with, "index scores") == nullptr);
    Work const attention = work_of(*named(with, "attention"), Pass::forward);
    CHECK(attention.executed == work_of(*named(layer_of(whole, 2048), "attention"), Pass::forward).executed);
    // What the index is made with is there all the same.
    CHECK(with.parameters.dense - layer_of(whole, 2048).parameters.dense ==
          64.0 * 128 * 1536 + (128 + 64) * 7168 + 256);
}

TEST_CASE("sparse attention: beyond it attention is linear in the tokens, and the scores are square", "[INV-4]") {
    ModelSpec const model = find_model("deepseek-v3.2");
    auto const work = [&](char const* name, std::int64_t tokens) {
        return work_of(*named(layer_of(model, tokens), name), Pass::forward).executed.base();
    };
    // Every query sees 2,048 keys but the first ones: w n - w^2 / 2 pairs, each 2 a (r + d_r + r) FLOPs.
    double const pairs = 2048.0 * 16384 - 2048.0 * 2048 / 2;
    CHECK(work("attention", 16384) == Approx(pairs * 2 * 128 * (512 + 64 + 512)));
    CHECK(work("attention", 131072) / work("attention", 65536) == Approx(2).epsilon(0.02));
    CHECK(work("index scores", 16384) == Approx(16384.0 * 16384 / 2 * 2 * 64 * 128));
    CHECK(work("index scores", 131072) / work("index scores", 65536) == Approx(4));
}

TEST_CASE("sparse attention: the cache holds a key of the index beside the latent") {
    ModelSpec const model = find_model("glm-5");
    CHECK(kv_cache_bytes_per_token(model, 2) == 78 * (2 * (512 + 64) + 128 + 4));
    CHECK(kv_cache_bytes_per_token(model, 1) == 78 * ((512 + 64) + 128 + 4));  // a byte a value already
}

TEST_CASE("sparse attention: context parallelism is refused", "[INV-11]") {
    auto const fault =
        find_fault(find_model("glm-5"), {.dp = 8, .cp = 2, .ep = 8}, {.sequence = 8192, .global_batch = 8});
    REQUIRE(fault);
    CHECK(fault->message.find("sparse attention") != std::string::npos);
}

TEST_CASE("sparse attention: other kernels are refused where keys are chosen", "[INV-11]") {
    auto const fault = [](AttentionKernel kernel, std::int64_t sequence) {
        return find_fault(find_model("glm-5"), {.dp = 8, .ep = 8, .attention = kernel},
                          {.sequence = sequence, .global_batch = 8});
    };
    CHECK_FALSE(fault(AttentionKernel::flash, 8192));
    CHECK_FALSE(fault(AttentionKernel::unfused, 2048));
    for (AttentionKernel const kernel : {AttentionKernel::unfused, AttentionKernel::eager}) {
        auto const found = fault(kernel, 8192);
        REQUIRE(found);
        CHECK(found->message.find("is a fused kernel") != std::string::npos);
    }
}
