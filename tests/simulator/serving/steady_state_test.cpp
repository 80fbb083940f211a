// The steady state in closed form against the same requests, event by event.
#include "cost_models/serving/steady_state.hpp"

#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "simulator/serving/serving_simulation.hpp"
#include "tests/catch.hpp"
#include "tests/sanitized.hpp"
#include "tests/simulator/serving/conserved.hpp"

#include <fmt/format.h>

#include <cmath>
#include <random>

using namespace sextant;
using fixtures::cases;

namespace {

ServingOutcome simulated(IterationModel const& model, RequestShape const& request, double rate, std::uint64_t seed) {
    ServingSetup setup;
    setup.limits = replica_limits(model.what(), model.memory());
    SyntheticSource source({.rate = rate,
                            .prompt = length(fmt::format("{:.0f}", request.prompt).c_str()),
                            .output = length(fmt::format("{:.0f}", request.output).c_str()),
                            .requests = cases(40000, 15000),
                            .seed = seed,
                            .longest = 131072});
    return simulate_serving(setup, ModelledService(model), source);
}

}  // namespace

TEST_CASE("serving: the steady state has the times of a simulation, up to 0.9 of the capacity") {
    std::mt19937 draw(11);
    auto const among = [&](auto const& list) { return list[draw() % list.size()]; };
    auto const power = [&](double low, double high) {
        return std::round(std::exp2(std::uniform_real_distribution(low, high)(draw)));
    };
    constexpr int loads = cases(40, 12);
    int close = 0;
    for (int i = 0; i < loads; ++i) {
        ServingCase what;
        what.model = find_model("llama-3.1-8b");
        what.cluster = find_cluster(among(std::vector{"h100-sxm", "l40s", "a100-sxm-80gb"}), "test");
        what.engine = find_engine(among(std::vector{"vllm", "vllm-v0", "sglang", "tensorrt-llm"}), "test");
        what.plan.pp = among(std::vector<std::int64_t>{1, 1, 1, 2});
        what.plan.max_batch = among(std::vector<std::int64_t>{16, 64, 256});
        what.plan.max_batched_tokens = among(std::vector<std::int64_t>{2048, 8192});
        RequestShape const request{.prompt = power(6, 12), .output = power(4, 9)};
        IterationModel const model(what);
        double const share = among(std::vector{0.3, 0.6, 0.8, 0.9});
        double const rate = share * serving_capacity(model, request);
        ServingEstimate const e = open_loop(model, request, rate);
        ServingOutcome const out = simulated(model, request, rate, static_cast<std::uint64_t>(i + 1));
        double const ttft = out.ttft.mean / e.ttft.total();
        double const tpot = out.tpot.mean / e.tpot;
        CAPTURE(i, what.cluster.name, what.engine.name, what.plan.pp, what.plan.max_batch);
        CAPTURE(what.plan.max_batched_tokens, request.prompt, request.output, share, ttft, tpot);
        CHECK(ttft > 0.6);
        CHECK(ttft < 1.6);
        CHECK(tpot > 0.7);
        CHECK(tpot < 1.4);
        if (std::abs(std::log(ttft)) < std::log(1.25) && std::abs(std::log(tpot)) < std::log(1.25)) ++close;
    }
    CAPTURE(close);
    CHECK(close >= 0.9 * loads);
}

TEST_CASE(
    "serving: an accelerator is busy for the share of the time that a simulation has, alone, in a loop and idle") {
    for (std::int64_t const pp : {1, 2, 4}) {
        ServingCase what;
        what.model = find_model("llama-3.1-8b");
        what.cluster = find_cluster("h100-sxm", "test");
        what.engine = find_engine("vllm", "test");
        what.plan.pp = pp;
        IterationModel const model(what);
        RequestShape const request{.prompt = 1000, .output = 100};
        double const alone = 1 / (closed_loop(model, request, 1).latency / units::s);
        double last = 0;
        for (double const share : {0.02, 0.1, 0.5, 2.0, 8.0}) {
            ServingEstimate const e = open_loop(model, request, share * alone);
            ServingOutcome const out = simulated(model, request, share * alone, 3);
            CAPTURE(pp, share);
            CHECK(e.busy == Approx(std::min(1.0, out.window.counters.busy / out.window.at)).epsilon(0.1).margin(0.1));
            CHECK(e.busy >= last);
            last = e.busy;
        }
        CHECK(last > 0.9);
        CHECK(closed_loop(model, request, 1).busy == Approx(1 / static_cast<double>(pp)).epsilon(0.1));
        CHECK(static_batch(model, request, 1).busy == Approx(1 / static_cast<double>(pp)).epsilon(0.1));
        CHECK(closed_loop(model, request, 64).busy > 0.95);
    }
}

TEST_CASE("serving: a batch that is often full makes requests wait for places, as simulated") {
    ServingCase what;
    what.model = find_model("llama-3.1-8b");
    what.cluster = find_cluster("h100-sxm", "test");
    what.engine = find_engine(GENERATE("vllm", "sglang"), "test");
    what.plan.max_batch = 16;
    IterationModel const model(what);
    RequestShape const request{.prompt = 123, .output = 392};
    double const rate = 0.85 * serving_capacity(model, request);
    ServingEstimate const e = open_loop(model, request, rate);
    ServingOutcome const out = simulated(model, request, rate, 5);
    CHECK(out.ttft.mean / e.ttft.total() == Approx(1).epsilon(0.25));
    CHECK(e.ttft.queue > 0.75 * e.ttft.total());
}
