#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/simulator/serving/conserved.hpp"

#include <vector>

using namespace sextant;
using units::ms;
using units::s;

namespace {

/// Sixteen in flight where three to four fit: every one is preempted some time.
ServingOutcome crowded(PreemptionPolicy policy, std::int64_t host_blocks, Seconds copied_token = {},
                       std::int64_t groups = 1) {
    ServingSetup setup;
    setup.limits.max_batch = 16 * groups;
    setup.limits.groups = groups;
    setup.limits.blocks = 40;
    setup.limits.preemption = policy;
    setup.limits.host_blocks = host_blocks;
    setup.concurrency = 16 * groups;
    SyntheticSource source({.process = ArrivalProcess::closed,
                            .prompt = length_distribution_from("60", "test"),
                            .output = length_distribution_from("100", "test"),
                            .requests = 300,
                            .longest = 400});
    FixedService service(10 * ms, 0.1 * ms);
    service.copied_token = copied_token;
    return simulate_serving(setup, service, source);
}

}  // namespace

TEST_CASE("swap: with room on the host no token is computed twice, and what goes out comes back at the price of both") {
    ServingOutcome const out = crowded(PreemptionPolicy::swap, 1 << 20, 0.01 * ms);
    check_conserved(out, 300);
    ReplicaCounters const& c = out.whole.counters;
    CHECK(c.preemptions > 50);
    CHECK(c.swaps == c.preemptions);
    CHECK(c.recomputed_tokens == 0);
    CHECK(c.prompt_tokens == 300 * 60);
    CHECK(c.copying.base() == Approx(2 * 0.01e-3 * static_cast<double>(c.swapped_tokens)).epsilon(1e-9));
    CHECK(out.host_blocks_taken >= c.swapped_tokens / 16);
    // A serial replica: the busy time is that of its iterations, their prompt tokens and the copies, and nothing else.
    CHECK(c.busy.base() ==
          Approx(0.01 * static_cast<double>(c.iterations) + 0.1e-3 * 300 * 60 + c.copying.base()).epsilon(1e-9));
}

TEST_CASE("swap: without a host cache it is recompute, to the bit") {
    ServingOutcome const none = crowded(PreemptionPolicy::swap, 0);
    ServingOutcome const recompute = crowded(PreemptionPolicy::recompute, 0);
    CHECK(none.whole.counters.swaps == 0);
    CHECK(none.whole.counters.recomputed_tokens == recompute.whole.counters.recomputed_tokens);
    CHECK(none.whole.at == recompute.whole.at);
    CHECK(none.e2e.p99 == recompute.e2e.p99);
}

TEST_CASE("swap: a host cache that is too small takes some sequences, the others are computed again") {
    ServingOutcome const out = crowded(PreemptionPolicy::swap, 12);
    check_conserved(out, 300);
    ReplicaCounters const& c = out.whole.counters;
    CHECK(c.swaps > 0);
    CHECK(c.swaps < c.preemptions);
    CHECK(c.recomputed_tokens > 0);
    // Preempted ones come back for one token more than they had in the cache.
    CHECK(c.prompt_tokens == 300 * 60 + c.recomputed_tokens + c.preemptions - c.swaps);
}

TEST_CASE("swap: free copies are never slower than computing again, copies slower than computing are") {
    Seconds const again = crowded(PreemptionPolicy::recompute, 0).whole.at;
    CHECK(crowded(PreemptionPolicy::swap, 1 << 20, {}).whole.at < again);
    CHECK(crowded(PreemptionPolicy::swap, 1 << 20, 1 * ms).whole.at > again);
}

TEST_CASE("swap: groups copy over links of their own, so that a replica waits for the one that copies most") {
    ServingOutcome const out = crowded(PreemptionPolicy::swap, 1 << 20, 0.01 * ms, 4);
    check_conserved(out, 300);
    ReplicaCounters const& c = out.whole.counters;
    CHECK(c.swaps > 50);
    double const one_after_another = 2 * 0.01e-3 * static_cast<double>(c.swapped_tokens);
    CHECK(c.copying.base() < 0.9 * one_after_another);
    CHECK(c.copying.base() >= 0.99 * one_after_another / 4);
}
