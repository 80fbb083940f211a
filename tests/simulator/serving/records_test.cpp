#include "simulator/serving/latency_record.hpp"
#include "simulator/serving/overload_watch.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/seeds.hpp"

#include <array>

using namespace sextant;
using namespace sextant::fixtures;

TEST_CASE("overload watch: arrivals a second are those from the middle sample on") {
    std::mt19937_64 random(seeded(4));
    for (std::size_t const samples : {2, 3, 40, 41}) {
        OverloadWatch watch(1);
        std::vector<double> times{0};
        for (std::size_t i = 0; i < samples; ++i) {
            watch.sample(times.back() * units::s, static_cast<std::int64_t>(20 * i), 0, 0);
            if (i + 1 < samples) times.push_back(times.back() + uniform(random, 0.5, 2));
        }
        std::size_t const middle = (samples - 1) / 2;
        double const arrived = 20 * static_cast<double>(samples - 1 - middle);
        CHECK(watch.arrived_per_second() == Approx(arrived / (times.back() - times[middle])));
    }
}

TEST_CASE("latency record: a tenant's tokens are those of its own measured requests") {
    std::mt19937_64 random(seeded(8));
    constexpr std::int64_t first_measured = 10;
    LatencyRecord record({}, first_measured, 3);
    std::array<std::int64_t, 3> requests{}, prompts{}, outputs{};
    for (int i = 0; i < 200; ++i) {
        FinishedRequest r;
        r.number = i;
        r.request.tenant = static_cast<std::int32_t>(random() % 3);
        r.request.prompt = static_cast<std::int32_t>(1 + random() % 1000);
        r.request.output = static_cast<std::int32_t>(1 + random() % 100);
        r.request.arrival = i * units::s;
        r.scheduled = r.first_token = (i + 1) * units::s;
        r.finished = (i + 2) * units::s;
        record.add(r);
        if (i < first_measured) continue;
        auto const tenant = static_cast<std::size_t>(r.request.tenant);
        ++requests[tenant];
        prompts[tenant] += r.request.prompt;
        outputs[tenant] += r.request.output;
    }
    ServingOutcome out;
    record.conclude(out);
    REQUIRE(out.tenants.size() == 3);
    for (std::size_t t = 0; t < 3; ++t) {
        CHECK(out.tenants[t].measured == requests[t]);
        CHECK(out.tenants[t].prompt_tokens == prompts[t]);
        CHECK(out.tenants[t].output_tokens == outputs[t]);
    }
}

TEST_CASE("serving totals: the difference of two is what happened between them") {
    ServingTotals before, after;
    before.at = 3 * units::s;
    before.arrived = 5;
    before.finished = 2;
    after.at = 10 * units::s;
    after.arrived = 25;
    after.finished = 20;
    ServingTotals const between = after - before;
    CHECK(between.at == 7 * units::s);
    CHECK(between.arrived == 20);
    CHECK(between.finished == 18);
}
