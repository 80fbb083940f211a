#include "simulator/serving/host_prefixes.hpp"
#include "tests/catch.hpp"
#include "tests/simulator/serving/conserved.hpp"
#include "tests/simulator/serving/fixed_service.hpp"

#include <cstdint>

using namespace sextant;
using units::ms;

namespace {

/// Twelve prefixes of 992 tokens in whole blocks, in a cache with room for three of them beside no request.
ServingOutcome many_prefixes(std::int64_t host_blocks, Seconds copied_token = {}, std::int64_t groups = 1) {
    ServingSetup setup;
    setup.limits.blocks = 200;
    setup.limits.groups = groups;
    setup.limits.max_batch = 16 * groups;
    setup.limits.host_prefix_blocks = host_blocks;
    SyntheticSource source({.rate = 3,
                            .prompt = length("40"),
                            .output = length("20"),
                            .prefixes = 12,
                            .prefix_tokens = 1000,
                            .requests = 3000,
                            .longest = 2000});
    FixedService service(10 * ms, 0.1 * ms);
    service.copied_token = copied_token;
    return simulate_serving(setup, service, source);
}

double found(ServingOutcome const& o) {
    return static_cast<double>(o.whole.counters.cached_tokens) / static_cast<double>(o.whole.counters.wanted_tokens);
}

}  // namespace

TEST_CASE("host prefixes: those wanted longest ago give way, and none that is larger than the room is kept") {
    HostPrefixes host(10);
    host.keep(1, 4);
    host.keep(2, 4);
    CHECK(host.find(1) == 4);
    host.keep(1, 4);  // wanted again
    host.keep(3, 4);
    CHECK(host.find(2) == 0);
    CHECK(host.find(1) == 4);
    CHECK(host.find(3) == 4);
    CHECK(host.in_use() == 8);
    host.keep(4, 11);
    CHECK(host.find(4) == 0);
    CHECK(host.find(1) == 4);
    host.keep(5, 10);
    CHECK(host.in_use() == 10);
    CHECK(host.find(1) + host.find(3) == 0);
    host.clear();
    CHECK(host.in_use() == 0);
    CHECK(host.find(5) == 0);
}

TEST_CASE("host prefixes: with room for all each is computed once, and what the cache lost is read") {
    constexpr std::int64_t whole = 62 * 16;
    for (std::int64_t const groups : {1, 2}) {
        CAPTURE(groups);
        ServingOutcome const none = many_prefixes(0, {}, groups);
        ServingOutcome const all = many_prefixes(12 * 62, {}, groups);
        check_conserved(none, 3000);
        check_conserved(all, 3000);
        CHECK(none.whole.counters.loaded_tokens == 0);
        CHECK(found(none) < 0.6);
        // Computed once by each group, and again by those that came before its first was through.
        CHECK(found(all) > 0.98 * whole / 1040);
        CHECK(all.whole.counters.loaded_tokens > 0);
        CHECK(all.whole.counters.loaded_tokens % whole == 0);
        CHECK(all.ttft.mean < none.ttft.mean);
    }
}

TEST_CASE("host prefixes: more room never finds less, and none is no room") {
    double before = -1;
    for (std::int64_t const prefixes : {0, 3, 6, 9, 12}) {
        CAPTURE(prefixes);
        double const now = found(many_prefixes(prefixes * 62));
        CHECK(now >= before);
        before = now;
    }
    ServingOutcome const too_small = many_prefixes(61);
    CHECK(too_small.whole.counters.loaded_tokens == 0);
    CHECK(too_small.whole.at == many_prefixes(0).whole.at);
}

TEST_CASE("host prefixes: an iteration runs beside the reading of a prefix and takes no less") {
    ServingOutcome const free = many_prefixes(12 * 62);
    // 992 tokens in 3.97 ms hide behind the 4.8 ms of the prompt that follows them; in 29.8 ms they do not.
    ServingOutcome const hidden = many_prefixes(12 * 62, 0.004 * ms);
    ServingOutcome const slow = many_prefixes(12 * 62, 0.03 * ms);
    CHECK(hidden.whole.at == free.whole.at);
    CHECK(hidden.ttft.mean == free.ttft.mean);
    CHECK(slow.ttft.mean > free.ttft.mean);
    // Some 48 tokens of a prompt are computed beside it: 10 + 4.8 ms of the 29.8.
    double const reads = static_cast<double>(slow.whole.counters.loaded_tokens) / 992;
    CHECK(slow.whole.counters.busy.base() - 0.01 * static_cast<double>(slow.whole.counters.iterations) -
              0.1e-3 * static_cast<double>(slow.whole.counters.prompt_tokens) ==
          Approx(reads * (29.76 - 14.8) * 1e-3).epsilon(0.1));
}
