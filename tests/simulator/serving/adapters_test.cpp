#include "core/spec/engine_catalog.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "tests/catch.hpp"
#include "tests/simulator/serving/fixed_service.hpp"

#include <algorithm>
#include <list>
#include <map>
#include <utility>
#include <vector>

using namespace sextant;
using units::ms;
using units::s;

namespace {

ServingOutcome with_adapters(std::int64_t adapters, std::int64_t slots, FixedService const& service,
                             std::int64_t max_batch = 8) {
    ServingSetup setup;
    setup.limits.max_batch = max_batch;
    setup.limits.blocks = 1 << 16;
    setup.limits.adapter_slots = slots;
    setup.concurrency = 2 * max_batch;
    setup.warmup_share = 0;
    SyntheticSource source({.process = ArrivalProcess::closed,
                            .prompt = length_distribution_from("50", "test"),
                            .output = length_distribution_from("20", "test"),
                            .adapters = adapters,
                            .requests = 400,
                            .longest = 400});
    return simulate_serving(setup, service, source);
}

}  // namespace

TEST_CASE("adapters: loads of one request after another are the misses of a least-recently-used list") {
    auto const slots = GENERATE(1, 3, 7, 12);
    SyntheticSource source({.process = ArrivalProcess::closed,
                            .prompt = length_distribution_from("50", "test"),
                            .output = length_distribution_from("20", "test"),
                            .adapters = 12,
                            .requests = 400,
                            .longest = 400});
    std::list<std::int32_t> resident;
    std::int64_t misses = 0;
    while (auto const request = source.next()) {
        auto const found = std::find(resident.begin(), resident.end(), request->adapter);
        if (found == resident.end()) {
            ++misses;
            if (static_cast<int>(resident.size()) == slots) resident.pop_front();
        } else {
            resident.erase(found);
        }
        resident.push_back(request->adapter);
    }
    ServingOutcome const out = with_adapters(12, slots, FixedService(10 * ms), 1);
    CHECK(out.whole.counters.adapters_wanted == 400);
    CHECK(out.whole.counters.adapters_loaded == misses);
    CHECK((slots == 12) == (misses == 12));
}

TEST_CASE(
    "adapters: each load stops the replica for the time of its copy, and nothing else changes one after another") {
    FixedService service(10 * ms);
    ServingOutcome const free = with_adapters(12, 3, service, 1);
    service.adapter_copy = 7 * ms;
    ServingOutcome const paid = with_adapters(12, 3, service, 1);
    CHECK(paid.whole.counters.adapters_loaded == free.whole.counters.adapters_loaded);
    double const loads = static_cast<double>(paid.whole.counters.adapters_loaded);
    CHECK((paid.whole.at - free.whole.at).base() == Approx(0.007 * loads).epsilon(1e-9));
    CHECK(paid.whole.counters.copying.base() == Approx(0.007 * loads).epsilon(1e-9));
}

TEST_CASE("adapters: an iteration pays for the different ones among its sequences and for their tokens") {
    FixedService service(10 * ms);
    service.per_adapter = 1 * ms;
    service.per_adapter_token = 0.01 * ms;
    // One after another there is one adapter in each iteration.
    ServingOutcome const serial = with_adapters(5, 5, service, 1);
    auto const iterations = static_cast<double>(serial.whole.counters.iterations);
    CHECK(serial.whole.counters.busy.base() == Approx(0.011 * iterations + 0.01e-3 * 400 * (50 + 19)).epsilon(1e-9));
    // Eight at a time with one adapter between them pay for one, however many take part.
    ServingOutcome const same = with_adapters(1, 1, service, 8);
    CHECK(
        same.whole.counters.busy.base() ==
        Approx(0.011 * static_cast<double>(same.whole.counters.iterations) + 0.01e-3 * 400 * (50 + 19)).epsilon(1e-9));
}

TEST_CASE("adapters: with fewer slots than adapters the batch is narrower, and nothing is lost") {
    FixedService const service(10 * ms);
    ServingOutcome const all = with_adapters(40, 40, service);
    ServingOutcome const few = with_adapters(40, 2, service);
    for (ServingOutcome const* out : {&all, &few}) {
        CHECK(out->whole.finished == 400);
        CHECK(out->whole.counters.tokens_out == out->asked_tokens);
        CHECK(out->blocks_taken == out->blocks_given);
        CHECK(out->whole.in_system == Approx(out->e2e_sum.base()).epsilon(1e-9));
    }
    CHECK(all.whole.counters.adapters_loaded == 40);
    CHECK(few.whole.counters.adapters_loaded > 200);
    CHECK(few.whole.at > all.whole.at);
    // Never more than two adapters at a time: with distinct ones mostly two sequences run.
    CHECK(few.whole.running / few.whole.at.base() < 3);
}

namespace {

ServingRequest of_adapter(std::int32_t adapter, Seconds arrival, std::int32_t output) {
    return {.arrival = arrival, .prompt = 50, .output = output, .adapter = adapter};
}

/// Those of one replica with one adapter slot, in order of their first iterations.
std::vector<FinishedRequest> in_order_of_start(std::vector<ServingRequest> const& requests, char const* scheduler) {
    ServingSetup setup;
    setup.limits.scheduler = scheduler_from(scheduler, "test");
    setup.limits.max_batch = 4;
    setup.limits.blocks = 1 << 16;
    setup.limits.adapter_slots = 1;
    setup.warmup_share = 0;
    setup.tenants = 2;
    ListedSource source(requests);
    FixedService const service(10 * ms);
    std::vector<FinishedRequest> out;
    simulate_serving(setup, service, source,
                     {.finished = [&](FinishedRequest const& request) { out.push_back(request); }});
    std::stable_sort(out.begin(), out.end(), [](FinishedRequest const& a, FinishedRequest const& b) {
        return std::pair(a.scheduled, a.number) < std::pair(b.scheduled, b.number);
    });
    return out;
}

}  // namespace

TEST_CASE(
    "adapters: a request that waits for a slot lets those pass whose adapter is there, and stays before its own") {
    auto const* const scheduler = GENERATE("chunked", "fcfs", "prefill-first", "priority", "fair");
    CAPTURE(scheduler);
    auto const out =
        in_order_of_start({of_adapter(0, 0 * s, 100), of_adapter(1, 0.1 * s, 10), of_adapter(1, 0.2 * s, 10),
                           of_adapter(0, 0.3 * s, 10), of_adapter(-1, 0.4 * s, 10)},
                          scheduler);
    REQUIRE(out.size() == 5);
    std::vector<std::int64_t> numbers;
    for (FinishedRequest const& request : out)
        numbers.push_back(request.number);
    CHECK(numbers == std::vector<std::int64_t>{0, 3, 4, 1, 2});
    CHECK(out[1].scheduled.base() == Approx(0.3).epsilon(0.05));
    CHECK(out[3].scheduled >= out[0].finished);
}

TEST_CASE("adapters: a rare one is overtaken by no more than the limit, however busy the others are") {
    auto const* const scheduler = GENERATE("chunked", "fair");
    CAPTURE(scheduler);
    std::vector<ServingRequest> requests;
    for (int i = 0; i < 600; ++i)
        requests.push_back(of_adapter(i == 20 ? 1 : 0, i * 40 * ms, 10));
    requests[20].tenant = 1;
    auto const out = in_order_of_start(requests, scheduler);
    REQUIRE(out.size() == requests.size());
    auto const rare = std::find_if(out.begin(), out.end(), [](auto const& r) { return r.number == 20; });
    auto const overtaking = rare - out.begin() - 20;
    CHECK(overtaking == adapter_lookahead);
}

TEST_CASE("adapters: bytes of rank 16 on Llama 3.1 8B are those of its published adapters") {
    ServingCase what;
    what.model = find_model("llama-3.1-8b");
    what.cluster = find_cluster("h100-sxm", "test");
    what.engine = find_engine("vllm", "test");
    // r (in + out) of q, k, v, o, gate, up and down: 41,943,040 parameters in 32 layers, as PEFT prints them.
    CHECK(adapter_cost(what, 16).bytes.base() == 2 * 41943040.0);
    CHECK(adapter_cost(what, 16).products == 7 * 32);
    CHECK(adapter_cost(what, 32).bytes == 2 * adapter_cost(what, 16).bytes);
    AdapterCost const whole = adapter_cost(what, 16);
    what.plan.tp = 4;
    AdapterCost const cut = adapter_cost(what, 16);
    CHECK(cut.bytes < 0.6 * whole.bytes);
    CHECK(cut.bytes > 0.25 * whole.bytes);
    // Few tokens: the adapters are read. Many tokens of one adapter: its products.
    Seconds const gaps = whole.kernel_gap * (2 * whole.products);
    CHECK((whole.stage_time(10, 10) - gaps).base() == Approx((whole.bytes * 10.0 / whole.memory).base()));
    CHECK((whole.stage_time(1, 1e6) - gaps).base() ==
          Approx(2 * 41943040.0 * 1e6 / whole.compute.base()).epsilon(1e-9));
    CHECK_THROWS(adapter_cost(what, 0));
    CHECK_THROWS(adapter_cost(what, 5000));
}

TEST_CASE("adapters: every attention group has slots of its own, and loads over its own links") {
    auto const run = [](std::int64_t groups, std::vector<ServingRequest> const& requests) {
        ServingSetup setup;
        setup.limits.max_batch = 8 * groups;
        setup.limits.groups = groups;
        setup.limits.blocks = 1 << 16;
        setup.limits.adapter_slots = 1;
        setup.warmup_share = 0;
        ListedSource source(requests);
        FixedService service(10 * ms);
        service.adapter_copy = 7 * ms;
        return simulate_serving(setup, service, source);
    };
    std::vector<ServingRequest> const two{of_adapter(0, 0 * s, 10), of_adapter(1, 0 * s, 10)};
    // One slot: one after the other. Two groups: side by side, and neither waits for the copy of the other.
    CHECK(run(1, two).whole.at.in(ms) == Approx(2 * (10 * 10 + 7)));
    ServingOutcome const apart = run(2, two);
    CHECK(apart.whole.at.in(ms) == Approx(10 * 10 + 7));
    CHECK(apart.whole.counters.adapters_loaded == 2);
    CHECK(apart.whole.counters.copying.in(ms) == Approx(7));
    // A third goes to the group that has its adapter.
    ServingOutcome const three = run(2, {of_adapter(0, 0 * s, 10), of_adapter(1, 0 * s, 10), of_adapter(1, 0 * s, 10)});
    CHECK(three.whole.at.in(ms) == Approx(10 * 10 + 7));
    CHECK(three.whole.counters.adapters_loaded == 2);
    // The same adapter is copied to both.
    CHECK(run(2, {of_adapter(0, 0 * s, 10), of_adapter(0, 0 * s, 10)}).whole.counters.adapters_loaded == 2);
}
