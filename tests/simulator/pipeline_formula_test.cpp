#include "simulator/pipeline_formula.hpp"

#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/seeds.hpp"
#include "tests/simulator/pipeline_walk.hpp"

using namespace sextant;
using namespace sextant::fixtures;

namespace {

struct Case {
    Schedule schedule = Schedule::gpipe;
    std::size_t p = 1;
    std::size_t v = 1;
    std::size_t m = 1;
};

Case random_case(std::mt19937_64& random) {
    Case c;
    c.schedule = pick(random, {Schedule::gpipe, Schedule::one_f_one_b, Schedule::interleaved});
    c.p = 1 + random() % 12;
    c.m = 1 + random() % 40;
    if (c.schedule == Schedule::interleaved) {
        c.p = 2 + random() % 8;
        c.v = 2 + random() % 4;
        c.m = c.p * (1 + random() % 5);
    }
    return c;
}

PipelineTime formula(Case const& c, std::vector<double> const& forward, std::vector<double> const& backward) {
    std::vector<StageTimes> stages;
    for (std::size_t i = 0; i < forward.size(); ++i)
        stages.push_back({.forward = forward[i] * units::s, .backward = backward[i] * units::s});
    return pipeline_time(c.schedule, stages, static_cast<std::int64_t>(c.m), static_cast<std::int64_t>(c.v));
}

}  // namespace

TEST_CASE("pipeline_time: uniform stages take as long as the schedule carried out task by task", "[INV-22]") {
    std::mt19937_64 random(seeded(1));
    for (int i = 0; i < 500; ++i) {
        Case const c = random_case(random);
        std::vector<double> const forward(c.p, uniform(random, 0.1, 1)), backward(c.p, uniform(random, 0.1, 3));
        CAPTURE(name_of(c.schedule), c.p, c.v, c.m);
        CHECK(formula(c, forward, backward).total().base() ==
              Approx(walk_pipeline(c.schedule, forward, backward, c.m, c.v).makespan).epsilon(1e-12));
    }
}

TEST_CASE("pipeline_time: uniform bubbles are (p - 1) / (m v) of the work", "[INV-22]") {
    // arXiv:2104.04473 sec. 2.2: bubble time over ideal time.
    std::mt19937_64 random(seeded(2));
    for (int i = 0; i < 200; ++i) {
        Case const c = random_case(random);
        std::vector<double> const forward(c.p, 1), backward(c.p, 2);
        PipelineTime const time = formula(c, forward, backward);
        CHECK(time.busy.base() == Approx(3.0 * static_cast<double>(c.m)));
        CHECK(time.bubble / time.busy ==
              Approx(static_cast<double>(c.p - 1) / static_cast<double>(c.m * c.v)).margin(1e-12));
    }
}

TEST_CASE("pipeline_time: a slow first or last stage under 1F1B is exact with at least as many microbatches as stages",
          "[INV-22]") {
    std::mt19937_64 random(seeded(3));
    for (int i = 0; i < 300; ++i) {
        Case c{.schedule = Schedule::one_f_one_b, .p = 2 + random() % 10};
        c.m = c.p + random() % 40;
        double const f = uniform(random, 0.1, 1), b = uniform(random, 0.1, 2), slower = uniform(random, 1, 3);
        std::vector<double> forward(c.p, f), backward(c.p, b);
        std::size_t const slow = random() % 2 == 0 ? 0 : c.p - 1;
        forward[slow] *= slower;
        backward[slow] *= slower;
        CAPTURE(c.p, c.m, slow, f, b, slower);
        CHECK(formula(c, forward, backward).total().base() ==
              Approx(walk_pipeline(c.schedule, forward, backward, c.m, 1).makespan).epsilon(1e-12));
    }
}

TEST_CASE("pipeline_time: uneven stages are exact under GPipe, and never overestimated under any schedule",
          "[INV-22]") {
    std::mt19937_64 random(seeded(4));
    for (int i = 0; i < 1000; ++i) {
        Case const c = random_case(random);
        double const spread = pick(random, {0.1, 0.3, 1.0});
        double const ratio = pick(random, {0.5, 1.0, 2.0, 3.0});
        std::vector<double> forward(c.p), backward(c.p);
        for (std::size_t r = 0; r < c.p; ++r) {
            forward[r] = uniform(random, 1, 1 + spread);
            backward[r] = ratio * forward[r];
        }
        double const walked = walk_pipeline(c.schedule, forward, backward, c.m, c.v).makespan;
        double const total = formula(c, forward, backward).total().base();
        CAPTURE(name_of(c.schedule), c.p, c.v, c.m, spread, ratio);
        CHECK(total <= walked * (1 + 1e-12));
        // How far below: nothing, 3 % where stages differ by up to a factor of two, 10 % with chunks.
        double const tolerance = c.schedule == Schedule::gpipe         ? 1e-12
                                 : c.schedule == Schedule::one_f_one_b ? 0.03
                                                                       : 0.10;
        CHECK(total >= walked * (1 - tolerance));
    }
}

TEST_CASE("pipeline_time: a run of equal stages counts as that many stages", "[INV-22]") {
    std::mt19937_64 random(seeded(5));
    for (int i = 0; i < 100; ++i) {
        Case c = random_case(random);
        c.p = 3 + random() % 6;
        std::vector<double> forward(c.p, 1), backward(c.p, 2);
        forward.front() = backward.front() = 1.25;
        forward.back() = 1.5;
        StageTimes const folded[] = {
            {.forward = 1.25 * units::s, .backward = 1.25 * units::s},
            {.forward = 1 * units::s, .backward = 2 * units::s, .count = static_cast<std::int64_t>(c.p) - 2},
            {.forward = 1.5 * units::s, .backward = 2 * units::s}};
        PipelineTime const time =
            pipeline_time(c.schedule, folded, static_cast<std::int64_t>(c.m), static_cast<std::int64_t>(c.v));
        CHECK(time.total().base() == Approx(formula(c, forward, backward).total().base()).epsilon(1e-12));
        CHECK(time.slowest == 2);
    }
}

TEST_CASE("pipeline_time: one stage has no bubble", "[INV-22]") {
    StageTimes const one[] = {{.forward = 1 * units::s, .backward = 2 * units::s}};
    for (Schedule const schedule : {Schedule::gpipe, Schedule::one_f_one_b}) {
        CHECK(pipeline_time(schedule, one, 7, 1).bubble.base() == Approx(0).margin(1e-12));
        CHECK(pipeline_time(schedule, one, 7, 1).busy.base() == Approx(21));
    }
}

TEST_CASE("microbatches_in_flight: what the schedule carried out task by task holds at its peak", "[INV-23]") {
    std::mt19937_64 random(seeded(6));
    for (int i = 0; i < 300; ++i) {
        Case const c = random_case(random);
        WalkResult const walk =
            walk_pipeline(c.schedule, std::vector<double>(c.p, 1), std::vector<double>(c.p, 2), c.m, c.v);
        for (std::size_t rank = 0; rank < c.p; ++rank) {
            CAPTURE(name_of(c.schedule), c.p, c.v, c.m, rank);
            CHECK(static_cast<double>(c.v) *
                      microbatches_in_flight(c.schedule, static_cast<std::int64_t>(c.p), static_cast<std::int64_t>(c.v),
                                             static_cast<std::int64_t>(c.m), static_cast<std::int64_t>(rank)) ==
                  Approx(static_cast<double>(walk.most_held[rank])));
        }
    }
}

TEST_CASE("microbatches_in_flight: the first rank holds the most", "[INV-23]") {
    for (Schedule const schedule : {Schedule::gpipe, Schedule::one_f_one_b, Schedule::interleaved})
        for (std::int64_t rank = 1; rank < 8; ++rank)
            CHECK(microbatches_in_flight(schedule, 8, schedule == Schedule::interleaved ? 2 : 1, 32, rank) <=
                  microbatches_in_flight(schedule, 8, schedule == Schedule::interleaved ? 2 : 1, 32, rank - 1));
}
