#include "simulator/serving/serving_simulation.hpp"

#include "core/error.hpp"
#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "tests/catch.hpp"
#include "tests/seeds.hpp"
#include "tests/simulator/serving/conserved.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <random>

using namespace sextant;
using units::ms;
using units::s;

TEST_CASE("serve: every token asked for comes out, every block comes back and Little's law holds, whatever the load") {
    auto const seed = GENERATE(range(1U, 9U));
    RandomStream random(seed, 0, 7);
    auto const scheduler = GENERATE("fcfs", "prefill-first", "chunked", "priority", "fair");
    ServingSetup setup;
    setup.limits.scheduler = scheduler_from(scheduler, "test");
    setup.limits.max_batch = 1 + random.below(40);
    if (random.below(3) == 0) setup.limits.speculation = {.tokens = 1 + random.below(5), .acceptance = 0.6};
    setup.limits.max_batched_tokens =
        setup.limits.max_batch * (1 + setup.limits.speculation.tokens) + random.below(300);
    setup.limits.shape.block_tokens = 1 + random.below(20);
    // Room for the longest request and little more: preemptions.
    setup.limits.shape.window_groups = random.below(3);
    setup.limits.shape.window_blocks = 1 + random.below(6);
    setup.limits.blocks = setup.limits.shape.blocks(340) + 2 * setup.limits.shape.groups() + random.below(60);
    setup.limits.watermark_blocks = random.below(3);
    setup.limits.lanes = 1 + random.below(4);
    if (random.below(2) == 0) setup.limits.planning = IterationPlanning::ahead;
    if (random.below(2) == 0) {
        setup.limits.preemption = PreemptionPolicy::swap;
        setup.limits.host_blocks = random.below(60);
    }
    setup.limits.prefix_caching = random.below(3) == 0 ? PrefixCaching::off : PrefixCaching::on;
    setup.replicas = 1 + random.below(4);
    if (setup.replicas > 1 && random.below(3) == 0) setup.prefill_replicas = 1 + random.below(setup.replicas - 1);
    setup.router = random.below(2) == 0 ? Router::round_robin : Router::least_loaded;
    setup.concurrency = 1 + random.below(200);
    if (seed % 3 == 0) setup.limits.admission = Admission::whole;
    SyntheticWorkload workload{.process = ArrivalProcess::closed,
                               .prompt = length("lognormal:80,1"),
                               .output = length("uniform:1-120"),
                               .prefixes = random.below(5),
                               .prefix_tokens = static_cast<std::int32_t>(1 + random.below(60)),
                               .requests = 700,
                               .seed = seed,
                               .longest = 340};
    SyntheticSource source(workload);
    FixedService const service(10 * ms, 0.1 * ms, 3 * ms, static_cast<double>(setup.limits.lanes));
    std::map<std::int64_t, FinishedRequest> all;
    std::int64_t bad = 0;
    ServingHooks hooks;
    hooks.finished = [&](FinishedRequest const& r) {
        all[r.number] = r;
        bool const ordered = r.request.arrival + 3 * ms <= r.scheduled + 1e-9 * s && r.scheduled < r.first_token &&
                             r.first_token <= r.finished;
        if (!ordered || (r.request.output > 1) != (r.first_token < r.finished)) ++bad;
    };
    CAPTURE(seed, scheduler, setup.limits.max_batch, setup.limits.shape.block_tokens, setup.limits.blocks,
            setup.limits.lanes, setup.limits.speculation.tokens);
    ServingOutcome const out = simulate_serving(setup, service, source, hooks);
    check_conserved(out, 700);
    CHECK(bad == 0);
    CHECK(all.size() == 700);
    if (setup.limits.admission == Admission::whole) CHECK(out.whole.counters.preemptions == 0);
    CHECK(out.itl.count > 0);
}

TEST_CASE("serve: preempted sequences are computed again and lose no token") {
    ServingSetup setup;
    setup.limits.max_batch = 16;
    setup.limits.blocks = 40;  // 640 tokens: three to four of the 160 that a request grows to
    setup.concurrency = 16;
    SyntheticSource source({.process = ArrivalProcess::closed,
                            .prompt = length("60"),
                            .output = length("100"),
                            .requests = 300,
                            .longest = 400});
    ServingOutcome const out = simulate_serving(setup, FixedService(10 * ms), source);
    check_conserved(out, 300);
    CHECK(out.whole.counters.preemptions > 50);
    CHECK(out.whole.counters.prompt_tokens ==
          300 * 60 + out.whole.counters.recomputed_tokens + out.whole.counters.preemptions);
}

TEST_CASE("serve: where requests are admitted whole as many run as the cache has room for to their ends") {
    ServingSetup setup;
    setup.limits.admission = Admission::whole;
    setup.limits.max_batch = 16;
    setup.limits.blocks = 40;  // 640 tokens: four times the 160 that a request asks for
    setup.concurrency = 16;
    SyntheticSource source({.process = ArrivalProcess::closed,
                            .prompt = length("60"),
                            .output = length("100"),
                            .requests = 300,
                            .longest = 400});
    ServingOutcome const out = simulate_serving(setup, FixedService(10 * ms), source);
    check_conserved(out, 300);
    CHECK(out.whole.counters.preemptions == 0);
    CHECK(out.most_batch == 4);
    CHECK(out.whole.counters.prompt_tokens == 300 * 60);
    CHECK(out.short_of_cache);
}

TEST_CASE("serve: the same seed gives the same outcome to the bit, another seed another one") {
    auto const run = [](std::uint64_t seed) {
        ServingSetup setup;
        setup.limits.blocks = 400;
        setup.replicas = 3;
        SyntheticSource source({.rate = 20,
                                .prompt = length("lognormal:100,1"),
                                .output = length("uniform:1-50"),
                                .requests = 3000,
                                .seed = seed,
                                .longest = 2000});
        return simulate_serving(setup, FixedService(20 * ms, 0.05 * ms), source);
    };
    ServingOutcome const a = run(5);
    ServingOutcome const b = run(5);
    ServingOutcome const c = run(6);
    CHECK(a.ttft.mean == b.ttft.mean);
    CHECK(a.e2e.p99 == b.e2e.p99);
    CHECK(a.itl.mean == b.itl.mean);
    CHECK(a.whole.at == b.whole.at);
    CHECK(a.whole.in_system == b.whole.in_system);
    CHECK(a.e2e.p99 != c.e2e.p99);
}

TEST_CASE("serve: replicas share the load; twice the replicas serve twice the requests of a saturated one") {
    auto const rate = [](std::int64_t replicas) {
        ServingSetup setup;
        setup.limits.max_batch = 8;
        setup.limits.blocks = 10000;
        setup.replicas = replicas;
        setup.concurrency = 32 * replicas;
        SyntheticSource source({.process = ArrivalProcess::closed,
                                .prompt = length("100"),
                                .output = length("uniform:1-50"),
                                .requests = 4000 * replicas,
                                .longest = 2000});
        ServingOutcome const out = simulate_serving(setup, FixedService(20 * ms), source);
        return static_cast<double>(out.window.finished) / out.window.at.base();
    };
    CHECK(rate(4) == Approx(4 * rate(1)).epsilon(0.02));
}

TEST_CASE("serve: pipeline stages keep as many batches in flight, and the latency of one") {
    auto const out = [](std::int64_t stages) {
        ServingSetup setup;
        setup.limits.max_batch = 32;
        setup.limits.blocks = 10000;
        setup.limits.lanes = stages;
        setup.concurrency = 64;
        SyntheticSource source({.process = ArrivalProcess::closed,
                                .prompt = length("10"),
                                .output = length("100"),
                                .requests = 2000,
                                .longest = 2000});
        return simulate_serving(setup, FixedService(40 * ms, {}, {}, static_cast<double>(stages)), source);
    };
    ServingOutcome const four = out(4);
    // Four lanes of eight sequences: one leaves every 10 ms, each takes 40 ms.
    CHECK(four.itl.p50.base() == Approx(0.04).epsilon(0.003));
    CHECK(four.tpot.p50.base() == Approx(0.04).epsilon(0.003));
    CHECK(static_cast<double>(four.window.counters.tokens_out) / four.window.at.base() ==
          Approx(32 / 0.04).epsilon(0.03));
    check_conserved(four, 2000);
}

TEST_CASE("serve: in a pipeline no iteration overtakes another") {
    ServingSetup setup;
    setup.limits.max_batch = 32;
    setup.limits.max_batched_tokens = 2000;
    setup.limits.blocks = 10000;
    setup.limits.lanes = 2;
    // Of two stages one decodes the first request, 10 ms a step, when the prompt of the second comes: 210 ms.
    ListedSource source(
        {{.arrival = {}, .prompt = 10, .output = 100}, {.arrival = 300 * ms, .prompt = 2000, .output = 1}});
    ServingOutcome const out = simulate_serving(setup, FixedService(10 * ms, 0.1 * ms, {}, 2), source);
    check_conserved(out, 2);
    // The step that follows the prompt begins 105 ms after it, and ends a stage's 5 ms after the prompt does.
    CHECK(out.itl.largest.base() == Approx(0.215).margin(0.011));
}

TEST_CASE("serve: prefill-first delays decodes, chunks do not") {
    auto const run = [](char const* scheduler) {
        ServingSetup setup;
        setup.limits.scheduler = scheduler_from(scheduler, "test");
        setup.limits.max_batch = 32;
        setup.limits.max_batched_tokens = 512;
        setup.limits.blocks = 100000;
        SyntheticSource source(
            {.rate = 2, .prompt = length("2000"), .output = length("100"), .requests = 2000, .longest = 4000});
        return simulate_serving(setup, FixedService(10 * ms, 0.05 * ms), source);
    };
    ServingOutcome const chunked = run("chunked");
    ServingOutcome const whole = run("prefill-first");
    // A chunk beside a decode takes 10 + 511 x 0.05 = 35.55 ms; a whole prompt 110 ms, and then a decode 10 ms.
    CHECK(chunked.itl.largest.base() == Approx(0.01 + 511 * 0.05e-3).epsilon(1e-9));
    CHECK(whole.itl.largest.base() >= 0.119);
    CHECK(whole.ttft.mean < chunked.ttft.mean);
}

TEST_CASE("serve: planned ahead, a request waits for the iteration that runs and the next; alone it does not wait") {
    auto const run = [](IterationPlanning planning, char const* output, double rate) {
        ServingSetup setup;
        setup.limits.planning = planning;
        setup.limits.max_batch = 1000;
        setup.limits.max_batched_tokens = 100000;
        setup.limits.blocks = 10000000;
        SyntheticSource source(
            {.rate = rate, .prompt = length("100"), .output = length(output), .requests = 5000, .longest = 4000});
        return simulate_serving(setup, FixedService(10 * ms), source).ttft;
    };
    // 20 requests are decoding all the time: a half of the running iteration, and its own, and one more.
    CHECK(run(IterationPlanning::in_turn, "1000", 2).mean.base() == Approx(0.015).epsilon(0.02));
    CHECK(run(IterationPlanning::ahead, "1000", 2).mean.base() == Approx(0.025).epsilon(0.02));
    // Busy one time in 200.
    CHECK(run(IterationPlanning::ahead, "1", 0.5).mean.base() == Approx(0.010).epsilon(0.02));
}

TEST_CASE("serve: a prefix that stays in the cache is not computed again") {
    auto const run = [](PrefixCaching caching, std::int64_t blocks) {
        ServingSetup setup;
        setup.limits.prefix_caching = caching;
        setup.limits.blocks = blocks;
        setup.limits.max_batch = 16;
        SyntheticSource source({.rate = 3,
                                .prompt = length("40"),
                                .output = length("20"),
                                .prefixes = 4,
                                .prefix_tokens = 1000,
                                .requests = 3000,
                                .longest = 2000});
        return simulate_serving(setup, FixedService(10 * ms, 0.1 * ms), source);
    };
    ServingOutcome const on = run(PrefixCaching::on, 2000);
    ServingOutcome const off = run(PrefixCaching::off, 2000);
    ServingOutcome const small = run(PrefixCaching::on, 200);  // of four prefixes three fit, beside no request
    // 992 tokens of 1,040: the whole blocks of the prefix.
    auto const rate = [](ServingOutcome const& o) {
        return static_cast<double>(o.whole.counters.cached_tokens) /
               static_cast<double>(o.whole.counters.wanted_tokens);
    };
    CHECK(rate(on) == Approx(992.0 / 1040).epsilon(0.01));
    CHECK(rate(off) == 0);
    CHECK(rate(small) < 0.8);
    CHECK(rate(small) > 0.05);
    CHECK(on.ttft.mean < off.ttft.mean);
    check_conserved(on, 3000);
    check_conserved(small, 3000);
}

TEST_CASE("serve: priorities are served first under load, tenants get equal shares from a fair scheduler") {
    std::vector<ServingRequest> requests;
    for (int i = 0; i < 400; ++i)  // tenant 0 asks for everything at once; tenant 1 comes later
        requests.push_back({.arrival = (i < 300 ? 0.0 : 1.0) * s,
                            .prompt = 10,
                            .output = 20,
                            .tenant = i < 300 ? 0 : 1,
                            .priority = i % 2});
    auto const mean = [&](char const* scheduler, auto const& chosen) {
        ServingSetup setup;
        setup.limits.scheduler = scheduler_from(scheduler, "test");
        setup.limits.max_batch = 10;
        setup.limits.blocks = 1000;
        ListedSource source(requests);
        double sum = 0;
        int count = 0;
        ServingHooks hooks;
        hooks.finished = [&](FinishedRequest const& r) {
            if (!chosen(r.request)) return;
            sum += r.e2e().base();
            ++count;
        };
        simulate_serving(setup, FixedService(10 * ms), source, hooks);
        return sum / count;
    };
    auto const urgent = [](ServingRequest const& r) { return r.priority == 0; };
    auto const late = [](ServingRequest const& r) { return r.tenant == 1; };
    CHECK(mean("priority", urgent) < 0.75 * mean("chunked", urgent));
    CHECK(mean("fair", late) < 0.8 * mean("chunked", late));
}

TEST_CASE("serve: figures of tenants are those of their requests, one by one") {
    ServingSetup setup;
    setup.limits.max_batch = 4;
    setup.limits.blocks = 1000;
    setup.tenants = 3;
    setup.warmup_share = 0;
    setup.objective.ttft = 400 * ms;
    std::mt19937_64 random(fixtures::seeded(29));
    std::vector<ServingRequest> requests;
    for (int i = 0; i < 200; ++i)
        requests.push_back({.arrival = 0.05 * i * s,
                            .prompt = 1 + static_cast<std::int32_t>(random() % 50),
                            .output = 1 + static_cast<std::int32_t>(random() % 30),
                            .tenant = static_cast<std::int32_t>(random() % 3)});
    std::array<TenantOutcome, 3> expected;
    std::array<Seconds, 3> waited{};
    ServingHooks hooks;
    hooks.finished = [&](FinishedRequest const& r) {
        TenantOutcome& own = expected.at(static_cast<std::size_t>(r.request.tenant));
        ++own.measured;
        own.good += r.ttft() <= setup.objective.ttft ? 1 : 0;
        own.prompt_tokens += r.request.prompt;
        own.output_tokens += r.request.output;
        waited.at(static_cast<std::size_t>(r.request.tenant)) += r.ttft();
    };
    ListedSource source(requests);
    ServingOutcome const out = simulate_serving(setup, FixedService(20 * ms), source, hooks);
    REQUIRE(out.tenants.size() == 3);
    CHECK(out.good > 0);
    CHECK(out.good < 200);
    for (std::size_t i = 0; i < 3; ++i) {
        TenantOutcome const& tenant = out.tenants[i];
        CHECK(tenant.measured == expected[i].measured);
        CHECK(tenant.good == expected[i].good);
        CHECK(tenant.prompt_tokens == expected[i].prompt_tokens);
        CHECK(tenant.output_tokens == expected[i].output_tokens);
        CHECK(tenant.ttft.mean.base() == Approx(waited[i].base() / static_cast<double>(tenant.measured)));
    }
}

TEST_CASE("serve: what is good is counted against both objectives") {
    ServingSetup setup = one_at_a_time();
    setup.warmup_share = 0;
    setup.objective.ttft = 150 * ms;
    std::vector<ServingRequest> const requests{{.arrival = 0 * s, .output = 10},
                                               {.arrival = 0.5 * s, .output = 10},  // waits half a second
                                               {.arrival = 30 * s, .output = 1}};
    ListedSource source(requests);
    CHECK(simulate_serving(setup, FixedService(100 * ms), source).good == 2);
    setup.objective.tpot = 90 * ms;
    ListedSource again(requests);
    CHECK(simulate_serving(setup, FixedService(100 * ms), again).good == 1);
}

TEST_CASE("serve: speculation brings (1 - a^(k+1)) / (1 - a) tokens a step, and as much speed where guesses are free") {
    auto const guesses = GENERATE(1, 4, 8);
    auto const acceptance = GENERATE(0.0, 0.5, 0.8, 1.0);
    auto const run = [&](Speculation const& speculation) {
        ServingSetup setup;
        setup.limits.blocks = 1 << 20;
        setup.limits.speculation = speculation;
        setup.limits.max_batch = 8;
        setup.concurrency = 8;
        SyntheticSource source({.process = ArrivalProcess::closed,
                                .prompt = length("10"),
                                .output = length("20000"),
                                .requests = 16,
                                .longest = 30000});
        return simulate_serving(setup, FixedService(10 * ms), source);
    };
    Speculation const speculation{.tokens = guesses, .acceptance = acceptance};
    double closed = 0;
    for (int i = 0; i <= guesses; ++i)
        closed += std::pow(acceptance, i);
    CHECK(speculation.tokens_per_step() == Approx(closed));
    ServingOutcome const out = run(speculation);
    ReplicaCounters const& c = out.whole.counters;
    check_conserved(out, 16);
    CHECK(static_cast<double>(c.decode_tokens) / static_cast<double>(c.decode_steps) == Approx(closed).epsilon(0.01));
    CHECK(run({}).tpot.mean / out.tpot.mean == Approx(closed).epsilon(0.01));
    // A draft model that costs as much as the model itself: k + 1 iterations a step.
    Speculation dear = speculation;
    dear.draft_share = 1;
    CHECK(run({}).tpot.mean / run(dear).tpot.mean == Approx(closed / (guesses + 1)).epsilon(0.01));
}

TEST_CASE("serve: caches that move between replicas cost their transfer once, before the first token") {
    ServingSetup setup;
    setup.limits.blocks = 1000;
    setup.replicas = 2;
    setup.prefill_replicas = 1;
    setup.warmup_share = 0;
    // Two at once: both prompts in one iteration; 1 and 2 GB share 1 GB/s until the smaller one is there after 2 s.
    std::vector<ServingRequest> const requests{{.arrival = 0 * s, .prompt = 1000, .output = 11},
                                               {.arrival = 0 * s, .prompt = 2000, .output = 11},
                                               {.arrival = 5 * s, .prompt = 500, .output = 1}};
    FixedService service(100 * ms);
    service.transfer_token = {};
    service.fabric = {{"a", 1 * units::GB / s}, {"b", 5 * units::GB / s}};
    service.rate = 1 * units::GB / s;
    ListedSource source(requests);
    std::vector<FinishedRequest> all(3);
    ServingHooks hooks;
    hooks.finished = [&](FinishedRequest const& r) { all[static_cast<std::size_t>(r.number)] = r; };
    ServingOutcome const out = simulate_serving(setup, service, source, hooks);
    check_conserved(out, 3);
    CHECK(out.whole.transfers == 2);
    CHECK(out.whole.transferring.base() == Approx(2 + 3));
    CHECK(out.whole.transferring_alone.base() == Approx(1 + 2));
    CHECK(all[0].ttft().base() == Approx(0.1 + 2));
    CHECK(all[0].finished.base() == Approx(0.1 + 2 + 10 * 0.1));
    CHECK(all[1].ttft().base() == Approx(0.1 + 3));
    CHECK(all[1].finished.base() == Approx(0.1 + 3 + 10 * 0.1));
    CHECK(all[2].e2e().base() == Approx(0.1));  // one token: nothing moves
    CHECK(out.itl.largest.base() == Approx(0.1));
    CHECK(out.whole.prefill_busy.base() == Approx(0.2));
}

namespace {

/// What becomes of two requests of 1000 and 11 tokens that come at once, to one replica for prompts and one that
/// decodes. Iterations take 100 ms.
std::vector<FinishedRequest> two_handed_over(ReplicaLimits const& limits, Seconds transfer) {
    ServingSetup setup;
    setup.limits = limits;
    setup.replicas = 2;
    setup.prefill_replicas = 1;
    setup.warmup_share = 0;
    FixedService service(100 * ms);
    service.transfer_token = transfer / 1000.0;
    ListedSource source(
        {{.arrival = 0 * s, .prompt = 1000, .output = 11}, {.arrival = 0 * s, .prompt = 1000, .output = 11}});
    std::vector<FinishedRequest> all(2);
    ServingHooks hooks;
    hooks.finished = [&](FinishedRequest const& r) { all[static_cast<std::size_t>(r.number)] = r; };
    check_conserved(simulate_serving(setup, service, source, hooks), 2);
    return all;
}

}  // namespace

TEST_CASE("serve: replicas for prompts have their own times, limits, groups and cache") {
    ServingSetup setup;
    setup.limits = {.max_batch = 64, .groups = 2, .blocks = 500};
    setup.prefill_limits = ReplicaLimits{.max_batch = 1, .groups = 3, .blocks = 70, .lanes = 2};
    setup.replicas = 3;
    setup.prefill_replicas = 1;
    setup.concurrency = 12;
    FixedService service(10 * ms);
    FixedService const slow(100 * ms);
    service.prompts = &slow;
    SyntheticSource source({.process = ArrivalProcess::closed,
                            .prompt = length("1000"),
                            .output = length("11"),
                            .requests = 300,
                            .longest = 1100});
    ServingOutcome const out = simulate_serving(setup, service, source);
    check_conserved(out, 300);
    CHECK(out.blocks_total == 3 * 70 + 2 * 2 * 500);
    CHECK(out.whole.prefill_busy.base() == Approx(300 * 0.1));  // one prompt at a time
    CHECK(out.tpot.mean.base() == Approx(0.01));
    CHECK(out.whole.room == Approx(static_cast<double>(out.blocks_total) * out.whole.at.base()));
    // A cache of 70 blocks holds one prompt until it is taken over: 20 ms later the next begins, in each of the groups.
    setup.prefill_limits->blocks = 62;
    CHECK_THROWS_AS(
        [&] {
            ServingSetup none = setup;
            none.prefill_replicas = 0;
            ListedSource few({{.arrival = 0 * s}});
            return simulate_serving(none, service, few);
        }(),
        InputError);
}

TEST_CASE("serve: limits of replicas for prompts that are those of the others change nothing") {
    auto const seed = GENERATE(range(1U, 7U));
    ServingSetup setup;
    setup.limits = {.max_batch = 8, .groups = 1 + seed % 3, .blocks = 100};
    setup.replicas = 4;
    setup.prefill_replicas = 2;
    setup.concurrency = 40;
    auto const run = [&] {
        SyntheticSource source({.process = ArrivalProcess::closed,
                                .prompt = length("lognormal:80,1"),
                                .output = length("uniform:1-120"),
                                .requests = 400,
                                .seed = seed,
                                .longest = 340});
        FixedService service(10 * ms, 0.1 * ms);
        return simulate_serving(setup, service, source);
    };
    ServingOutcome const once = run();
    setup.prefill_limits = setup.limits;
    ServingOutcome const again = run();
    CHECK(once.e2e_sum == again.e2e_sum);
    CHECK(once.whole.blocks == again.whole.blocks);
    CHECK(once.whole.room == again.whole.room);
    CHECK(once.ttft.p99 == again.ttft.p99);
}

TEST_CASE("serve: the first token waits for a place among the decodes") {
    auto const all = two_handed_over({.max_batch = 1, .blocks = 1000}, {});
    CHECK(all[0].ttft().base() == Approx(0.1));
    CHECK(all[0].finished.base() == Approx(0.1 + 10 * 0.1));
    CHECK(all[1].scheduled.base() == Approx(0.1));
    CHECK(all[1].ttft().base() == Approx(1.1));
    CHECK(all[1].finished.base() == Approx(1.1 + 10 * 0.1));
}

TEST_CASE("serve: a cache that comes without the token after the prompt takes a step for it") {
    auto const all = two_handed_over({.blocks = 1000, .hand_over = HandOver::cache_alone}, 1 * s);
    for (FinishedRequest const& request : all) {
        CHECK(request.ttft().base() == Approx(0.1 + 1 + 0.1));
        CHECK(request.finished.base() == Approx(0.1 + 1 + 11 * 0.1));
    }
}

TEST_CASE("serve: a replica for prompts holds a cache until the other has it") {
    // 63 blocks of a prompt and 64 at the end of its answer, of 70.
    auto const all = two_handed_over({.blocks = 70}, 1 * s);
    CHECK(all[0].ttft().base() == Approx(0.1 + 1));
    CHECK(all[1].scheduled.base() == Approx(0.1 + 1));
    CHECK(all[1].ttft().base() == Approx(0.1 + 1 + 0.1 + 1));
}

TEST_CASE("serve: limits that cannot work are refused") {
    ListedSource source({{.arrival = 0 * s}});
    FixedService const service(10 * ms);
    auto const refused = [&](auto change) {
        ServingSetup setup;
        setup.limits.blocks = 10;
        change(setup);
        CHECK_THROWS_AS(simulate_serving(setup, service, source), InputError);
    };
    refused([](ServingSetup& o) { o.replicas = 0; });
    refused([](ServingSetup& o) { o.limits.max_batch = 0; });
    refused([](ServingSetup& o) { o.limits.max_batched_tokens = 10; });
    refused([](ServingSetup& o) { o.limits.blocks = 0; });
    refused([](ServingSetup& o) { o.warmup_share = std::nan(""); });
    refused([](ServingSetup& o) { o.warmup_share = 1; });
    refused([](ServingSetup& o) { o.limits.speculation = {.tokens = -1}; });
    refused([](ServingSetup& o) { o.prefill_replicas = 1; });
    refused([](ServingSetup& o) { o.prefill_replicas = -1; });
    refused([](ServingSetup& o) { o.limits.speculation = {.tokens = 2, .acceptance = 1.1}; });
    refused([](ServingSetup& o) { o.limits.speculation = {.tokens = 64, .acceptance = 0.5}; });
    CHECK_THROWS_AS(scheduler_from("fcsf", "--scheduler"), InputError);
    CHECK_THROWS_AS(router_from("random", "--router"), InputError);
}

TEST_CASE("serve: a stop ends the run with what is finished") {
    ServingSetup setup = one_at_a_time();
    SyntheticSource source(
        {.rate = 0.5, .prompt = length("1"), .output = length("10"), .requests = 10000, .longest = 100});
    std::atomic<bool> stop{false};
    ServingHooks hooks;
    hooks.stop = &stop;
    hooks.progress = [&](std::int64_t arrived) { stop = arrived >= 5000; };
    ServingOutcome const out = simulate_serving(setup, FixedService(100 * ms), source, hooks);
    CHECK(out.interrupted);
    CHECK(out.whole.finished > 4000);
    CHECK(out.whole.finished <= 5000);
    CHECK(out.e2e.mean.base() == Approx(1.5).epsilon(0.1));
    // In the warm-up: no latency, but what was served.
    stop = false;
    hooks.progress = [&](std::int64_t arrived) { stop = arrived >= 500; };
    SyntheticSource again(
        {.rate = 0.5, .prompt = length("1"), .output = length("10"), .requests = 10000, .longest = 100});
    ServingOutcome const early = simulate_serving(setup, FixedService(100 * ms), again, hooks);
    CHECK(early.measured == 0);
    CHECK(early.window.counters.tokens_out > 4000);
}

TEST_CASE("serve: under priorities the least urgent request makes room, wherever it lies") {
    // One of three requests, which begin one after another; the cache holds all prompts and not all answers.
    for (std::size_t least = 0; least < 3; ++least) {
        CAPTURE(least);
        std::vector<ServingRequest> requests;
        for (int i = 0; i < 3; ++i)
            requests.push_back({.arrival = 0.02 * i * s, .prompt = 60, .output = 60});
        requests[least].priority = 7;
        ServingSetup setup;
        setup.limits.scheduler = scheduler_from("priority", "test");
        setup.limits.max_batch = 3;
        setup.limits.blocks = 18;  // of 16 tokens: four each for the prompts, eight each in the end
        setup.limits.watermark_blocks = 0;
        ListedSource source(requests);
        std::vector<std::int32_t> preempted(3, 0);
        ServingHooks hooks;
        hooks.finished = [&](FinishedRequest const& r) {
            preempted.at(r.request.priority == 7 ? 0 : 1) += r.preemptions;
        };
        simulate_serving(setup, FixedService(10 * ms), source, hooks);
        CHECK(preempted[0] > 0);
        CHECK(preempted[1] == 0);
    }
}

TEST_CASE("serve: totals of a span are those at its end less those at its beginning, each figure") {
    auto const at = [](int n) {
        ServingTotals t{.at = 3.0 * n * s,
                        .in_system = 5.0 * n,
                        .waiting = 7.0 * n,
                        .running = 11.0 * n,
                        .blocks = 13.0 * n,
                        .arrived = 17 * n,
                        .finished = 19 * n,
                        .prefill_busy = 23.0 * n * s,
                        .transferring = 29.0 * n * s,
                        .transferring_alone = 31.0 * n * s,
                        .transfers = 37 * n,
                        .up = 41.0 * n,
                        .down = 43.0 * n,
                        .held = 47.0 * n};
        t.counters.tokens_out = 53 * n;
        t.counters.busy = 59.0 * n * s;
        t.counters.loaded_tokens = 61 * n;
        return t;
    };
    ServingTotals const d = at(9) - at(4);
    ServingTotals const five = at(5);
    CHECK(d.at == five.at);
    CHECK(d.in_system == five.in_system);
    CHECK(d.waiting == five.waiting);
    CHECK(d.running == five.running);
    CHECK(d.blocks == five.blocks);
    CHECK(d.arrived == five.arrived);
    CHECK(d.finished == five.finished);
    CHECK(d.prefill_busy == five.prefill_busy);
    CHECK(d.transferring == five.transferring);
    CHECK(d.transferring_alone == five.transferring_alone);
    CHECK(d.transfers == five.transfers);
    CHECK(d.up == five.up);
    CHECK(d.down == five.down);
    CHECK(d.held == five.held);
    CHECK(d.counters.tokens_out == five.counters.tokens_out);
    CHECK(d.counters.busy == five.counters.busy);
    CHECK(d.counters.loaded_tokens == five.counters.loaded_tokens);
}

TEST_CASE("serve: a prefix-aware router finds more prefixes than one that looks at loads, and evens loads out still") {
    auto const run = [](Router router, std::int64_t prefixes, double rate, std::int64_t blocks) {
        ServingSetup setup;
        setup.replicas = 4;
        setup.router = router;
        setup.limits.max_batch = 64;
        setup.limits.blocks = blocks;
        SyntheticSource source({.rate = rate,
                                .prompt = length("100"),
                                .output = length("20"),
                                .prefixes = prefixes,
                                .prefix_tokens = 800,
                                .requests = 4000,
                                .longest = 2000});
        std::array<std::int64_t, 4> served{};
        ServingOutcome const out = simulate_serving(
            setup, FixedService(10 * ms, 0.02 * ms), source,
            {.finished = [&](FinishedRequest const& r) { ++served[static_cast<std::size_t>(r.replica)]; }});
        check_conserved(out, 4000);
        double const hits = static_cast<double>(out.whole.counters.cached_tokens) /
                            static_cast<double>(out.whole.counters.wanted_tokens);
        return std::pair(hits, *std::min_element(served.begin(), served.end()));
    };
    // Forty prefixes of fifty blocks: a replica has room for ten and what runs.
    auto const [blind, blind_least] = run(Router::least_loaded, 40, 20, 700);
    auto const [aware, aware_least] = run(Router::prefix_aware, 40, 20, 700);
    CHECK(blind < 0.4);
    CHECK(aware > 0.7);
    CHECK(aware_least > 400);
    CHECK(blind_least > 900);
    // One prefix for all: more than one replica can do, so that the bound on the loads spreads them.
    auto const [all, all_least] = run(Router::prefix_aware, 1, 300, 20000);
    CHECK(all > 0.8);
    CHECK(all_least > 400);
}
