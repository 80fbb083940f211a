// Attention data-parallel groups of a replica: each has its sequences, its cache and its limit of tokens.
#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "cost_models/serving/steady_state.hpp"
#include "simulator/serving/serving_simulation.hpp"
#include "tests/catch.hpp"
#include "tests/simulator/serving/conserved.hpp"

#include <array>

using namespace sextant;
using units::ms;

TEST_CASE("serve: groups of attention data parallelism have a budget of tokens and a cache each") {
    ServingCase what{.model = find_model("deepseek-v3"),
                     .cluster = find_cluster("h200-sxm", "test"),
                     .plan = {.weights = "fp8", .max_batched_tokens = 2048},
                     .engine = find_engine("vllm", "test")};
    for (std::int64_t const groups : {1, 2, 4, 8}) {
        CAPTURE(groups);
        what.plan.attention_dp = groups;
        what.plan.ep = groups;
        ServingMemory memory;
        memory.cache_tokens = 160'000;  // of each group
        ReplicaLimits const limits = replica_limits(what, memory);
        CHECK(limits.groups == groups);
        CHECK(limits.max_batched_tokens == 2048);
        CHECK(limits.blocks == memory.shape.groups() * (160'000 / what.plan.block_tokens));
        CHECK(limits.cache_tokens() == 160'000 * groups);
    }
}

TEST_CASE(
    "serve: one group processes a prompt, whatever the groups beside it, and two prompts that come together two") {
    auto const first_tokens = [](std::int64_t groups, int requests, Scheduler const& scheduler) {
        ServingSetup setup;
        setup.limits.scheduler = scheduler;
        setup.limits.groups = groups;
        setup.limits.blocks = 1000;
        setup.limits.max_batched_tokens = 1000;
        setup.limits.max_batch = 16;
        setup.concurrency = requests;
        SyntheticSource source({.process = ArrivalProcess::closed,
                                .prompt = length("400"),
                                .output = length("2"),
                                .requests = requests,
                                .longest = 1000});
        return simulate_serving(setup, FixedService(10 * ms, 1 * ms), source).ttft;
    };
    for (char const* name : {"chunked", "fcfs", "prefill-first"}) {
        CAPTURE(name);
        Scheduler const scheduler = scheduler_from(name, "test");
        CHECK(first_tokens(1, 1, scheduler).mean.in(ms) == Approx(410));
        CHECK(first_tokens(4, 1, scheduler).mean.in(ms) == Approx(410));
        CHECK(first_tokens(1, 2, scheduler).mean.in(ms) == Approx(810));
        CHECK(first_tokens(2, 2, scheduler).mean.in(ms) == Approx(410));
        CHECK(first_tokens(4, 4, scheduler).largest.in(ms) == Approx(410));
        CHECK(first_tokens(2, 4, scheduler).largest.in(ms) == Approx(810));
    }
}

TEST_CASE("serve: a sequence has the cache of one group, and waits where that is full") {
    ServingSetup setup;
    setup.limits.groups = 2;
    setup.limits.blocks = 7;  // of 16 tokens: a request of 80 + 10 takes six
    setup.limits.max_batch = 8;
    setup.concurrency = 4;
    SyntheticSource source({.process = ArrivalProcess::closed,
                            .prompt = length("80"),
                            .output = length("10"),
                            .requests = 40,
                            .longest = 100});
    ServingOutcome const out = simulate_serving(setup, FixedService(10 * ms), source);
    check_conserved(out, 40);
    CHECK(out.blocks_total == 14);
    // Two at a time, one in each group, though two blocks are free beside them.
    CHECK(out.whole.running / out.whole.at.base() < 2.01);
    CHECK(out.whole.counters.preemptions == 0);
}

TEST_CASE("serve: a prompt on one of eight groups takes its own attention and products, and experts its tokens alone") {
    ServingCase what{.model = find_model("deepseek-v3"),
                     .cluster = find_cluster("h200-sxm", "test"),
                     .plan = {.ep = GENERATE(1, 8), .attention_dp = 8, .weights = "fp8"},
                     .engine = find_engine("vllm", "test")};
    CAPTURE(what.plan.ep);
    IterationModel const model(what);
    ModelledService const service(model);
    ServingSetup setup;
    setup.limits = replica_limits(what, model.memory());
    SyntheticSource source(
        {.rate = 0.01, .prompt = length("2048"), .output = length("2"), .requests = 3, .longest = 4096});
    ServingOutcome const out = simulate_serving(setup, service, source);
    IterationLoad const alone{
        .prefill_tokens = 2048, .prefill_attention = model.prefill_attention(0, 2048), .samples = 1};
    Seconds const iteration = model(alone).total();
    CHECK(out.ttft.p50.base() == Approx((service.before_queue(2048) + iteration).base()));
    CHECK(out.ttft.p50.base() == Approx(closed_loop(model, {.prompt = 2048, .output = 2}, 1).ttft.total().base()));
    // As many tokens in each other group are more work for the experts, and none for this group's attention.
    IterationLoad all = alone;
    all.elsewhere = 7 * 2048;
    CHECK(model(all).gemm > model(alone).gemm);
    CHECK(model(all).prefill == model(alone).prefill);
    CHECK(model(all).communication == model(alone).communication);
}

TEST_CASE("serve: groups conserve requests, tokens and blocks under every scheduler") {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        RandomStream random(seed, 7, 1);
        ServingSetup setup;
        setup.limits.scheduler = scheduler_from(std::array{"chunked", "fcfs", "prefill-first", "priority", "fair"}.at(
                                                    static_cast<std::size_t>(random.below(5))),
                                                "test");
        setup.limits.groups = 1 + random.below(5);
        setup.limits.lanes = 1 + random.below(3);
        setup.limits.max_batch = 1 + random.below(40);
        setup.limits.max_batched_tokens = 240 + random.below(200);
        setup.limits.blocks = 20 + random.below(30);
        if (random.below(2) == 0) setup.limits.speculation = {.tokens = 1 + random.below(4), .acceptance = 0.6};
        if (random.below(2) == 0) {
            setup.limits.preemption = PreemptionPolicy::swap;
            setup.limits.host_blocks = random.below(60);
        }
        setup.concurrency = 1 + random.below(80);
        CAPTURE(seed, setup.limits.groups, setup.limits.lanes, setup.limits.max_batch, setup.limits.blocks);
        SyntheticSource source({.process = ArrivalProcess::closed,
                                .prompt = length("lognormal:80,1"),
                                .output = length("uniform:1-120"),
                                .prefixes = random.below(3),
                                .prefix_tokens = 40,
                                .requests = 300,
                                .seed = seed,
                                .longest = 300});
        check_conserved(simulate_serving(setup, FixedService(10 * ms, 0.1 * ms, 3 * ms), source), 300);
    }
}
