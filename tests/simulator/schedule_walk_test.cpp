#include "simulator/schedule_walk.hpp"

#include "simulator/held_passes.hpp"
#include "simulator/pipeline_formula.hpp"
#include "simulator/schedules/catalog.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/seeds.hpp"
#include "tests/simulator/pipeline_walk.hpp"

#include <algorithm>
#include <numeric>
#include <set>

using namespace sextant;
using namespace sextant::fixtures;

namespace {

struct Case {
    Schedule schedule = Schedule::gpipe;
    std::string_view name;
    ScheduleShape shape;
};

Case random_case(std::mt19937_64& random) {
    auto const below = [&](std::int64_t n) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    switch (random() % 3) {
        case 0: return {Schedule::gpipe, "gpipe", {1 + below(12), 1 + below(40), 1}};
        case 1: return {Schedule::one_f_one_b, "1f1b", {1 + below(12), 1 + below(40), 1}};
        default: break;
    }
    std::int64_t const ranks = 2 + below(8);
    return {Schedule::interleaved, "interleaved", {ranks, ranks * (1 + below(5)), 2 + below(4)}};
}

PipelineSchedule build(std::string_view name, ScheduleShape shape) {
    return build_schedule(find_schedule(name, "test"), shape, "test");
}

/// Costs of a round-robin pipeline: `forward[r]`, `backward[r]` of a microbatch on all chunks of rank r.
WalkCosts costs_of(ScheduleShape shape, std::vector<double> const& forward, std::vector<double> const& backward) {
    WalkCosts costs;
    auto const chunks = static_cast<double>(shape.chunks);
    for (std::int64_t stage = 0; stage < shape.stages(); ++stage) {
        auto const rank = static_cast<std::size_t>(stage % shape.ranks);
        costs.stages.push_back({.forward = forward[rank] / chunks * units::s,
                                .backward = backward[rank] / chunks * units::s,
                                .backward_input = {},
                                .backward_weight = {},
                                .paired_forward = {.alone = forward[rank] / chunks * units::s},
                                .paired_backward = {.alone = backward[rank] / chunks * units::s}});
    }
    return costs;
}

std::vector<StageTimes> stage_times(std::vector<double> const& forward, std::vector<double> const& backward) {
    std::vector<StageTimes> stages;
    for (std::size_t i = 0; i < forward.size(); ++i)
        stages.push_back({.forward = forward[i] * units::s, .backward = backward[i] * units::s});
    return stages;
}

}  // namespace

TEST_CASE("walk_schedule: uniform stages take what the closed form says, to 1e-9", "[INV-22]") {
    std::mt19937_64 random(seeded(11));
    for (int i = 0; i < 500; ++i) {
        Case const c = random_case(random);
        auto const ranks = static_cast<std::size_t>(c.shape.ranks);
        std::vector<double> const forward(ranks, uniform(random, 0.1, 1)), backward(ranks, uniform(random, 0.1, 3));
        CAPTURE(c.name, c.shape.ranks, c.shape.microbatches, c.shape.chunks);
        double const walked =
            walk_schedule(build(c.name, c.shape), costs_of(c.shape, forward, backward)).makespan.base();
        CHECK(walked ==
              Approx(pipeline_time(c.schedule, stage_times(forward, backward), c.shape.microbatches, c.shape.chunks)
                         .total()
                         .base())
                  .epsilon(1e-9));
    }
}

TEST_CASE("walk_schedule: uneven stages take no less than the closed form's lower bound", "[INV-22]") {
    std::mt19937_64 random(seeded(12));
    int above = 0;
    for (int i = 0; i < 500; ++i) {
        Case const c = random_case(random);
        std::vector<double> forward(static_cast<std::size_t>(c.shape.ranks)), backward = forward;
        for (std::size_t r = 0; r < forward.size(); ++r) {
            forward[r] = uniform(random, 0.5, 1);
            backward[r] = uniform(random, 0.5, 2);
        }
        CAPTURE(c.name, c.shape.ranks, c.shape.microbatches, c.shape.chunks);
        double const walked =
            walk_schedule(build(c.name, c.shape), costs_of(c.shape, forward, backward)).makespan.base();
        double const bound =
            pipeline_time(c.schedule, stage_times(forward, backward), c.shape.microbatches, c.shape.chunks)
                .total()
                .base();
        CHECK(walked >= bound * (1 - 1e-9));
        if (walked > bound * (1 + 1e-9)) ++above;
        // A second route: the same tasks carried out by a walker that shares no code with this one.
        CHECK(walked ==
              Approx(walk_pipeline(c.schedule, forward, backward, static_cast<std::size_t>(c.shape.microbatches),
                                   static_cast<std::size_t>(c.shape.chunks))
                         .makespan)
                  .epsilon(1e-12));
    }
    CHECK(above > 50);  // the walk says more than the bound
}

TEST_CASE("walk_schedule: the peak is the closed form's microbatches in flight", "[INV-23]") {
    std::mt19937_64 random(seeded(13));
    for (int i = 0; i < 300; ++i) {
        Case const c = random_case(random);
        PipelineSchedule const schedule = build(c.name, c.shape);
        ScheduleWalk const walk = walk_schedule(
            schedule, uniform_costs(schedule.stages, {1 * units::s, 1 * units::s, 1 * units::s, 3 * units::s}));
        for (std::int64_t rank = 0; rank < c.shape.ranks; ++rank) {
            CAPTURE(c.name, c.shape.ranks, c.shape.microbatches, c.shape.chunks, rank);
            double const chunks =
                microbatches_in_flight(c.schedule, c.shape.ranks, c.shape.chunks, c.shape.microbatches, rank) *
                static_cast<double>(c.shape.chunks);
            CHECK(static_cast<double>(walk.ranks[static_cast<std::size_t>(rank)].peak_in_flight) == Approx(chunks));
            // The peak over time is the peak over the order, and everything is released in the end.
            auto const changes = in_flight_over_time(schedule, walk, rank);
            auto const by_held = [](InFlight const& a, InFlight const& b) { return a.held < b.held; };
            CHECK(std::max_element(changes.begin(), changes.end(), by_held)->held ==
                  walk.ranks[static_cast<std::size_t>(rank)].peak_in_flight);
            CHECK(changes.back().held == 0);
            CHECK(std::is_sorted(changes.begin(), changes.end(),
                                 [](InFlight const& a, InFlight const& b) { return a.time < b.time; }));
        }
    }
}

TEST_CASE("most_between_halves is what backwards that are half done keep at each slot, by kind of slot") {
    std::int64_t seen = 0, uneven = 0;
    for (ScheduleEntry const* entry : schedule_catalog())
        for (std::int64_t const ranks : {2, 4, 6})
            for (std::int64_t const microbatches : {4, 12, 24}) {
                ScheduleShape const shape{.ranks = ranks, .microbatches = microbatches, .chunks = 2};
                if (entry->unsupported(shape)) continue;
                for (std::vector<Slot> const& order : build(entry->name, shape).ranks) {
                    std::set<std::int64_t> stages;
                    for (Slot const& slot : order)
                        stages.insert(slot.stage);
                    std::vector<std::int64_t> const chunks(stages.begin(), stages.end());
                    auto const share_of = [&](std::int64_t stage) { return stage == chunks.front() ? 0.25 : 0.75; };
                    std::vector<double> const equal(chunks.size(), 0.5);
                    std::vector<double> shares;
                    for (std::int64_t const chunk : chunks)
                        shares.push_back(share_of(chunk));
                    std::array<double, 3> most{-1, -1, -1}, weighed = most;
                    for (auto slot = order.begin(); slot != order.end(); ++slot) {
                        // Those whose input half has begun by this slot and whose weight half has not ended before it.
                        double open = 0, kept = 0;
                        for (auto half = order.begin(); half != std::next(slot); ++half) {
                            if (half->kind != SlotKind::backward_input) continue;
                            bool const done = std::any_of(order.begin(), slot, [&](Slot const& rest) {
                                return rest.kind == SlotKind::backward_weight && rest.stage == half->stage &&
                                       rest.microbatch == half->microbatch;
                            });
                            if (done) continue;
                            open += 1;
                            kept += share_of(half->stage);
                        }
                        std::size_t passes = 0;
                        if (slot->kind == SlotKind::forward || slot->kind == SlotKind::backward) passes = 1;
                        if (slot->kind == SlotKind::forward_backward) passes = 2;
                        most[passes] = std::max(most[passes], 0.5 * open);
                        weighed[passes] = std::max(weighed[passes], kept);
                    }
                    CAPTURE(entry->name, ranks, microbatches);
                    CHECK(most_between_halves(order, chunks, equal) == most);
                    CHECK(most_between_halves(order, chunks, shares) == weighed);
                    seen += most[0] > 0.5 ? 1 : 0;
                    uneven += weighed[0] > most[0] ? 1 : 0;
                }
            }
    CHECK(seen > 10);
    CHECK(uneven > 5);
}

TEST_CASE("most_between_halves takes the input half of a chunk without a weight half as a whole pass") {
    auto const slot = [](SlotKind kind, std::int32_t stage) { return Slot{.kind = kind, .stage = stage}; };
    std::vector<Slot> const order{slot(SlotKind::forward, 0),         slot(SlotKind::forward, 3),
                                  slot(SlotKind::backward_input, 3),  slot(SlotKind::backward_input, 0),
                                  slot(SlotKind::backward_weight, 0), slot(SlotKind::backward_weight, 3)};
    std::vector<std::int64_t> const chunks{0, 3};
    CHECK(most_between_halves(order, chunks, std::vector{0.5, 0.5}) == std::array<double, 3>{1, 0, -1});
    CHECK(most_between_halves(order, chunks, std::vector{0.0, 0.5}) == std::array<double, 3>{0.5, 0.5, -1});
    CHECK(most_between_halves(order, chunks, std::vector{0.5, 0.0}) == std::array<double, 3>{0.5, 0, -1});
}

TEST_CASE("walk_schedule: busy and idle time of a rank add up to the step, and work is kept") {
    std::mt19937_64 random(seeded(14));
    for (ScheduleEntry const* entry : schedule_catalog())
        for (std::int64_t const chunks : {1, 2}) {
            ScheduleShape const shape{.ranks = 4, .microbatches = 12, .chunks = chunks};
            if (entry->unsupported(shape)) continue;
            PipelineSchedule const schedule = build_schedule(*entry, shape, "test");
            WalkCosts costs;
            for (std::int64_t stage = 0; stage < schedule.stages; ++stage) {
                double const input = uniform(random, 0.5, 1.5), weight = uniform(random, 0.5, 1.5);
                Seconds const forward = uniform(random, 0.5, 1.5) * units::s;
                Seconds const backward = (input + weight) * units::s;
                costs.stages.push_back({.forward = forward,
                                        .backward = backward,
                                        .backward_input = input * units::s,
                                        .backward_weight = weight * units::s,
                                        .paired_forward = {.alone = forward},
                                        .paired_backward = {.alone = backward}});
            }
            ScheduleWalk const walk = walk_schedule(schedule, costs);
            CAPTURE(entry->name, chunks);
            double busy = 0, work = 0;
            for (RankWalk const& rank : walk.ranks) {
                CHECK((rank.busy + rank.idle).base() == Approx(walk.makespan.base()));
                CHECK(rank.idle.base() > -1e-12);
                CHECK(rank.gaps().base() > -1e-12);
                CHECK(rank.end <= walk.makespan);
                busy += rank.busy.base();
            }
            bool const training = entry->name != "forward-only";
            for (StageDurations const& stage : costs.stages)
                work += 12 * (stage.forward + (training ? stage.backward : Seconds{})).base();
            CHECK(busy == Approx(work));
        }
}

TEST_CASE("walk_schedule: hand-computed steps") {
    UniformTimes const t{1 * units::s, 1 * units::s, 1 * units::s, 2 * units::s};
    // Two ranks, two microbatches, F = 1, B = 2, 0.5 between ranks: 0F0 0-1, 1F0 1.5-2.5, 1B0 2.5-4.5, 0B0 5-7,
    // 1F1 4.5-5.5, 1B1 5.5-7.5, 0B1 8-10.
    PipelineSchedule const two = build("1f1b", {2, 2, 1});
    WalkCosts costs = uniform_costs(2, t);
    costs.transfers = {0.5 * units::s};
    ScheduleWalk const walk = walk_schedule(two, costs);
    CHECK(walk.makespan.base() == Approx(10));
    CHECK(walk.ranks[1].slots[1].start.base() == Approx(2.5));
    CHECK(walk.ranks[0].slots[2].start.base() == Approx(5));
    CHECK(walk.ranks[0].busy.base() == Approx(6));
    CHECK(walk.ranks[1].gaps().base() == Approx(0).margin(1e-12));
    // A V turns round on the last rank: no transfer there, and none on a single rank.
    WalkCosts v = uniform_costs(2, t);
    v.transfers = {100 * units::s};
    CHECK(walk_schedule(build("zb-v", {1, 3, 2}), v).makespan.base() == Approx(18));
    // Pairs that hide one second each: (1F3;0B0) and its mirror image on the other rank.
    CHECK(walk_schedule(build("dualpipe", {2, 4, 1}), uniform_costs(2, t)).makespan.base() == Approx(11));
}

TEST_CASE("walk_schedule: slower stages and longer transfers never shorten the step", "[INV-15]") {
    std::mt19937_64 random(seeded(15));
    for (ScheduleEntry const* entry : schedule_catalog())
        for (int i = 0; i < 20; ++i) {
            ScheduleShape const shape{.ranks = 4, .microbatches = 8, .chunks = 1 + i % 2};
            if (entry->unsupported(shape)) continue;
            PipelineSchedule const schedule = build_schedule(*entry, shape, "test");
            WalkCosts costs = uniform_costs(schedule.stages, {1 * units::s, 1 * units::s, 1 * units::s, 3 * units::s});
            costs.transfers.assign(costs.stages.size() - 1, Seconds{});
            Seconds const before = walk_schedule(schedule, costs).makespan;
            std::size_t const slow = random() % costs.stages.size();
            costs.stages[slow].forward *= uniform(random, 1, 2);
            costs.stages[slow].backward *= uniform(random, 1, 2);
            costs.transfers[random() % costs.transfers.size()] = uniform(random, 0, 1) * units::s;
            CAPTURE(entry->name, slow);
            CHECK(walk_schedule(schedule, costs).makespan >= before);
        }
}

TEST_CASE("walk_schedule: a deadlock names every slot that waits and what it waits for") {
    PipelineSchedule schedule = build("1f1b", {3, 2, 1});
    // Rank 2 takes the second microbatch first: slow, but nobody waits for ever.
    std::swap(schedule.ranks[2][0], schedule.ranks[2][2]);
    std::swap(schedule.ranks[2][1], schedule.ranks[2][3]);
    CHECK(walk_schedule(schedule, costs_of({3, 2, 1}, {1, 1, 1}, {2, 2, 2})).waiting.empty());
    schedule = build("1f1b", {2, 2, 1});
    std::swap(schedule.ranks[1][0], schedule.ranks[1][1]);  // 1B0 before 1F0
    ScheduleWalk const stuck = walk_schedule(schedule, costs_of({2, 2, 1}, {1, 1}, {2, 2}));
    REQUIRE(stuck.waiting.size() == 2);
    CHECK(text_of(stuck.waiting) ==
          "rank 0 waits with 0B0 for the backward of stage 1, microbatch 0; rank 1 waits with 1B0 for 1F0");
    CHECK(stuck.waiting[0].position == 2);
    CHECK(stuck.ranks[0].slots.size() == 2);
    CHECK(text_of(stuck.waiting, 1) == "rank 0 waits with 0B0 for the backward of stage 1, microbatch 0; and 1 more");
}
