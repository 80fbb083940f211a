#include "planner/rl/asynchronous.hpp"
#include "tests/catch.hpp"
#include "tests/planner/rl/rl_case.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace sextant;

namespace {

constexpr double plenty = 1e7;

IterationModel const& engine_model() {
    static IterationModel const model(small_engine());
    return model;
}

RolloutFleet fleet(std::int64_t replicas, std::int64_t slots = 256) {
    return {.model = engine_model(),
            .replicas = replicas,
            .prompt = {.tokens = 200, .fresh = 25},
            .limits = {.sequences = slots, .cache_tokens = plenty}};
}

double sum(std::vector<std::int64_t> const& lengths) {
    return static_cast<double>(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}));
}

ResponseLengths lognormal(double variation) {
    return {.kind = LengthKind::lognormal, .mean = 600, .variation = variation, .maximum = 8000};
}

}  // namespace

TEST_CASE("output_lengths: slices keep the mean whatever the tail, and never exceed the maximum") {
    double const variation = GENERATE(0.0, 0.1, 0.5, 1.0, 3.0);
    ResponseLengths const d{.kind = LengthKind::lognormal, .mean = 600, .variation = variation, .maximum = 2000};
    auto const lengths = draw_lengths(d, 512, Drawing::strata, 7);
    REQUIRE(lengths.size() == 512);
    CHECK(sum(lengths) / 512 == Approx(600).epsilon(2e-3));
    CHECK(*std::max_element(lengths.begin(), lengths.end()) <= 2001);
    CHECK(*std::min_element(lengths.begin(), lengths.end()) >= 1);
}

TEST_CASE("output_lengths: draws come near the mean and the deviation, and equal seeds are equal") {
    ResponseLengths const d{.kind = LengthKind::uniform, .mean = 500, .variation = 0.4, .maximum = 1000};
    auto const lengths = draw_lengths(d, 20000, Drawing::random, 3);
    double const mean = sum(lengths) / 20000;
    double square = 0;
    for (std::int64_t const n : lengths)
        square += (static_cast<double>(n) - mean) * (static_cast<double>(n) - mean) / 20000;
    CHECK(mean == Approx(500).epsilon(0.01));
    CHECK(std::sqrt(square) == Approx(200).epsilon(0.02));
    CHECK(lengths == draw_lengths(d, 20000, Drawing::random, 3));
    CHECK(lengths != draw_lengths(d, 20000, Drawing::random, 4));
}

TEST_CASE("output_lengths: distributions that cannot be are refused") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    for (ResponseLengths const& d :
         {ResponseLengths{LengthKind::lognormal, 0, 0.5, 100}, ResponseLengths{LengthKind::lognormal, 200, 0.5, 100},
          ResponseLengths{LengthKind::lognormal, nan, 0.5, 100}, ResponseLengths{LengthKind::lognormal, 50, nan, 100},
          ResponseLengths{LengthKind::lognormal, 50, -1, 100}, ResponseLengths{LengthKind::uniform, 50, 0.6, 200},
          ResponseLengths{LengthKind::uniform, 50, 0.5, 60}, ResponseLengths{LengthKind::fixed, 1e12, 0, 1e12}})
        CHECK_THROWS_AS(check_lengths(d), InputError);
    CHECK_THROWS_WITH(length_kind_from("lognromal", "--lengths"), contains("lognormal"));
}

TEST_CASE("generation: responses of one length take their prompt and the sum of their decode iterations") {
    std::int64_t const tokens = GENERATE(1, 2, 40, 700);
    IterationModel const& model = engine_model();
    double const n = 100;
    Seconds sum_of_iterations =
        model({.prefill_tokens = n * 25, .prefill_attention = n * model.prefill_attention(175, 25), .samples = n})
            .total();
    for (std::int64_t i = 1; i < tokens; ++i)
        sum_of_iterations +=
            model({.decodes = n, .decode_context = n * (200 + static_cast<double>(i)), .samples = n}).total();
    BatchGeneration const batch = generate_batch(fleet(1), std::vector<std::int64_t>(100, tokens));
    CHECK(batch.time / sum_of_iterations == Approx(1).epsilon(1e-3));
    CHECK(batch.time / batch.even == Approx(1));
    CHECK(batch.tokens == 100.0 * static_cast<double>(tokens));
}

TEST_CASE("generation: every token that is asked for is generated, whatever the fleet") {
    auto const lengths = draw_lengths(lognormal(1), 300, Drawing::random, GENERATE(1, 2, 3));
    for (std::int64_t const replicas : {1, 3, 8})
        for (std::int64_t const slots : {7, 256}) {
            BatchGeneration const batch = generate_batch(fleet(replicas, slots), lengths);
            CHECK(batch.tokens == sum(lengths));
            CHECK(batch.responses == 300);
            CHECK(batch.mean_batch <= static_cast<double>(slots));
            CHECK(batch.mean_busy <= batch.time);
        }
}

TEST_CASE("generation: a longer tail never shortens it at the same mean") {
    Seconds before;
    for (double const variation : {0.0, 0.2, 0.4, 0.8, 1.6}) {
        auto const lengths = draw_lengths(lognormal(variation), 256, Drawing::strata, 5);
        Seconds const time = generate_batch(fleet(2), lengths).time;
        CHECK(time >= before * 0.999);
        before = time;
    }
}

TEST_CASE("generation: more replicas and more room are never slower") {
    auto const lengths = draw_lengths(lognormal(0.6), 256, Drawing::strata, 5);
    Seconds const one = generate_batch(fleet(1), lengths).time;
    CHECK(generate_batch(fleet(4), lengths).time < one);
    CHECK(generate_batch(fleet(1, 32), lengths).time > one);
    RolloutFleet narrow = fleet(1);
    narrow.limits.cache_tokens = 20'000;
    CHECK(generate_batch(narrow, lengths).time > one);
    narrow.limits.cache_tokens = 1000;
    CHECK_THROWS_WITH(generate_batch(narrow, lengths), contains("does not fit the cache"));
}

TEST_CASE(
    "saturated_generation: engines that never run dry are not slower than batch after batch, whatever the lengths") {
    auto const kind = GENERATE(LengthKind::fixed, LengthKind::uniform, LengthKind::lognormal);
    auto const mean = GENERATE(30.0, 400.0);
    std::int64_t const replicas = GENERATE(1, 3);
    std::int64_t const slots = GENERATE(16, 256);
    double const variation = kind == LengthKind::fixed ? 0 : 0.5;
    auto const lengths =
        draw_lengths({.kind = kind, .mean = mean, .variation = variation, .maximum = 4000}, 512, Drawing::strata, 5);
    CAPTURE(static_cast<int>(kind), mean, replicas, slots);
    Seconds const limit = saturated_generation(fleet(replicas, slots), lengths);
    CHECK(limit <= generate_batch(fleet(replicas, slots), lengths).time * 1.02);
    CHECK(limit >= generate_batch(fleet(replicas, slots), lengths).time * 0.1);
}

TEST_CASE("asynchronous: without a bound the slower side sets the pace, and is never beaten") {
    auto const lengths = draw_lengths(lognormal(0.8), 256, Drawing::strata, 5);
    Seconds const limit = saturated_generation(fleet(2), lengths);
    for (double const ratio : {0.1, 0.7, 1.5, 4.0}) {
        Seconds const train = ratio * limit;
        AsynchronousStep const step =
            run_asynchronously(fleet(2), lengths, {.staleness = 32, .train = train, .pause = {}});
        CAPTURE(ratio);
        CHECK(step.step >= std::max(limit, train) * (1 - 1e-9));
        CHECK(step.step <= std::max(limit, train) * 1.03);
    }
}

TEST_CASE("asynchronous: a staleness of zero is one side after the other") {
    auto const lengths = draw_lengths(lognormal(0.8), 256, Drawing::strata, 5);
    RolloutFleet const engines = fleet(1);
    Seconds const generation = generate_batch(engines, lengths).time;
    Seconds const train = GENERATE(0.3, 3.0) * generation;
    // The engines pause while the weights are sent, which is the last part of training.
    Seconds const pause = GENERATE(0.0, 0.1, 0.5) * train;
    AsynchronousStep const step =
        run_asynchronously(engines, lengths, {.staleness = 0, .train = train, .pause = pause});
    CHECK(step.step / (generation + train) == Approx(1).epsilon(0.01));
    REQUIRE(step.age.size() == 1);
    CHECK(step.mean_age() == 0);
}

TEST_CASE("asynchronous: no response is older than the bound, the shares are whole, and a looser bound is not slower") {
    auto const lengths = draw_lengths(lognormal(0.8), 256, Drawing::strata, 5);
    Seconds const train = GENERATE(0.5, 1.0, 2.0) * generate_batch(fleet(3), lengths).time;
    Seconds before = Seconds::from_base(std::numeric_limits<double>::infinity());
    for (std::int64_t const bound : {0, 1, 2, 4, 8}) {
        AsynchronousStep const step =
            run_asynchronously(fleet(3), lengths, {.staleness = bound, .train = train, .pause = 0.01 * train});
        CAPTURE(bound);
        CHECK(static_cast<std::int64_t>(step.age.size()) <= bound + 1);
        CHECK(std::accumulate(step.age.begin(), step.age.end(), 0.0) == Approx(1));
        CHECK(step.step <= before * (1 + 1e-9));  // sums in another order
        CHECK(step.generating <= 1);
        CHECK(step.training <= 1);
        before = step.step;
    }
}

TEST_CASE("asynchronous: a looser bound is never slower, nor slower than waiting for each other after every batch") {
    LengthKind const kind = GENERATE(LengthKind::fixed, LengthKind::lognormal);
    ResponseLengths const drawn{.kind = kind, .mean = 600, .variation = 0.7, .maximum = 3000};
    auto const lengths = draw_lengths(drawn, 256, Drawing::strata, 5);
    Seconds const generation = generate_batch(fleet(3), lengths).time;
    Seconds const train = GENERATE(0.4, 0.9, 1.3) * generation;
    Seconds const pause = 0.02 * train;
    Seconds before = std::max(generation, train - pause) + pause;
    for (std::int64_t bound = 1; bound <= 6; ++bound) {
        CAPTURE(bound, name_of(kind));
        Seconds const step =
            run_asynchronously(fleet(3), lengths, {.staleness = bound, .train = train, .pause = pause}).step;
        CHECK(step <= before * 1.001);
        before = step;
    }
}
