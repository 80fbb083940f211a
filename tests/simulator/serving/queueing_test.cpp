// A replica as a queue: what closed formulas say of it, and when it is overloaded.
#include "simulator/serving/overload_trial.hpp"
#include "simulator/serving/serving_simulation.hpp"
#include "tests/catch.hpp"
#include "tests/simulator/serving/conserved.hpp"
#include "tests/simulator/serving/steady_runs.hpp"

#include <cmath>

using namespace sextant;
using units::ms;
using units::s;

TEST_CASE("serve: without batching, Poisson arrivals and geometric services are M/M/1 (up to its discrete steps)",
          "[long]") {
    auto const load = GENERATE(0.3, 0.6, 0.8);
    constexpr double mean_tokens = 50;
    double const iteration = 0.02;  // mean service 1 s
    SyntheticSource source({.rate = load,
                            .prompt = length("1"),
                            .output = length("exponential:50"),
                            .requests = 200000,
                            .longest = 1 << 20});
    ServingOutcome const out = simulate_serving(one_at_a_time(), FixedService(iteration * s), source);
    // Pollaczek-Khinchine; the second moment of a geometric length of mean m is 2 m^2 - m.
    double const second = (2 * mean_tokens * mean_tokens - mean_tokens) * iteration * iteration;
    double const expected = 1 + load * second / (2 * (1 - load));
    CHECK(out.state == SteadyState::steady);
    CHECK(out.e2e.mean.base() == Approx(expected).epsilon(load > 0.7 ? 0.04 : 0.02));
    CHECK(out.e2e.mean.base() == Approx(1 / (1 - load)).epsilon(0.06));  // M/M/1 itself
    CHECK(out.window.counters.busy / out.window.at == Approx(load).epsilon(0.02));
}

TEST_CASE("serve: without batching, Poisson arrivals and equal services are M/D/1", "[long]") {
    auto const load = GENERATE(0.3, 0.6, 0.8);
    SyntheticSource source({.rate = load,
                            .prompt = length("1"),
                            .output = length("10"),
                            .requests = load > 0.7 ? 800000 : 200000,
                            .longest = 100});
    ServingOutcome const out = simulate_serving(one_at_a_time(), FixedService(100 * ms), source);
    CHECK(out.e2e.mean.base() == Approx(1 + load / (2 * (1 - load))).epsilon(0.02));
    CHECK(out.queue.mean.base() == Approx(load / (2 * (1 - load))).epsilon(0.03));
    CHECK(out.itl.p50.base() == Approx(0.1).epsilon(0.003));
}

TEST_CASE("serve: even arrivals at an idle replica never wait") {
    SyntheticSource source({.process = ArrivalProcess::deterministic,
                            .rate = 0.9,
                            .prompt = length("1"),
                            .output = length("10"),
                            .requests = 1000,
                            .longest = 100});
    ServingOutcome const out = simulate_serving(one_at_a_time(), FixedService(100 * ms, {}, 5 * ms), source);
    CHECK(out.e2e.largest.base() == Approx(1.005).epsilon(1e-9));
    CHECK(out.ttft.largest.base() == Approx(0.105).epsilon(1e-9));
    CHECK(out.queue.largest.base() == Approx(0.005).epsilon(1e-6));
}

TEST_CASE("serve: more than a replica serves is overload, the run stops and says how much it does serve") {
    auto const load = GENERATE(1.1, 1.5, 20.0);
    SyntheticSource source(
        {.rate = load, .prompt = length("1"), .output = length("10"), .requests = 50000, .longest = 100});
    ServingOutcome const out = simulate_serving(one_at_a_time(), FixedService(100 * ms), source);
    CHECK(out.state == SteadyState::overloaded);
    CHECK(out.whole.arrived < 50000);
    REQUIRE(out.capacity);
    CHECK(*out.capacity == Approx(1).epsilon(0.02));
    CHECK(out.offered == Approx(load).epsilon(0.05));
    CHECK(out.onset < out.whole.at);
}

TEST_CASE("serve: what is served under overload is not known where the requests are out before a round was measured") {
    ServingSetup setup = one_at_a_time();
    setup.limits.max_batch = 512;
    // All arrive within the first iteration, and are in the batch after it.
    SyntheticSource source(
        {.rate = 1000, .prompt = length("1"), .output = length("10"), .requests = 400, .longest = 100});
    ServingOutcome const out = simulate_serving(setup, FixedService(1 * s), source);
    CHECK(out.state == SteadyState::overloaded);
    CHECK_FALSE(out.capacity);
    CHECK(out.offered == Approx(1000).epsilon(0.2));
}

TEST_CASE("serve: the capacity under overload does not depend on how much arrives, and as many tokens come out") {
    struct Deployment {
        char const *model, *cluster, *engine;
        std::int64_t tp;
        double prompt, near;  ///< of the estimate
        std::string weights = "bf16";
    };
    Deployment const deployment =
        GENERATE(Deployment{"qwen3-32b", "l40s-pcie", "vllm", 4, 1024, 0.05},
                 Deployment{"llama-3.1-8b", "h100-sxm", "vllm", 1, 1024, 0.05},
                 Deployment{"llama-3.1-70b", "h100-sxm", "sglang", 4, 1024, 0.08},
                 Deployment{"gpt-oss-120b", "h100-sxm", "sglang", 2, 8000, 0.05, "int4-weights"});
    double const load = GENERATE(1.3, 2.0, 10.0, 60.0);
    std::int64_t const requests = GENERATE(4000, 20000);
    RequestShape const request{.prompt = deployment.prompt, .output = 256};
    IterationModel const model = fixtures::model_of(deployment.model, deployment.cluster, deployment.engine,
                                                    {.tp = deployment.tp, .weights = deployment.weights});
    double const capacity = serving_capacity(model, request);
    ServingOutcome const out = fixtures::simulated(model, request, load * capacity, 1, requests);
    CAPTURE(deployment.model, load, requests, capacity);
    CHECK(out.state == SteadyState::overloaded);
    REQUIRE(out.capacity);
    CHECK(*out.capacity == Approx(capacity).epsilon(deployment.near));
    CHECK(*out.capacity < out.offered);
    CHECK(static_cast<double>(out.window.finished) == Approx(*out.capacity * out.window.at.base()));
    CHECK(static_cast<double>(out.window.counters.tokens_out) ==
          Approx(256 * static_cast<double>(out.window.finished)).epsilon(0.021));
    CHECK(out.window.at > 3 * out.window.running / static_cast<double>(out.window.finished) * s);
}

TEST_CASE("serve: a queue that grew although all that comes is served is not overload") {
    OverloadTrial trial(1);
    ServingTotals totals;
    auto const now = [&] { return totals; };
    for (int i = 1; i <= 60; ++i) {  // ten a second
        totals.at = i * s;
        totals.arrived = 10 * i;
        trial.look(totals, 3 * i, 1);
    }
    REQUIRE(trial.suspected());
    bool overload = false;
    for (int i = 0; i < 200 && trial.suspected() && !overload; ++i) {
        totals.at += 0.09 * s;
        ++totals.finished;
        ++totals.finished_tokens;
        ++totals.counters.tokens_out;
        overload = trial.follow(totals.finished, 1, OverloadTrial::Queue::goes_on, now);
    }
    CHECK_FALSE(overload);
    CHECK_FALSE(trial.suspected());
    CHECK(trial.refuted());
    CHECK_FALSE(trial.capacity());
}

TEST_CASE("serve: a loaded but stable replica is not called overloaded") {
    auto const seed = GENERATE(range(1U, 13U));
    auto const process = GENERATE(ArrivalProcess::poisson, ArrivalProcess::gamma);
    ServingSetup setup = one_at_a_time();
    setup.interval_variation = process == ArrivalProcess::gamma ? 2 : 1;
    SyntheticSource source({.process = process,
                            .rate = 0.85,
                            .variation = 2,
                            .prompt = length("1"),
                            .output = length("10"),
                            .requests = 20000,
                            .seed = seed,
                            .longest = 100});
    CAPTURE(seed, name_of(process));
    ServingOutcome const out = simulate_serving(setup, FixedService(100 * ms), source);
    CHECK(out.state == SteadyState::steady);
    check_conserved(out, 20000);
}
