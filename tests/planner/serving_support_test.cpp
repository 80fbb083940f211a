#include "planner/serving/serving_support.hpp"
#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "tests/catch.hpp"

using namespace sextant;

namespace {

ServingCase served(char const* cluster, std::int64_t tp = 1, std::string weights = "bf16") {
    ServingCase what{.model = find_model("llama-3.1-8b"),
                     .cluster = find_cluster(cluster, "test"),
                     .plan = {},
                     .engine = find_engine("vllm", "test")};
    what.plan.tp = tp;
    what.plan.weights = std::move(weights);
    return what;
}

bool says(ServingSupport const& support, std::string_view words) {
    for (std::string const& term : support.terms)
        if (term.find(words) != std::string::npos) return true;
    return false;
}

}  // namespace

TEST_CASE("serving support: on a measured device the interval is the engine's") {
    ServingSupport const on_h100 = serving_support(served("h100-sxm", 4, "fp8"));
    EngineInterval const engine = find_engine("vllm", "test").interval;
    CHECK(on_h100.terms.empty());
    CHECK(on_h100.interval.low == engine.low);
    CHECK(on_h100.interval.high == engine.high);
    CHECK(on_h100.interval.rows == engine.rows);
}

TEST_CASE("serving support: a profile that was fitted on one device says less of others") {
    ServingCase what = served("h100-sxm");
    what.engine.fitted_on = {"a100-sxm-80gb"};
    ServingSupport const elsewhere = serving_support(what);
    CHECK(says(elsewhere, "vllm on h100-sxm: its profile was fitted on a100-sxm-80gb"));
    CHECK(elsewhere.interval.high == Approx(1.4 * what.engine.interval.high));
    CHECK(elsewhere.first_token.low == Approx(what.engine.first_token_interval.low / 1.4));
    what.engine.fitted_on.emplace_back("h100-sxm");
    CHECK(serving_support(what).terms.empty());
}

TEST_CASE("serving support: what no measurement supports widens the interval, and is named") {
    EngineInterval const engine = find_engine("vllm", "test").interval;
    ServingSupport const generation = serving_support(served("h800"));
    CHECK(says(generation, "others of its generation were measured"));
    CHECK(generation.interval.high == Approx(1.1 * engine.high));
    CHECK(generation.interval.low == Approx(engine.low / 1.1));

    ServingSupport const nothing = serving_support(served("mi300x"));
    CHECK(says(nothing, "no device of its generation was measured"));
    CHECK(nothing.interval.high == Approx(2.5 * engine.high));
    CHECK(nothing.first_token.high == Approx(2.5 * find_engine("vllm", "test").first_token_interval.high));
    CHECK(serving_support(served("mi300x", 8)).terms.size() >= nothing.terms.size());

    ServingSupport const format = serving_support(served("a100-sxm-80gb", 1, "int4-weights"));
    ServingSupport const plain = serving_support(served("a100-sxm-80gb"));
    CHECK(format.interval.high >= plain.interval.high);
    CHECK(says(format, "products on") == (format.interval.high > plain.interval.high));
    CHECK(says(serving_support(served("rtx-5090-box", 1, "fp8")), "fp8 products on rtx-5090: not measured"));
}
