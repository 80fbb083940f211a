#include "planner/serving/format_choice.hpp"

#include "core/error.hpp"
#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "tests/catch.hpp"

#include <array>

using namespace sextant;

namespace {

ServingCase served(char const* model, char const* machine) {
    return {.model = find_model(model),
            .cluster = find_cluster(machine, "test"),
            .plan = {},
            .engine = find_engine("vllm", "test")};
}

std::vector<FormatChoice> choices(ServingCase const& what, std::vector<std::string> const& weights,
                                  std::vector<CacheFormat> const& caches = {CacheFormat::bf16},
                                  CheckpointFormat const& checkpoint = {}) {
    return compare_formats(
        what, checkpoint, {.prompt = 1000, .output = 200},
        [](IterationModel const& model, RequestShape const& request) { return closed_loop(model, request, 8); },
        weights, caches, shipped_format_errors());
}

}  // namespace

TEST_CASE("compare_formats: each pair once and in order; narrower ones leave more room, and cost accuracy") {
    auto const found =
        choices(served("llama-3.1-8b", "h100-sxm"), {"bf16", "fp8"}, {CacheFormat::bf16, CacheFormat::fp8});
    REQUIRE(found.size() == 4);
    std::array const names{"bf16 bf16", "bf16 fp8", "fp8 bf16", "fp8 fp8"};
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(found[i].weights + " " + std::string(name_of(found[i].cache)) == names[i]);
        REQUIRE(found[i].timed());
        REQUIRE(found[i].error);
    }
    CHECK(found[1].cache_bytes_per_token == 0.5 * found[0].cache_bytes_per_token);
    CHECK(found[2].memory.weights < 0.6 * found[0].memory.weights);
    CHECK(found[3].largest >= found[0].largest);
    CHECK(found[2].estimate.tpot < found[0].estimate.tpot);
    CHECK(*found[3].error > *found[0].error);
    CHECK_FALSE(found[0].high_error());
}

TEST_CASE("compare_formats: what the device has no products of, or no memory for, has a reason and no times") {
    ServingCase a100 = served("llama-3.1-8b", "a100-sxm-80gb");
    a100.engine = find_engine("tensorrt-llm", "test");  // without kernels that widen fp8
    auto const on_a100 = choices(a100, {"fp8", "bf16"});
    CHECK(on_a100[0].refused == "the device has no fp8 products");
    CHECK(on_a100[1].timed());
    CHECK(choices(served("llama-3.1-8b", "gaudi3"), {"int8"})[0].refused == "the device has no int8 products");
    auto const large = choices(served("llama-3.1-70b", "h100-sxm"), {"bf16"});
    CHECK(large[0].refused == "does not fit the memory");
    CHECK(large[0].largest == 0);
    CHECK(large[0].estimate.output_tokens_per_s == 0);
}

TEST_CASE(
    "compare_formats: narrow weights run widened where the device lacks their products and the engine does that") {
    auto const found = choices(served("llama-3.1-8b", "a100-sxm-80gb"), {"bf16", "fp8", "fp4"});
    CHECK(found[0].note.empty());
    for (std::size_t i : {1, 2}) {
        CAPTURE(i);
        REQUIRE(found[i].timed());
        CHECK(found[i].activations == "bf16");
        CHECK_FALSE(found[i].released);
        CHECK(found[i].memory.weights < found[i - 1].memory.weights);
        CHECK_THAT(found[i].note, contains("products in bf16"));
    }
    CHECK(found[1].weights == "fp8");
    CHECK(found[1].products_in == "int8-weights");
    CHECK(*found[1].error == Approx(0.026).epsilon(0.03));  // of the weights alone
    CHECK(found[2].products_in == "int4-weights");
    CHECK(*found[2].error == Approx(0.095).epsilon(0.03));
}

TEST_CASE("compare_formats: the checkpoint's own weights have its bytes, and lose nothing but by rounded activations") {
    auto const compared = [](char const* model, char const* machine, std::vector<std::string> const& weights) {
        StoredModel const stored = find_stored_model(model);
        ServingCase what = served(model, machine);
        what.plan.tp = what.plan.ep = 8;
        return choices(what, weights, {CacheFormat::bf16}, stored.checkpoint);
    };
    auto const oss = compared("gpt-oss-120b", "b200-sxm", {"fp4", "fp8"});
    CHECK(oss[0].released);
    CHECK(*oss[0].error == Approx(0.095).epsilon(0.03));
    CHECK_FALSE(oss[0].high_error());
    CHECK_FALSE(oss[1].released);
    ServingCase estimated = served("gpt-oss-120b", "b200-sxm");
    estimated.plan.tp = estimated.plan.ep = 8;
    chosen_weights("fp4", find_stored_model("gpt-oss-120b").checkpoint, estimated.cluster.accelerator, estimated.engine)
        .put_into(estimated.plan);
    CHECK(oss[0].memory.weights == serving_memory(estimated).weights);
    auto const deepseek = compared("deepseek-v3", "h200-sxm", {"fp8-block", "fp8"});
    CHECK(deepseek[0].released);
    CHECK(*deepseek[0].error == Approx(0.026).epsilon(0.03));
    CHECK(*deepseek[1].error == Approx(0.037).epsilon(0.03));
    auto const widened = compared("gpt-oss-120b", "h100-sxm", {"fp4"});
    REQUIRE(widened[0].timed());
    CHECK(widened[0].activations == "bf16");
    CHECK(*widened[0].error == Approx(0.0045).epsilon(0.05));
}

TEST_CASE("compare_formats: an unknown format of weights is refused") {
    CHECK_THROWS_WITH(choices(served("llama-3.1-8b", "h100-sxm"), {"fp9"}), contains("fp9"));
}
