#include "simulator/held_passes.hpp"

#include "simulator/closed_form.hpp"
#include "simulator/schedule_walk.hpp"
#include "simulator/schedules/catalog.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/seeds.hpp"
#include "tests/simulator/sample_graph.hpp"

#include <algorithm>
#include <random>

using namespace sextant;

TEST_CASE("fullest_moments: of equal chunks a rank holds as many passes as its schedule's walk, for every schedule",
          "[INV-28]") {
    auto const [name, shape] = GENERATE(from_range(fixtures::sample_shapes()));
    if (name == "forward-only") return;
    CAPTURE(name, shape.ranks, shape.chunks, shape.microbatches);
    auto const schedule = build_schedule(find_schedule(name, "test"), shape, "test");
    ScheduleWalk const walk = walk_schedule(
        schedule, uniform_costs(shape.stages(), {1 * units::s, 1 * units::s, 1 * units::s, 3 * units::s}));
    for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
        std::vector<std::int64_t> chunks;
        for (Slot const& slot : schedule.ranks[rank])
            if (std::find(chunks.begin(), chunks.end(), slot.stage) == chunks.end()) chunks.push_back(slot.stage);
        std::sort(chunks.begin(), chunks.end());
        std::vector<double> const equal(chunks.size(), 1);
        CHECK(held_microbatches(fullest_moments(schedule.ranks[rank], chunks), equal) ==
              static_cast<double>(walk.ranks[rank].peak_in_flight));
    }
}

TEST_CASE("fullest_moments: an interleaved rank holds what its order says, without that it is written down",
          "[INV-28]") {
    std::mt19937_64 random(fixtures::seeded(31));
    std::uniform_real_distribution<double> weight(0, 1);
    auto const schedule = GENERATE(Schedule::interleaved, Schedule::overlapped);
    auto const ranks = GENERATE(2, 3, 4, 8);
    auto const chunks = GENERATE(2, 3, 5);
    auto const microbatches = GENERATE(1, 2, 3, 4, 7, 8, 16, 19, 48, 203, 1001);
    ScheduleShape const shape{.ranks = ranks, .microbatches = microbatches, .chunks = chunks};
    CAPTURE(name_of(schedule), ranks, chunks, microbatches);
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
        std::vector<HeldPasses> const written = fullest_moments(
            entry_of(schedule).order(shape, rank), chunks_on_rank(schedule, shape.ranks, shape.chunks, rank));
        std::vector<HeldPasses> const known = fullest_moments(schedule, shape, rank);
        for (int i = 0; i < 20; ++i) {
            std::vector<double> shares(static_cast<std::size_t>(chunks));
            std::generate(shares.begin(), shares.end(), [&] { return weight(random); });
            REQUIRE(held_microbatches(known, shares) == held_microbatches(written, shares));
        }
    }
}

TEST_CASE("fullest_moments: two chunks on two ranks, by hand", "[INV-28]") {
    // Rank 0: forwards a0 a1 b0 b1 a2, backward b0, forward a3, backward b1, forward b2, backward a0, forward b3, ...
    std::vector<HeldPasses> moments =
        fullest_moments(Schedule::interleaved, {.ranks = 2, .microbatches = 16, .chunks = 2}, 0);
    std::sort(moments.begin(), moments.end());
    CHECK(moments == std::vector<HeldPasses>{{3, 2}, {4, 1}});
    std::vector<double> const shares{14.0 / 16, 2.0 / 16};
    CHECK(held_microbatches(moments, shares) == Approx(58.0 / 16));
}

TEST_CASE("breadth-first holds every microbatch of chunks that differ, however short its schedule is walked",
          "[INV-28]") {
    ModelSpec const model = fixtures::llama(1024, 18, 8, 16, 4096);
    ParallelPlan plan;
    plan.schedule = Schedule::breadth_first;
    plan.pp = 4;
    plan.vpp = 4;
    plan.recompute = Recompute::full;
    plan.zero = 0;
    auto const microbatches = GENERATE(16, 2000);
    auto const method = GENERATE(PipelineMethod::quick, PipelineMethod::walk);
    CAPTURE(microbatches, method == PipelineMethod::walk);
    Workload const workload{.sequence = 512, .global_batch = microbatches};
    ClusterSpec const machine = fixtures::cluster();
    FrameworkProfile const framework = fixtures::neutral_framework();
    ClosedForm form(model, workload, machine, framework, Precision::bf16);
    PipelineCost const pipeline = form.assemble(form.price_shape(plan), plan, method);
    bool differ = false;
    for (StageCost const& stage : pipeline.stages) {
        differ = differ || stage.has_unequal_chunks();
        CHECK(stage.load.in_flight == static_cast<double>(microbatches));
    }
    CHECK(differ);
}

TEST_CASE("most_bytes_held is what each pass of a rank keeps, and has again from the input half to the weight half") {
    auto const slot = [](SlotKind kind) { return Slot{.kind = kind}; };
    using enum SlotKind;
    std::vector<std::int64_t> const chunks{0};
    auto const most = [&](std::vector<Slot> const& order, HeldBytes const& bytes) {
        return most_bytes_held(order, chunks, std::vector{bytes}).base();
    };
    HeldBytes const bytes{.kept = 1 * units::B, .waiting = 10 * units::B, .working = 4 * units::B};
    std::vector<Slot> const split{slot(forward),         slot(forward),        slot(backward_input),
                                  slot(backward_weight), slot(backward_input), slot(backward_weight)};
    std::vector<Slot> const late{slot(forward),        slot(forward),         slot(backward_input),
                                 slot(backward_input), slot(backward_weight), slot(backward_weight)};
    CHECK(most(split, bytes) == 2 + 10);
    CHECK(most(late, bytes) == 2 + 20);
    CHECK(most({slot(forward), slot(forward), slot(backward), slot(backward)}, bytes) == 2 + 4);
    // Nothing waits where nothing is trained: then the input half works as a whole backward does.
    CHECK(most(late, {.kept = 1 * units::B, .waiting = {}, .working = 4 * units::B}) == 2 + 4);
    Slot pair = slot(forward_backward);
    pair.backward_stage = 0;
    CHECK(most({slot(forward), pair, slot(backward)}, bytes) == 2 + 4);
}

TEST_CASE("most_bytes_held: pp 4 has so many microbatches between the halves of their backward") {
    auto const waiting = [](std::string_view name, std::int64_t chunks, std::size_t rank) {
        ScheduleShape const shape{.ranks = 4, .microbatches = 32, .chunks = chunks};
        std::vector<Slot> const order = build_schedule(find_schedule(name, "test"), shape, "test").ranks[rank];
        std::vector<std::int64_t> on_rank;
        for (Slot const& slot : order)
            for (std::int64_t const stage :
                 {slot.stage, slot.kind == SlotKind::forward_backward ? slot.backward_stage : slot.stage})
                if (std::find(on_rank.begin(), on_rank.end(), stage) == on_rank.end()) on_rank.push_back(stage);
        std::sort(on_rank.begin(), on_rank.end());
        std::vector<HeldBytes> const bytes(on_rank.size(), {.kept = {}, .waiting = 1 * units::B, .working = {}});
        return most_bytes_held(order, on_rank, bytes).base();
    };
    for (std::size_t rank = 0; rank < 4; ++rank) {
        CAPTURE(rank);
        CHECK(waiting("zb-h1", 1, rank) == static_cast<double>(rank + 1));
        CHECK(waiting("zb-h2", 1, rank) == static_cast<double>(2 * rank + 1));
        CHECK(waiting("zb-v", 2, rank) == static_cast<double>(2 * rank + 1));
        CHECK(waiting("dualpipe-v", 2, rank) == static_cast<double>(rank + 1));
    }
}
