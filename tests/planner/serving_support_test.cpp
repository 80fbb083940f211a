#include "planner/serving/serving_support.hpp"
#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/kernel_calibration.hpp"
#include "core/spec/model_catalog.hpp"
#include "tests/catch.hpp"

#include <memory>
#include <string_view>
#include <vector>

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

TEST_CASE("serving support: a calibration of one's own counts for the kernels that it has") {
    EngineInterval const engine = find_engine("vllm", "test").interval;
    auto const with = [](char const* cluster, std::vector<std::pair<KernelKind, char const*>> const& kernels) {
        ServingCase what = served(cluster);
        KernelCalibration own;
        own.name = "mine";
        own.devices = {what.cluster.accelerator.name};
        for (auto const& [kind, variant] : kernels) {
            KernelFit fit;
            fit.kind = kind;
            fit.variant = variant;
            own.fits.push_back(fit);
        }
        what.cluster.accelerator.kernels = std::make_shared<KernelCalibration const>(std::move(own));
        return serving_support(what);
    };
    using enum KernelKind;
    ServingSupport const nothing = serving_support(served("mi300x"));
    ServingSupport const of_memory = with("mi300x", {{memory, "rmsnorm bf16"}});
    CHECK(of_memory.interval.low == nothing.interval.low);
    CHECK(of_memory.interval.high == nothing.interval.high);
    CHECK(says(of_memory, "kernels on mi300x: no device of its generation"));
    // Products in the other 16-bit format run alike; what a cache takes is still that of any device.
    for (char const* format : {"bf16", "fp16"}) {
        ServingSupport const of_products = with("mi300x", {{gemm, format}});
        CHECK(of_products.interval.high == nothing.interval.high);
        CHECK(says(of_products, "attention on mi300x: no device of its generation"));
        CHECK(with("mi300x", {{gemm, format}, {prefill, "bf16/bf16"}}).interval.high == nothing.interval.high);
        ServingSupport const all =
            with("mi300x", {{gemm, format}, {prefill, "bf16/bf16"}, {decode, "bf16/bf16/single"}});
        CHECK(all.terms.empty());
        CHECK(all.interval.high == engine.high);
    }
    CHECK(says(with("mi300x", {{prefill, "bf16/bf16"}, {decode, "bf16/bf16/single"}}), "products on mi300x"));
    // Of a generation that was measured the rest is its class's.
    ServingSupport const rest = with("h800", {{gemm, "bf16"}});
    CHECK(says(rest, "attention on h800-sxm: others of its generation were measured"));
    CHECK(rest.interval.high == Approx(1.1 * engine.high));
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
