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
                                  std::vector<CacheFormat> const& caches = {CacheFormat::bf16}) {
    return compare_formats(
        what, {.prompt = 1000, .output = 200},
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
    auto const on_a100 = choices(served("llama-3.1-8b", "a100-sxm-80gb"), {"fp8", "bf16"});
    CHECK(on_a100[0].refused == "the device has no fp8 products");
    CHECK(on_a100[1].timed());
    CHECK(choices(served("llama-3.1-8b", "gaudi3"), {"int8"})[0].refused == "the device has no int8 products");
    auto const large = choices(served("llama-3.1-70b", "h100-sxm"), {"bf16"});
    CHECK(large[0].refused == "does not fit the memory");
    CHECK(large[0].largest == 0);
    CHECK(large[0].estimate.output_tokens_per_s == 0);
}

TEST_CASE("compare_formats: an unknown format of weights is refused") {
    CHECK_THROWS_WITH(choices(served("llama-3.1-8b", "h100-sxm"), {"fp9"}), contains("fp9"));
}
