#include "simulator/pipeline_walk.hpp"

#include "core/graph/plan_check.hpp"
#include "core/spec/named_values.hpp"
#include "core/spec/schedule_traits.hpp"
#include "simulator/closed_form.hpp"
#include "simulator/schedules/catalog.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/seeds.hpp"

#include <algorithm>

using namespace sextant;
using namespace sextant::fixtures;

namespace {

constexpr int schedule_count = static_cast<int>(Schedule::dualpipe_v) + 1;
constexpr std::int64_t no_limit = 1'000'000'000;

std::int64_t below(std::mt19937_64& random, std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
}

ParallelPlan pipeline_of(Schedule schedule, std::int64_t pp, std::int64_t vpp) {
    ParallelPlan plan;
    plan.schedule = schedule;
    plan.pp = pp;
    plan.vpp = traits_of(schedule).takes_chunks(vpp) ? vpp : traits_of(schedule).least_chunks;
    return plan;
}

ChunkCost random_chunk(std::mt19937_64& random) {
    ChunkCost chunk;
    chunk.forward.gemm = uniform(random, 0.5, 1) * units::ms;
    chunk.forward.ep = uniform(random, 0, 0.3) * units::ms;
    chunk.weight.gemm = uniform(random, 0.2, 0.5) * units::ms;
    chunk.backward.gemm = chunk.weight.gemm + uniform(random, 0.5, 1) * units::ms;
    chunk.backward.ep = uniform(random, 0, 0.3) * units::ms;
    chunk.rerun.gemm = uniform(random, 0, 0.5) * units::ms;
    return chunk;
}

PipelineWalk walk(ParallelPlan const& plan, std::int64_t microbatches, std::vector<ChunkCost> const& chunks,
                  Seconds transfer, std::int64_t most_slots = no_limit) {
    ScheduleStore store;
    return walk_pipeline(store.get(plan, microbatches, most_slots), chunk_costs(chunks, plan, transfer, accelerator()));
}

/// A chunk without communication whose passes take these times.
ChunkCost chunk_of(double forward, double input, double weight) {
    ChunkCost chunk;
    chunk.forward.gemm = forward * units::ms;
    chunk.weight.gemm = weight * units::ms;
    chunk.backward.gemm = (input + weight) * units::ms;
    return chunk;
}

}  // namespace

TEST_CASE("walk_pipeline: uniform chunks take what the closed form says, to 1e-9", "[INV-22]") {
    std::mt19937_64 random(seeded(1));
    for (int i = 0; i < 300; ++i) {
        auto const schedule = pick(random, {Schedule::gpipe, Schedule::one_f_one_b, Schedule::interleaved});
        ParallelPlan const plan = pipeline_of(schedule, 2 + below(random, 9), 2 + below(random, 3));
        std::int64_t const m =
            schedule == Schedule::interleaved ? plan.pp * (1 + below(random, 6)) : 1 + below(random, 60);
        ChunkCost const chunk = random_chunk(random);
        Seconds const transfer = uniform(random, 0, 0.1) * units::ms;
        auto const chunks = static_cast<double>(plan.vpp);
        StageTimes const stage[] = {{.forward = chunks * (chunk.forward.total() + transfer),
                                     .backward = chunks * (chunk.backward.total() + chunk.rerun.total() + transfer),
                                     .count = plan.pp}};
        PipelineTime const formula = pipeline_time(schedule, stage, m, plan.vpp);
        PipelineWalk const walked =
            walk(plan, m, std::vector<ChunkCost>(static_cast<std::size_t>(plan.pp * plan.vpp), chunk), transfer);
        CAPTURE(name_of(schedule), plan.pp, plan.vpp, m);
        CHECK(walked.total.base() == Approx(formula.total().base()).epsilon(1e-9));
        CHECK(walked.busy.base() == Approx(formula.busy.base()).epsilon(1e-9));
        CHECK(walked.saved.hidden == Seconds{});
        CHECK(walked.slowest == 0);
    }
}

TEST_CASE("walk_pipeline: with a rest of microbatches the interleaved closed form is a lower bound", "[INV-22]") {
    std::mt19937_64 random(seeded(2));
    for (int i = 0; i < 200; ++i) {
        ParallelPlan const plan = pipeline_of(Schedule::interleaved, 2 + below(random, 7), 2 + below(random, 3));
        std::int64_t const m = 1 + below(random, 50);
        ChunkCost const chunk = random_chunk(random);
        auto const chunks = static_cast<double>(plan.vpp);
        StageTimes const stage[] = {{.forward = chunks * chunk.forward.total(),
                                     .backward = chunks * (chunk.backward.total() + chunk.rerun.total()),
                                     .count = plan.pp}};
        Seconds const bound = pipeline_time(Schedule::interleaved, stage, m, plan.vpp).total();
        CAPTURE(plan.pp, plan.vpp, m);
        CHECK(walk(plan, m, std::vector<ChunkCost>(static_cast<std::size_t>(plan.pp * plan.vpp), chunk), {}).total >=
              (1 - 1e-9) * bound);
    }
}

TEST_CASE("estimate: with uniform blocks the bubble of every schedule is the published one", "[INV-28]") {
    ModelSpec const model = llama(2048, 16, 8, 32, 8192);
    ClusterSpec const machine = cluster();
    FrameworkProfile framework = neutral_framework();
    framework.timing.front().pp_overlap = known(1.0);
    Workload const workload{.sequence = 2048, .global_batch = 32};
    ClosedForm form(model, workload, machine, framework, Precision::bf16);
    for (int s = 0; s < schedule_count; ++s)
        for (auto const& [forward, input, weight] :
             {std::tuple{1.0, 1.0, 1.0}, std::tuple{1.0, 1.0, 0.5}, std::tuple{1.0, 1.5, 0.5}}) {
            auto const schedule = static_cast<Schedule>(s);
            ParallelPlan const plan = pipeline_of(schedule, 8, 2);
            ShapeCost const shape = form.price_shape(plan);
            PipelineCost pipeline = form.assemble(shape, plan, PipelineMethod::walk);
            REQUIRE(pipeline.schedule);
            ChunkCost const chunk = chunk_of(forward, input, weight);
            std::fill(pipeline.chunks.begin(), pipeline.chunks.end(), chunk);
            auto const chunks = static_cast<double>(plan.vpp);
            for (StageCost& stage : pipeline.stages) {
                stage.forward = chunks * chunk.forward;
                stage.backward = chunks * chunk.backward;
                stage.rerun = {};
            }
            ScheduleEntry const& entry = entry_of(schedule);
            UniformTimes const times{.forward = forward * units::ms,
                                     .backward_input = input * units::ms,
                                     .backward_weight = weight * units::ms,
                                     .pair = (forward + input + weight) * units::ms};
            auto const published = entry.bubble({.ranks = 8, .microbatches = 32, .chunks = plan.vpp}, times);
            bool const own_span = entry.span == BubbleSpan::own_span;
            if (!published || (own_span && weight < forward)) continue;
            // Over the step ranks also start one after the other.
            Seconds const expected = *published + (own_span ? 7 * times.forward : Seconds{});
            StepEstimate const estimate = form.finish(pipeline, plan);
            CAPTURE(name_of(schedule), forward, input, weight);
            CHECK(estimate.breakdown.bubble.base() == Approx(expected.base()).epsilon(1e-9));
            CHECK(estimate.breakdown.gemm.base() ==
                  Approx(32 * chunks * (times.forward + times.backward()).base()).epsilon(1e-9));
        }
}

TEST_CASE("estimate: a zero-bubble schedule is a third of 1F1B's bubble and memory is what it trades for it",
          "[INV-28]") {
    ModelSpec const model = llama(4096, 32, 8, 32, 14336);
    ClusterSpec const machine = cluster();
    FrameworkProfile const framework = neutral_framework();
    ClosedForm form(model, {.sequence = 4096, .global_batch = 32}, machine, framework, Precision::bf16);
    auto const estimate = [&](Schedule schedule) {
        return form.evaluate(pipeline_of(schedule, 8, 1), PipelineMethod::walk);
    };
    StepEstimate const plain = estimate(Schedule::one_f_one_b);
    StepEstimate const h1 = estimate(Schedule::zb_h1), h2 = estimate(Schedule::zb_h2), v = estimate(Schedule::zb_v);
    CHECK(h1.time < plain.time);
    CHECK(h2.time < h1.time);
    CHECK(v.time < h1.time);
    CHECK(h1.breakdown.bubble < 0.6 * plain.breakdown.bubble);
    CHECK(h2.peak() > 1.3 * h1.peak());
    CHECK(v.peak() < 1.2 * plain.peak());
    // The busy parts of the slowest stage do not depend on the order.
    CHECK(h1.breakdown.gemm.base() == Approx(plain.breakdown.gemm.base()).epsilon(1e-12));
}

TEST_CASE("walk_pipeline: a long step is carried on from its beginning", "[INV-22]") {
    std::mt19937_64 random(seeded(3));
    for (int s = 0; s < schedule_count; ++s)
        for (int i = 0; i < 12; ++i) {
            ParallelPlan const plan =
                pipeline_of(static_cast<Schedule>(s), 2 * (1 + below(random, 4)), 2 + below(random, 2));
            std::int64_t const m = 10 * plan.pp + 2 * below(random, 150);
            std::vector<ChunkCost> chunks;
            for (std::int64_t c = 0; c < plan.pp * plan.vpp; ++c)
                chunks.push_back(random_chunk(random));
            if (i % 3 == 0) chunks.assign(chunks.size(), chunks.front());
            PipelineWalk const whole = walk(plan, m, chunks, 50 * units::us);
            PipelineWalk const quick = walk(plan, m, chunks, 50 * units::us, 0);
            CAPTURE(name_of(plan.schedule), plan.pp, plan.vpp, m, i);
            CHECK(quick.total.base() == Approx(whole.total.base()).epsilon(0.03));
            CHECK(quick.busy.base() == Approx(whole.busy.base()).epsilon(1e-9));
            CHECK(quick.saved.hidden.base() == Approx(whole.saved.hidden.base()).epsilon(1e-9));
            CHECK(quick.slowest == whole.slowest);
            if (i % 3 == 0) CHECK(quick.total.base() == Approx(whole.total.base()).epsilon(1e-9));
        }
}

Seconds hidden(WalkCosts const& costs, std::size_t forward, std::size_t backward) {
    return pair_time(costs.stages[forward].paired_forward, costs.stages[backward].paired_backward).hidden;
}

TEST_CASE("chunk_costs: a pair takes the longer of its compute and of its communication") {
    ParallelPlan const plan = pipeline_of(Schedule::dualpipe_v, 1, 2);
    ChunkCost chunk = chunk_of(1, 1, 1);
    chunk.forward.ep = 0.4 * units::ms;
    chunk.backward.ep = 0.5 * units::ms;
    std::vector<ChunkCost> chunks(2, chunk);
    // 3 ms of compute beside 0.4 + 0.5 + 2 * 0.05 ms of communication.
    WalkCosts costs = chunk_costs(chunks, plan, 0.05 * units::ms, accelerator());
    CHECK(costs.stages[0].forward.base() == Approx(1.45e-3));
    CHECK(costs.stages[0].backward.base() == Approx(2.55e-3));
    CHECK(costs.stages[0].backward_weight.base() == Approx(1e-3));
    CHECK(costs.stages[0].backward_input.base() == Approx(1.55e-3));
    CHECK(hidden(costs, 0, 1).base() == Approx(1e-3));
    // More communication than compute: the compute is what hides.
    chunks[1].backward.ep = 10 * units::ms;
    costs = chunk_costs(chunks, plan, {}, accelerator());
    CHECK(hidden(costs, 0, 1).base() == Approx(3e-3));
    // Tensor-parallel communication hides behind nothing.
    for (ChunkCost& c : chunks) {
        c.forward.tp = c.forward.ep, c.backward.tp = c.backward.ep;
        c.forward.ep = c.backward.ep = {};
    }
    CHECK(hidden(chunk_costs(chunks, plan, {}, accelerator()), 0, 1) == Seconds{});
}

TEST_CASE("traits_of: the layout of a plan is that of its schedule", "[INV-27]") {
    for (int s = 0; s < schedule_count; ++s) {
        auto const schedule = static_cast<Schedule>(s);
        ScheduleTraits const& traits = traits_of(schedule);
        ScheduleEntry const& entry = entry_of(schedule);
        CHECK(entry.name == name_of(schedule));
        CHECK(entry.parameter_copies == traits.parameter_copies());
        for (std::int64_t pp = 2; pp <= 6; ++pp)
            for (std::int64_t vpp = 1; vpp <= 4; ++vpp)
                for (std::int64_t m = 1; m <= 16; ++m) {
                    ScheduleShape const shape{.ranks = pp, .microbatches = m, .chunks = vpp};
                    ParallelPlan plan;
                    plan.schedule = schedule;
                    plan.pp = pp;
                    plan.vpp = vpp;
                    CAPTURE(entry.name, pp, vpp, m);
                    bool const suits =
                        !find_problem(llama(2048, 16, 8, pp * vpp, 8192), plan, {.sequence = 2048, .global_batch = m});
                    // The catalog's interleaved schedule also takes one chunk, which is 1F1B.
                    bool const renamed = schedule == Schedule::interleaved && vpp == 1;
                    CHECK(suits == (!entry.unsupported(shape) && !renamed));
                    if (!suits) continue;
                    bool placed = true, split = false;
                    for (std::int64_t stage = 0; stage < shape.stages(); ++stage)
                        for (std::int64_t microbatch = 0; microbatch < m; ++microbatch) {
                            std::int64_t const rank = entry.rank_of(shape, stage, microbatch);
                            std::int64_t const first = rank_of_chunk(traits.placement, pp, stage);
                            bool const second = traits.parameter_copies() == 2 && rank == pp - 1 - first;
                            placed = placed && (rank == first || second);
                        }
                    CHECK(placed);
                    for (Slot const& slot : entry.order(shape, 0))
                        split = split || slot.kind == SlotKind::backward_weight;
                    CHECK(split == (traits.split_backward == Switch::on));
                }
    }
}

TEST_CASE("postponed_head_weights: as many as the order puts off", "[INV-23]") {
    for (int s = 0; s < schedule_count; ++s)
        for (std::int64_t pp = 2; pp <= 8; pp += 2)
            for (std::int64_t const m : {1, 3, 8, 16, 40}) {
                auto const schedule = static_cast<Schedule>(s);
                ScheduleEntry const& entry = entry_of(schedule);
                ScheduleShape const shape{.ranks = pp, .microbatches = m, .chunks = traits_of(schedule).least_chunks};
                if (entry.unsupported(shape)) continue;
                std::int64_t const last = shape.stages() - 1;
                std::int64_t most = 0;
                for (std::int64_t rank = 0; rank < pp; ++rank) {
                    std::int64_t waiting = 0;
                    for (Slot const& slot : entry.order(shape, rank)) {
                        if (slot.stage != last) continue;
                        if (slot.kind == SlotKind::backward_input) most = std::max(most, ++waiting);
                        if (slot.kind == SlotKind::backward_weight) --waiting;
                    }
                }
                CAPTURE(entry.name, pp, m);
                // One is at work; a backward that is not split has it too.
                CHECK(postponed_head_weights(schedule, pp, m) == std::max<std::int64_t>(0, most - 1));
            }
}

TEST_CASE("with passes in pairs two microbatches have their logits at a time", "[INV-23]") {
    for (std::int64_t pp = 1; pp <= 8; ++pp)
        for (std::int64_t vpp = 1; vpp <= (pp > 1 ? 3 : 1); ++vpp)
            for (std::int64_t const m : {1, 2, 3, 8, 17, 40}) {
                if (vpp > 1 && m > pp && m % pp != 0) continue;  // groups larger than pp hold a few more
                ScheduleEntry const& entry = entry_of(Schedule::overlapped);
                ScheduleShape const shape{.ranks = pp, .microbatches = m, .chunks = vpp};
                std::int64_t const last = shape.stages() - 1;
                std::int64_t held = 0, most = 0;
                for (Slot const& slot : entry.order(shape, pp - 1)) {
                    bool const pair = slot.kind == SlotKind::forward_backward;
                    if ((slot.kind == SlotKind::forward || pair) && slot.stage == last) ++held;
                    most = std::max(most, held);
                    if ((slot.kind == SlotKind::backward && slot.stage == last) ||
                        (pair && slot.backward_stage == last))
                        --held;
                }
                CAPTURE(pp, vpp, m);
                CHECK(most == std::min<std::int64_t>(2, m));
                StageLoad load;
                load.logits = 1000;
                load.microbatches = static_cast<double>(m);
                load.pairs = pairs_on_rank(pp, vpp, m, pp - 1) > 0;
                FrameworkMemory memory;
                memory.logits_bytes.value = 10;
                ParallelPlan plan = pipeline_of(Schedule::overlapped, pp, vpp);
                CHECK(stage_memory(load, plan, memory).logits.base() == static_cast<double>(10000 * most));
                load.pairs = false;
                plan.schedule = Schedule::one_f_one_b;
                CHECK(stage_memory(load, plan, memory).logits.base() == 10000);
            }
}

TEST_CASE("estimate: exchanges of experts hide in the pairs of 1f1b-overlap, and ranks wait as before", "[INV-22]") {
    ModelSpec const model = mixture(2048, 16, 16, 2, 1408, 1);
    ClusterSpec const machine = cluster();
    FrameworkProfile const framework = neutral_framework();
    for (std::int64_t const pp : {1, 2, 4}) {
        ParallelPlan plan{.dp = 8, .pp = pp, .ep = 8};
        plan.vpp = pp > 1 ? 2 : 1;
        plan.schedule = pp > 1 ? Schedule::interleaved : Schedule::one_f_one_b;
        ClosedForm form(model, {.sequence = 2048, .global_batch = 8 * 16}, machine, framework, Precision::bf16);
        StepEstimate const apart = form.evaluate(plan, PipelineMethod::walk);
        plan.schedule = Schedule::overlapped;
        StepEstimate const paired = form.evaluate(plan, PipelineMethod::walk);
        CAPTURE(pp);
        REQUIRE(apart.breakdown.ep > 0.05 * apart.time);
        // What compute can take of them hides in all microbatches but one a chunk.
        CHECK(paired.breakdown.ep.base() < 0.3 * apart.breakdown.ep.base());
        CHECK(paired.breakdown.ep > Seconds{});
        CHECK(paired.breakdown.gemm.base() == Approx(apart.breakdown.gemm.base()).epsilon(1e-12));
        CHECK(paired.time < apart.time);
        CHECK(paired.peak() >= apart.peak());
    }
}

TEST_CASE("estimate: the closed form of passes in pairs is their walk where stages are alike, near it where not",
          "[INV-22]") {
    ClusterSpec const machine = cluster();
    ModelSpec const model = mixture(1024, 16, 16, 2, 1408, 1);
    FrameworkProfile framework = neutral_framework();
    FrameworkTiming& timing = framework.timing.front();
    timing.pp_overlap = known(0.3);
    std::mt19937_64 random(seeded(77));
    int exact = 0;
    for (int i = 0; i < 150; ++i) {
        ParallelPlan plan{.dp = 4, .pp = pick<std::int64_t>(random, {1, 2, 4, 8})};
        plan.ep = pick<std::int64_t>(random, {1, 4});
        plan.vpp = plan.pp > 1 ? pick<std::int64_t>(random, {1, 2}) : 1;
        plan.schedule = Schedule::overlapped;
        plan.offload = pick(random, {Offload::none, Offload::none, Offload::activations});
        timing.moe_floor_forward = known(uniform(random, 0, 4) * units::ms);
        timing.moe_floor_backward = known(uniform(random, 0, 8) * units::ms);
        std::int64_t const m = plan.pp * pick<std::int64_t>(random, {1, 2, 5});
        ClosedForm form(model, {.sequence = 2048, .global_batch = 4 * m}, machine, framework, Precision::bf16);
        ShapeCost const shape = form.price_shape(plan);
        PipelineCost walked = form.assemble(shape, plan, PipelineMethod::walk);
        PipelineCost quick = form.assemble(shape, plan, PipelineMethod::quick);
        REQUIRE_FALSE(quick.schedule);
        CAPTURE(i, plan.pp, plan.vpp, plan.ep, m, name_of(plan.offload));
        CHECK(form.finish(quick, plan).time.base() == Approx(form.finish(walked, plan).time.base()).epsilon(0.15));
        ChunkCost chunk = random_chunk(random);
        for (PassTime* pass : {&chunk.forward, &chunk.backward}) {
            pass->gaps = pass->waiting = uniform(random, 0, 0.4) * units::ms;
            pass->launched = uniform(random, 0.3, 1) * pass->total();
        }
        chunk.offloaded = uniform(random, 0, 60) * units::MB;
        std::fill(walked.chunks.begin(), walked.chunks.end(), chunk);
        for (PipelineCost* cost : {&walked, &quick})
            for (StageCost& stage : cost->stages) {
                auto const chunks = static_cast<double>(plan.vpp);
                stage.forward = chunks * chunk.forward;
                stage.backward = chunks * chunk.backward;
                stage.weight = chunks * chunk.weight;
                stage.rerun = chunks * chunk.rerun;
                stage.load.offloaded = chunks * chunk.offloaded;
            }
        // A pair that hides more than one of its parts takes is over before ranks that run that part alone.
        StageDurations const times = chunk_times(chunk, plan, 0.7 * quick.transfer, machine.accelerator);
        bool const longer =
            pair_time(times.paired_forward, times.paired_backward).time >= std::max(times.forward, times.backward);
        CHECK(form.finish(quick, plan).time.base() ==
              Approx(form.finish(walked, plan).time.base()).epsilon(longer ? 1e-9 : 0.02));
        exact += longer ? 1 : 0;
    }
    CHECK(exact > 75);
}

TEST_CASE("ScheduleStore: turns that it keeps are those of the first schedule's ranks, however long it is",
          "[INV-24]") {
    ScheduleStore store;
    for (int s = 0; s < schedule_count; ++s)
        for (std::int64_t const pp : {2, 4})
            for (std::int64_t const m : {8, 16, 400})
                for (std::int64_t const most_slots : {std::int64_t{600}, no_limit}) {
                    auto const schedule = static_cast<Schedule>(s);
                    ParallelPlan const plan = pipeline_of(schedule, pp, traits_of(schedule).least_chunks);
                    CAPTURE(name_of(schedule), pp, m, most_slots);
                    for (int asked = 0; asked < 2; ++asked) {  // built, and remembered
                        WalkedSchedule const walked = store.get(plan, m, most_slots);
                        REQUIRE(walked.turns->size() == walked.first->ranks.size());
                        for (std::size_t rank = 0; rank < walked.turns->size(); ++rank)
                            CHECK((*walked.turns)[rank] == chunk_turns(walked.first->ranks[rank]));
                    }
                }
}
