#include "simulator/serving/serving_on_simgrid.hpp"

#include "core/error.hpp"
#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "simulator/serving/outcome_bytes.hpp"
#include "tests/catch.hpp"
#include "tests/sanitized.hpp"
#include "tests/simulator/serving/conserved.hpp"

#include <array>
#include <atomic>
#include <optional>

using namespace sextant;
using fixtures::cases;
using units::GB;
using units::ms;
using units::s;

namespace {

/// A deployment and its load.
struct Case {
    ServingSetup setup{};
    SyntheticWorkload workload{};
    std::vector<FabricLink> fabric{};  ///< as in `FixedService`
};

struct Result {
    ServingOutcome outcome;
    std::vector<FinishedRequest> requests;  ///< as they finished
};

enum class Clock : std::uint8_t { loop, simgrid };

/// Iterations, prompts and tokenising take times that are no multiples of each other: what happens at one time does so
/// because it has to. Requests have priorities.
Result run(Case const& c, Clock clock) {
    SyntheticSource drawn(c.workload);
    std::vector<ServingRequest> requests;
    while (auto request = drawn.next()) {
        request->priority = static_cast<std::int32_t>(requests.size() % 3);
        requests.push_back(*request);
    }
    ListedSource source(requests);
    FixedService service(10.0123 * ms, 0.1037 * ms, 3.0041 * ms, static_cast<double>(c.setup.limits.lanes));
    service.fabric = c.fabric;
    Result out;
    ServingHooks hooks;
    hooks.finished = [&](FinishedRequest const& request) { out.requests.push_back(request); };
    out.outcome = clock == Clock::loop ? simulate_serving(c.setup, service, source, hooks)
                                       : simulate_serving_on_simgrid(c.setup, service, source, hooks);
    return out;
}

bool same(FinishedRequest const& a, FinishedRequest const& b) {
    return a.number == b.number && a.replica == b.replica && a.preemptions == b.preemptions &&
           a.restarts == b.restarts && a.tokens == b.tokens && a.cached_tokens == b.cached_tokens &&
           a.request.arrival == b.request.arrival && a.scheduled == b.scheduled && a.first_token == b.first_token &&
           a.finished == b.finished;
}

/// To the last bit.
void check_same(Result const& loop, Result const& simgrid) {
    REQUIRE(loop.requests.size() == simgrid.requests.size());
    std::size_t different = 0;
    for (std::size_t i = 0; i < loop.requests.size(); ++i)
        if (!same(loop.requests[i], simgrid.requests[i])) ++different;
    CHECK(different == 0);
    CHECK(bytes_of(loop.outcome) == bytes_of(simgrid.outcome));
}

/// Small limits, so that there are preemptions, queues and refusals.
Case small_case(int number, char const* scheduler) {
    auto const seed = static_cast<std::uint64_t>(number);
    RandomStream random(seed, 0, 11);
    Case c;
    ReplicaLimits& limits = c.setup.limits;
    limits.scheduler = scheduler_from(scheduler, "test");
    limits.max_batch = 1 + random.below(30);
    if (random.below(3) == 0) limits.speculation = {.tokens = 1 + random.below(5), .acceptance = 0.6};
    limits.max_batched_tokens = limits.max_batch * (1 + limits.speculation.tokens) + random.below(300);
    limits.shape.block_tokens = 1 + random.below(20);
    limits.shape.window_groups = random.below(3);
    limits.shape.window_blocks = 1 + random.below(6);
    limits.blocks = limits.shape.blocks(340) + 2 * limits.shape.groups() + random.below(60);
    limits.watermark_blocks = random.below(3);
    limits.lanes = 1 + random.below(3);
    limits.adapter_slots = random.below(4);
    if (random.below(2) == 0) {
        limits.preemption = PreemptionPolicy::swap;
        limits.host_blocks = random.below(60);
    }
    limits.prefix_caching = random.below(3) == 0 ? PrefixCaching::off : PrefixCaching::on;
    c.setup.replicas = 2 + random.below(4);
    c.setup.router = random.below(2) == 0 ? Router::round_robin : Router::least_loaded;
    c.setup.tenants = 3;
    bool const closed = random.below(2) == 0;
    if (closed) c.setup.concurrency = 1 + random.below(80);
    c.workload = {.process = closed ? ArrivalProcess::closed : ArrivalProcess::gamma,
                  .rate = 5.0 * static_cast<double>(c.setup.replicas),
                  .variation = 2,
                  .prompt = length("lognormal:80,1"),
                  .output = length("uniform:1-120"),
                  .prefixes = random.below(5),
                  .prefix_tokens = 30,
                  .tenant_shares = {1, 2, 3},
                  .adapters = 1 + random.below(5),
                  .requests = 400,
                  .seed = seed,
                  .longest = 340};
    return c;
}

/// Two replicas that prefill and as many that decode, whose caches meet on links.
Case apart(int seed, std::int64_t replicas) {
    Case c = small_case(seed, "chunked");
    c.setup.replicas = replicas;
    c.setup.prefill_replicas = replicas / 2;
    c.setup.concurrency = 10 * replicas;
    c.workload.process = ArrivalProcess::closed;
    for (std::int64_t i = 0; i < replicas; ++i)
        c.fabric.push_back({"link", 2 * GB / s});
    return c;
}

}  // namespace

TEST_CASE("serve on simgrid: every request is served as by the loop, to the bit, whatever the scheduler and limits",
          "[INV-71]") {
    auto const seed = GENERATE(range(1, cases(5, 2)));
    auto const scheduler = GENERATE("fcfs", "prefill-first", "chunked", "priority", "fair");
    CAPTURE(seed, scheduler);
    Case const c = small_case(seed, scheduler);
    Result const simgrid = run(c, Clock::simgrid);
    check_same(run(c, Clock::loop), simgrid);
    check_conserved(simgrid.outcome, 400);
}

TEST_CASE("serve on simgrid: failures, drains and an autoscaler are those of the loop", "[INV-71]") {
    auto const seed = GENERATE(range(1, cases(9, 5)));
    Case c = small_case(seed, "chunked");
    c.workload.rate /= 2;  // not so many that the queue of those that are left grows without bound
    if (seed % 2 == 0) {
        c.setup.outages = {
            .mtbf = 20 * s, .repair = 3 * s, .drained_for = 2 * s, .seed = static_cast<std::uint64_t>(seed)};
        c.setup.outages.drains = {{1 * s, 0}, {4 * s, 1}};
        if (seed % 4 == 0) c.setup.prefill_replicas = 1;
    } else {
        c.setup.autoscale = {.least = 1,
                             .most = c.setup.replicas,
                             .target = 3,
                             .every = 0.7 * s,
                             .down_after = 2 * s,
                             .cold_start = 1.3 * s};
    }
    CAPTURE(seed);
    Result const simgrid = run(c, Clock::simgrid);
    check_same(run(c, Clock::loop), simgrid);
    check_conserved(simgrid.outcome, 400);
    ServingOutcome const& out = simgrid.outcome;
    CHECK(out.failures + out.drains + out.started > 0);
}

TEST_CASE("serve on simgrid: replicas that fail while caches are on shared links lose no token") {
    auto const seed = GENERATE(range(1, cases(5, 2)));
    Case c = apart(seed, 6);
    c.setup.outages = {.mtbf = 15 * s, .repair = 2 * s, .drained_for = 2 * s, .seed = static_cast<std::uint64_t>(seed)};
    CAPTURE(seed);
    Result const simgrid = run(c, Clock::simgrid);
    check_conserved(simgrid.outcome, 400);
    CHECK(simgrid.outcome.failures > 0);
    CHECK(simgrid.outcome.whole.transfers > 0);
}

TEST_CASE("serve on simgrid: caches that share links arrive when the loop says, to 1e-9, and so does all that follows",
          "[INV-71]") {
    auto const seed = GENERATE(range(1, cases(7, 3)));
    Case const c = apart(seed, 2 + 2 * (seed % 3));
    CAPTURE(seed);
    Result const loop = run(c, Clock::loop);
    Result const simgrid = run(c, Clock::simgrid);
    check_conserved(simgrid.outcome, 400);
    REQUIRE(loop.requests.size() == simgrid.requests.size());
    for (std::size_t i = 0; i < loop.requests.size(); ++i) {
        FinishedRequest const& ours = loop.requests[i];
        FinishedRequest const& theirs = simgrid.requests[i];
        REQUIRE(ours.number == theirs.number);
        REQUIRE(ours.replica == theirs.replica);
        REQUIRE(ours.first_token.base() == Approx(theirs.first_token.base()).epsilon(1e-9));
        REQUIRE(ours.finished.base() == Approx(theirs.finished.base()).epsilon(1e-9));
    }
    ServingTotals const& totals = simgrid.outcome.whole;
    CHECK(totals.transferring.base() == Approx(loop.outcome.whole.transferring.base()).epsilon(1e-7));
    CHECK(totals.transferring > 1.001 * totals.transferring_alone);  // or nothing was shared, and nothing compared
}

TEST_CASE("serve on simgrid: caches of several pools meet on the uplinks of a fat tree as in the loop", "[INV-71]") {
    auto const topology = GENERATE(ScaleOutTopology::rail_optimised, ScaleOutTopology::fat_tree);
    auto const router = GENERATE(Router::round_robin, Router::least_loaded);
    ServingCase what;
    what.model = find_model("llama-3.1-70b");
    what.cluster = find_cluster("h100-sxm", "test");
    what.cluster.scale_out->topology = topology;
    what.cluster.scale_out->pod_domains = 2;
    what.cluster.scale_out->oversubscription.value = 8;
    what.engine = find_engine("vllm", "test");
    what.plan.tp = 4;
    IterationModel const model(what);
    ModelledService service(model);
    service.connect(12);
    ServingSetup setup;
    constexpr std::int64_t requests = cases(600, 200);
    setup.limits = replica_limits(what, model.memory());
    setup.replicas = 12;
    setup.prefill_replicas = 7;
    setup.router = router;
    auto const run = [&](decltype(&simulate_serving) simulation) {
        SyntheticSource source({.rate = 30,
                                .prompt = length("lognormal:3000,1"),
                                .output = length("uniform:5-60"),
                                .requests = requests,
                                .longest = 32768});
        Result out;
        ServingHooks hooks;
        hooks.finished = [&](FinishedRequest const& request) { out.requests.push_back(request); };
        out.outcome = simulation(setup, service, source, hooks);
        return out;
    };
    Result const loop = run(simulate_serving);
    Result const simgrid = run(simulate_serving_on_simgrid);
    check_conserved(simgrid.outcome, requests);
    REQUIRE(loop.requests.size() == simgrid.requests.size());
    for (std::size_t i = 0; i < loop.requests.size(); ++i) {
        REQUIRE(loop.requests[i].number == simgrid.requests[i].number);
        REQUIRE(loop.requests[i].finished.base() == Approx(simgrid.requests[i].finished.base()).epsilon(1e-9));
    }
    ServingTotals const& totals = simgrid.outcome.whole;
    CHECK(totals.transferring > 1.01 * totals.transferring_alone);
    // Over rails the ranks of a cache never meet; below one tree they share an uplink.
    CHECK((service.transfer(1, {0}, {11}).disjoint_flows().size() > 1) == (topology == ScaleOutTopology::fat_tree));
}

TEST_CASE("serve on simgrid: caches between replicas that are cut differently arrive as in the loop", "[INV-71]") {
    ServingCase decodes;
    decodes.model = find_model("llama-3.1-70b");
    decodes.cluster = find_cluster("h100-sxm", "test");
    decodes.engine = find_engine("vllm", "test");
    decodes.plan.tp = 8;
    ServingCase prompts = decodes;
    prompts.plan.tp = 4;
    prompts.plan.pp = 2;
    IterationModel const model(decodes);
    IterationModel const of_prompts(prompts);
    ModelledService service(model);
    ModelledService const sender(of_prompts);
    service.connect(sender, 3, 2);
    ServingSetup setup;
    constexpr std::int64_t requests = cases(600, 200);
    setup.limits = replica_limits(decodes, model.memory());
    setup.prefill_limits = replica_limits(prompts, of_prompts.memory());
    setup.replicas = 5;
    setup.prefill_replicas = 3;
    auto const run = [&](decltype(&simulate_serving) simulation) {
        SyntheticSource source({.rate = 12,
                                .prompt = length("lognormal:3000,1"),
                                .output = length("uniform:5-60"),
                                .requests = requests,
                                .longest = 32768});
        Result out;
        ServingHooks hooks;
        hooks.finished = [&](FinishedRequest const& request) { out.requests.push_back(request); };
        out.outcome = simulation(setup, service, source, hooks);
        return out;
    };
    Result const loop = run(simulate_serving);
    Result const simgrid = run(simulate_serving_on_simgrid);
    check_conserved(simgrid.outcome, requests);
    REQUIRE(loop.requests.size() == simgrid.requests.size());
    for (std::size_t i = 0; i < loop.requests.size(); ++i) {
        REQUIRE(loop.requests[i].number == simgrid.requests[i].number);
        REQUIRE(loop.requests[i].finished.base() == Approx(simgrid.requests[i].finished.base()).epsilon(1e-9));
    }
    CHECK(simgrid.outcome.whole.transfers > 0);
}

TEST_CASE("serve on simgrid: the same seed gives the same bytes") {
    Case const c = apart(3, 4);
    Result const once = run(c, Clock::simgrid);
    Result const again = run(c, Clock::simgrid);
    check_same(once, again);
}

TEST_CASE("serve on simgrid: overload is found as by the loop, and a run that is stopped says so") {
    Case c;
    c.setup.limits.max_batch = 4;
    c.setup.limits.blocks = 1 << 12;
    c.workload = {.rate = 200, .prompt = length("50"), .output = length("20"), .requests = 20000, .longest = 400};
    Result const simgrid = run(c, Clock::simgrid);
    CHECK(simgrid.outcome.state == SteadyState::overloaded);
    check_same(run(c, Clock::loop), simgrid);

    std::atomic<bool> const stop = true;
    SyntheticSource source(c.workload);
    FixedService const service(10 * ms);
    CHECK(simulate_serving_on_simgrid(c.setup, service, source, {.stop = &stop}).interrupted);
}

TEST_CASE("serve on simgrid: bytes of an outcome are of its values, not of what an empty one held before") {
    ServingOutcome fresh;
    ServingOutcome used;
    used.capacity = 12.5;
    CHECK(bytes_of(fresh) != bytes_of(used));
    CHECK(outcome_from(bytes_of(used)).capacity == 12.5);
    used.capacity.reset();
    CHECK(bytes_of(fresh) == bytes_of(used));
    CHECK_FALSE(outcome_from(bytes_of(used)).capacity.has_value());
}

TEST_CASE("serve on simgrid: wrong input is said as by the loop") {
    Case c;
    c.setup.limits.max_batch = 0;
    CHECK_THROWS_AS(run(c, Clock::simgrid), InputError);
    Case many = apart(1, 4);
    many.setup.replicas = 1 << 10;
    many.setup.prefill_replicas = 1 << 9;
    CHECK_THROWS_WITH(run(many, Clock::simgrid), contains("too many for SimGrid"));
}

TEST_CASE("caches: ranks of a transfer that share no link are one flow, and no flow has a link twice") {
    CacheTransfer const together{.links = {0, 9, 1, 9, 2, 8}, .ends = {2, 4, 6}};
    std::vector<std::vector<std::int32_t>> const expected{{0, 9, 2, 8}, {1, 9}};
    CHECK(together.disjoint_flows() == expected);
    CacheTransfer const one{.links = {4, 5}};
    CHECK(one.disjoint_flows() == std::vector<std::vector<std::int32_t>>{{4, 5}});
}
