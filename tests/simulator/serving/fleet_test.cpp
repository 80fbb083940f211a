#include "core/error.hpp"
#include "simulator/serving/fleet_changes.hpp"
#include "tests/catch.hpp"
#include "tests/simulator/serving/conserved.hpp"

#include <algorithm>
#include <vector>

using namespace sextant;
using units::ms;
using units::s;

TEST_CASE("fleet: whatever fails and drains, every token comes out once, every block comes back, Little's law holds") {
    auto const seed = GENERATE(range(1U, 25U));
    RandomStream random(seed, 0, 9);
    ServingSetup setup;
    setup.limits.max_batch = 1 + random.below(30);
    if (random.below(3) == 0) setup.limits.speculation = {.tokens = 1 + random.below(5), .acceptance = 0.6};
    setup.limits.max_batched_tokens =
        setup.limits.max_batch * (1 + setup.limits.speculation.tokens) + random.below(300);
    setup.limits.shape.block_tokens = 1 + random.below(20);
    setup.limits.blocks = 340 / setup.limits.shape.block_tokens + 2 + random.below(60);
    setup.limits.lanes = 1 + random.below(3);
    setup.limits.adapter_slots = random.below(4);
    if (random.below(2) == 0) {
        setup.limits.preemption = PreemptionPolicy::swap;
        setup.limits.host_blocks = random.below(60);
    }
    setup.replicas = 2 + random.below(4);
    if (random.below(2) == 0) setup.prefill_replicas = 1 + random.below(setup.replicas - 1);
    setup.concurrency = 1 + random.below(60);
    if (seed % 3 == 0) setup.limits.admission = Admission::whole;
    if (seed % 2 == 0) setup.limits.hand_over = HandOver::cache_alone;
    setup.outages = {.mtbf = 20 * s, .repair = 3 * s, .drained_for = 2 * s, .seed = seed};
    setup.outages.drains = {{1 * s, 0}, {4 * s, 1}};
    SyntheticSource source({.process = ArrivalProcess::closed,
                            .prompt = length("lognormal:80,1"),
                            .output = length("uniform:1-120"),
                            .prefixes = random.below(5),
                            .prefix_tokens = 30,
                            .adapters = 1 + random.below(5),
                            .requests = 500,
                            .seed = seed,
                            .longest = 340});
    FixedService service(10 * ms, 0.1 * ms, 3 * ms, static_cast<double>(setup.limits.lanes));
    for (std::int64_t i = 0; i < setup.replicas; ++i)
        service.fabric.push_back({"link", 10 * units::GB / s});
    std::int64_t bad = 0;
    std::int64_t restarts = 0;
    ServingHooks hooks;
    hooks.finished = [&](FinishedRequest const& r) {
        restarts += r.restarts;
        bool const ordered =
            r.request.arrival <= r.scheduled && r.scheduled < r.first_token && r.first_token <= r.finished;
        if (!ordered || r.tokens != r.request.output) ++bad;
    };
    CAPTURE(seed, setup.replicas, setup.prefill_replicas, setup.limits.lanes, setup.limits.speculation.tokens);
    ServingOutcome const out = simulate_serving(setup, service, source, hooks);
    check_conserved(out, 500);
    CHECK(bad == 0);
    CHECK(restarts == out.restarted);
    CHECK(out.failures + out.drains > 0);
}

TEST_CASE(
    "fleet: a request whose replica fails goes on elsewhere, with the tokens that are out, and is computed again") {
    ServingSetup setup;
    setup.replicas = 2;
    setup.limits.blocks = 1000;
    setup.warmup_share = 0;
    // Seed 4 of a clock of 10 s: the first failure is found below, the request must be running then.
    setup.outages = {.mtbf = 4 * s, .repair = 1000 * s, .seed = 4};
    ListedSource source(
        {{.arrival = 0 * s, .prompt = 100, .output = 400}, {.arrival = 0 * s, .prompt = 100, .output = 400}});
    std::vector<FinishedRequest> all;
    ServingHooks hooks;
    hooks.finished = [&](FinishedRequest const& r) { all.push_back(r); };
    ServingOutcome const out = simulate_serving(setup, FixedService(10 * ms, 1 * ms), source, hooks);
    REQUIRE(out.failures >= 1);
    REQUIRE(out.restarted >= 1);
    REQUIRE(all.size() == 2);
    CHECK(out.whole.counters.tokens_out == 800);
    // Prompts once, and what was lost once more; the first token came before the failure and stays.
    CHECK(out.whole.counters.prompt_tokens == 200 + out.restarted_tokens);
    CHECK(out.restarted_tokens > 100 * out.restarted);
    for (FinishedRequest const& r : all)
        CHECK(r.ttft() < 1 * s);
    CHECK(out.itl.largest > 100 * ms);  // that many tokens at 1 ms each
}

TEST_CASE("fleet: a failed replica is up MTBF / (MTBF + repair) of the time") {
    ServingSetup setup;
    setup.replicas = 20;
    setup.limits.blocks = 1000;
    setup.outages = {.mtbf = 30 * s, .repair = 10 * s, .seed = 3};
    SyntheticSource source(
        {.rate = 5, .prompt = length("10"), .output = length("5"), .requests = 20000, .longest = 1000});
    ServingOutcome const out = simulate_serving(setup, FixedService(10 * ms), source);
    check_conserved(out, 20000);
    CHECK(out.whole.up / (20 * out.whole.at.base()) == Approx(30.0 / 40).epsilon(0.03));
    CHECK(out.whole.down / (20 * out.whole.at.base()) == Approx(10.0 / 40).epsilon(0.06));
    CHECK(static_cast<double>(out.failures) == Approx(out.whole.up / 30).epsilon(0.06));
    CHECK(out.state != SteadyState::overloaded);
}

TEST_CASE("fleet: a drained replica ends what it has begun, and takes nothing meanwhile") {
    ServingSetup setup;
    setup.replicas = 2;
    setup.limits.max_batch = 4;
    setup.limits.blocks = 1000;
    setup.concurrency = 20;
    setup.outages.drains = {{2 * s, 1}};
    std::vector<FinishedRequest> all;
    ServingHooks hooks;
    hooks.finished = [&](FinishedRequest const& r) { all.push_back(r); };
    SyntheticSource source({.process = ArrivalProcess::closed,
                            .prompt = length("10"),
                            .output = length("30"),
                            .requests = 400,
                            .longest = 1000});
    ServingOutcome const out = simulate_serving(setup, FixedService(10 * ms), source, hooks);
    check_conserved(out, 400);
    CHECK(out.drains == 1);
    CHECK(out.restarted == 0);
    CHECK(out.whole.counters.prompt_tokens == 4000);
    Seconds last{};
    for (FinishedRequest const& r : all)
        if (r.replica == 1) {
            CHECK(r.scheduled <= 2 * s);
            last = std::max(last, r.finished);
        }
    CHECK(last > 2 * s);
    CHECK(last < 2.5 * s);
    CHECK(out.whole.down == Approx((out.whole.at - last).base()).epsilon(1e-9));
}

TEST_CASE("fleet: while no replica is there requests wait, and none is lost") {
    ServingSetup setup;
    setup.limits.blocks = 1000;
    setup.outages.drains = {{1 * s, 0}};
    setup.outages.drained_for = 5 * s;
    SyntheticSource source(
        {.rate = 10, .prompt = length("10"), .output = length("5"), .requests = 100, .longest = 1000});
    ServingOutcome const out = simulate_serving(setup, FixedService(10 * ms), source);
    check_conserved(out, 100);
    CHECK(out.ttft.largest > 4 * s);
    CHECK(out.whole.down == Approx(5).epsilon(1e-9));
}

TEST_CASE("autoscale: as many replicas as the load over the target, and no more are paid for") {
    ServingSetup setup;
    setup.replicas = 20;
    setup.limits.max_batch = 1;
    setup.limits.blocks = 1000;
    setup.limits.max_batched_tokens = 4096;
    // Requests of one second each at 8 a second: 8 in service on average, at a target of 0.8 a replica ten of them.
    setup.autoscale = {.least = 2, .most = 20, .metric = ScaleMetric::busy, .target = 0.8, .cold_start = 20 * s};
    SyntheticSource source({.process = ArrivalProcess::deterministic,
                            .rate = 8,
                            .prompt = length("10"),
                            .output = length("10"),
                            .requests = 30000,
                            .longest = 1000});
    ServingOutcome const out = simulate_serving(setup, FixedService(100 * ms), source);
    check_conserved(out, 30000);
    // Ten, up to the tolerance of a tenth (eleven are not too many) and the ceiling.
    CHECK(out.window.up / out.window.at.base() <= 12.2);
    CHECK(out.window.held >= out.window.up);
    CHECK(out.window.counters.busy.base() / out.window.at.base() == Approx(8).epsilon(0.01));
    CHECK(out.state != SteadyState::overloaded);
    // Never below the work there is.
    CHECK(out.window.up / out.window.at.base() > 9.9);
}

TEST_CASE(
    "autoscale: replicas come after their cold start, go after the load has gone, and the same seed is the same") {
    ServingSetup setup;
    setup.replicas = 8;
    setup.limits.max_batch = 4;
    setup.limits.blocks = 1000;
    setup.warmup_share = 0;
    setup.autoscale = {.least = 1, .most = 8, .metric = ScaleMetric::requests, .target = 3, .cold_start = 30 * s};
    std::vector<ServingRequest> requests;
    for (int i = 0; i < 3000; ++i)
        requests.push_back({.arrival = 0.05 * i * s, .prompt = 10, .output = 50});
    for (int i = 0; i < 300; ++i)
        requests.push_back({.arrival = (150 + 5.0 * i) * s, .prompt = 10, .output = 50});
    auto const run = [&] {
        ListedSource source(requests);
        return simulate_serving(setup, FixedService(20 * ms), source);
    };
    ServingOutcome const out = run();
    check_conserved(out, 3300);
    CHECK(out.started >= 6);
    CHECK(out.stopped >= 6);
    for (ServingSample const& sample : out.series) {
        CHECK(sample.held <= 8);
        CHECK(sample.up >= 1);
        if (sample.at < 45 * s) CHECK(sample.up == 1);
        if (sample.at > 700 * s) CHECK(sample.held <= 2);
    }
    ServingOutcome const again = run();
    CHECK(again.whole.held == out.whole.held);
    CHECK(again.e2e.p99 == out.e2e.p99);
}

TEST_CASE("autoscale: the cache that is in use is that of the replicas that serve, however many there may be") {
    auto const run = [](std::int64_t most) {
        ServingSetup setup;
        setup.replicas = most;
        setup.limits.blocks = 100;
        setup.limits.max_batched_tokens = 4096;
        if (most > 1) setup.autoscale = {.least = 1, .most = most, .metric = ScaleMetric::requests, .target = 1e6};
        SyntheticSource source(
            {.rate = 5, .prompt = length("100"), .output = length("20"), .requests = 2000, .longest = 1000});
        return simulate_serving(setup, FixedService(10 * ms), source);
    };
    ServingOutcome const fixed = run(1);
    ServingOutcome const scaled = run(10);
    CHECK(fixed.most_cache_use > 0);
    CHECK(scaled.most_cache_use == fixed.most_cache_use);
    CHECK(scaled.window.up == Approx(scaled.window.at.base()));
    auto const most_seen = [](ServingOutcome const& out) {
        double most = 0;
        for (ServingSample const& sample : out.series)
            most = std::max(most, sample.cache_use);
        return most;
    };
    CHECK(most_seen(scaled) > 0.5 * most_seen(fixed));
}

TEST_CASE("autoscale: a fleet below its largest that keeps up with an even load is steady, one that does not is not") {
    auto const state = [](double rate, std::int64_t most, Seconds cold_start) {
        ServingSetup setup;
        setup.replicas = most;
        setup.limits.max_batch = 8;
        setup.limits.blocks = 1000;
        setup.limits.max_batched_tokens = 4096;
        setup.autoscale = {
            .least = 1, .most = most, .metric = ScaleMetric::requests, .target = 4, .cold_start = cold_start};
        SyntheticSource source(
            {.rate = rate, .prompt = length("10"), .output = length("10"), .requests = 6000, .longest = 1000});
        return simulate_serving(setup, FixedService(100 * ms), source).state;
    };
    // Ten requests in service on average: three to five replicas.
    CHECK(state(10, 16, 20 * s) == SteadyState::steady);
    CHECK(state(10, 100, 20 * s) == SteadyState::steady);
    CHECK(state(60, 16, 1e5 * s) == SteadyState::unsettled);  // the others come after the last request
    CHECK(state(60, 2, 20 * s) == SteadyState::overloaded);
}

TEST_CASE("autoscale: the decision is the ratio, with a tolerance, and waits before it goes down") {
    Autoscale const rules{.least = 1, .most = 10, .target = 10, .down_after = 100 * s};
    ScaleDecision decision(rules);
    CHECK(decision.wanted(0 * s, 4, 4, 15) == 6);
    CHECK(decision.wanted(15 * s, 6, 6, 10.9) == 6);  // within a tenth
    CHECK(decision.wanted(30 * s, 6, 6, 99) == 10);   // at most
    CHECK(decision.wanted(45 * s, 10, 10, 0) == 10);  // recommended less than 100 s ago
    CHECK(decision.wanted(131 * s, 10, 10, 0) == 1);
}

TEST_CASE("fleet: rules that cannot work are refused") {
    auto const refused = [](ServingSetup setup, char const* part) {
        setup.limits.blocks = 100;
        SyntheticSource source({.rate = 1, .requests = 10, .longest = 1000});
        CHECK_THROWS_WITH(simulate_serving(setup, FixedService(10 * ms), source), contains(part));
    };
    ServingSetup setup;
    setup.replicas = 4;
    ServingSetup bad = setup;
    bad.autoscale = {.least = 0, .most = 4};
    refused(bad, "--autoscale");
    bad.autoscale = {.least = 5, .most = 4};
    refused(bad, "--autoscale");
    bad.autoscale = {.least = 1, .most = 4, .target = 0};
    refused(bad, "--scale-target");
    bad = setup;
    bad.outages = {.mtbf = 100 * s};
    refused(bad, "--replica-mtbf");
    bad.outages = {.drains = {{1 * s, 4}}};
    refused(bad, "--drain-at");
    bad.outages = {.drains = {{1 * s, 0}, {2 * s, 1}, {3 * s, 2}, {4 * s, 3}}};
    refused(bad, "--drain-at");
}
