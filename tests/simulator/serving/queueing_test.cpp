// A replica as a queue: what closed formulas say of it, and when it is overloaded.
#include "simulator/serving/serving_simulation.hpp"
#include "tests/catch.hpp"
#include "tests/simulator/serving/conserved.hpp"

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
