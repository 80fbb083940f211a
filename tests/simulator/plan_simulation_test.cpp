#include "simulator/plan_simulation.hpp"

#include "core/error.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "simulator/schedules/catalog.hpp"
#include "simulator/step_analysis.hpp"
#include "tests/catch.hpp"
#include "tests/sanitized.hpp"
#include "tests/seeds.hpp"
#include "tests/simulator/planned_case.hpp"

#include <algorithm>

using namespace sextant;
using namespace sextant::fixtures;

namespace {

// A process of its own takes ten times as long to start under ASan: fewer plans there, the same kinds of them.
constexpr int fewer = cases(1, 10);

double step_of(ClosedForm& form, ParallelPlan const& plan, SimulationRequest const& request) {
    PlanSimulation const run = simulate_plan(form, plan, request);
    INFO(run.simulation.message);
    REQUIRE(run.finished());
    return run.simulation.times.makespan().base();
}

/// The footprint's count of microbatches is the most that a schedule ever holds, and it adds the peaks of parts.
void check_near_footprint(ClosedForm& form, ParallelPlan const& plan, double nearest = 0.7) {
    // In one piece each, the passes of a pair come one after the other.
    bool const pairs = traits_of(plan.schedule).pairs == Switch::on;
    TaskGraph const graph =
        build_task_graph(form, plan, {.granularity = pairs ? Granularity::layer : Granularity::stage});
    auto const memory = memory_timelines(graph, walk_graph(graph), memory_input(form, plan, graph));
    std::vector<StageMemory> const stages = memory_by_stage(form, plan);
    CAPTURE(plan.pp, plan.vpp, name_of(plan.schedule), name_of(plan.recompute), plan.zero);
    REQUIRE(memory.size() == stages.size());
    for (std::size_t r = 0; r < stages.size(); ++r) {
        CAPTURE(r, activations_text(plan.offloaded_activations), plan.offload_layers);
        CHECK(memory[r].peak <= stages[r].allocated() * (1 + 1e-9));
        CHECK(memory[r].peak >= stages[r].allocated() * nearest);
    }
}

}  // namespace

TEST_CASE("simulation: with contention off 500 generated plans take what the walk says", "[INV-32]") {
    std::mt19937_64 random(seeded(21));
    ClusterSpec const machine = cluster();
    for (int i = 0; i < 500 / fewer; ++i) {
        FrameworkProfile const framework = busy_framework(random);
        PlannedCase const c = draw_plan(random, true);
        ClosedForm form(c.model, c.workload, machine, framework, Precision::bf16);
        SimulationRequest request;
        request.graph.granularity = pick(random, {Granularity::layer, Granularity::stage});
        request.engine.network = NetworkMode::ideal;
        PlanSimulation const run = simulate_plan(form, c.plan, request);
        CAPTURE(i, c.plan.dp, c.plan.tp, c.plan.pp, c.plan.cp, c.plan.zero, name_of(c.plan.schedule));
        REQUIRE(run.finished());
        CHECK(run.simulation.times.makespan().base() == Approx(run.alone.base()).epsilon(1e-9));
    }
}

TEST_CASE("simulation: where links are shared, one rank for all still takes as long as every rank for itself",
          "[INV-33]") {
    std::mt19937_64 random(seeded(22));
    ClusterSpec const machine = cluster();
    for (int i = 0; i < 100 / fewer; ++i) {
        FrameworkProfile const framework = busy_framework(random);
        PlannedCase const c = draw_plan(random, true);
        ClosedForm form(c.model, c.workload, machine, framework, Precision::bf16);
        SimulationRequest request;
        request.graph.granularity = Granularity::layer;
        request.folding = Folding::folded;
        double const folded = step_of(form, c.plan, request);
        request.folding = Folding::unfolded;
        double const unfolded = step_of(form, c.plan, request);
        CAPTURE(i, c.plan.dp, c.plan.tp, c.plan.pp, c.plan.cp, c.plan.ep, c.plan.zero, name_of(c.plan.schedule));
        CHECK(unfolded == Approx(folded).epsilon(1e-9));
    }
}

TEST_CASE("simulation: in a torus slice one rank for all takes as long as every rank for itself, and as estimated",
          "[INV-33]") {
    struct Degrees {
        std::int64_t tp;
        std::int64_t dp;
    };
    // Slices of 2 x 2 x 2 to 4 x 4 x 4, in which groups have parts of axes, or whole ones.
    auto const [tp, dp] = GENERATE(Degrees{4, 4}, Degrees{2, 4}, Degrees{8, 4}, Degrees{16, 4}, Degrees{4, 16});
    CAPTURE(tp, dp);
    ModelSpec const model = llama(2048, 16, 16, 4, 5504);
    FrameworkProfile const framework = find_framework("maxtext", "test");
    ClusterSpec const machine = find_cluster("tpu-v5p", "test");
    ParallelPlan plan;
    plan.tp = tp;
    plan.dp = dp;
    plan.zero = 3;
    plan.sequence_parallel = Switch::on;
    ClosedForm form(model, {.sequence = 2048, .global_batch = 2 * dp}, machine, framework, Precision::bf16);
    SimulationRequest request;
    request.graph.granularity = Granularity::layer;
    request.folding = Folding::folded;
    double const folded = step_of(form, plan, request);
    CHECK(form.evaluate(plan).time.base() == Approx(folded).epsilon(0.1));
    request.folding = Folding::unfolded;
    CHECK(step_of(form, plan, request) == Approx(folded).epsilon(0.01));
    request.graph.jitter = 1e-4;
    CHECK(step_of(form, plan, request) == Approx(folded).epsilon(0.02));
}

TEST_CASE("simulation: contention only ever slows a step down, and more of it more") {
    std::mt19937_64 random(seeded(23));
    ClusterSpec const machine = cluster();
    for (int i = 0; i < 30 / fewer; ++i) {
        FrameworkProfile const framework = busy_framework(random);
        PlannedCase const c = draw_plan(random, true);
        ClosedForm form(c.model, c.workload, machine, framework, Precision::bf16);
        SimulationRequest request;
        request.graph.granularity = Granularity::layer;
        PlanSimulation const run = simulate_plan(form, c.plan, request);
        double const fair = run.simulation.times.makespan().base();
        CHECK(fair >= run.alone.base() * (1 - 1e-9));
        request.engine.other_traffic = 0.5;
        double const busy = step_of(form, c.plan, request);
        CHECK(busy >= fair * (1 - 1e-3));  // priorities of nobody: a delay here may untangle transfers there
        request.engine.other_traffic = 0;
        request.engine.communication_sms = 0.2;
        CHECK(step_of(form, c.plan, request) >= fair * (1 - 1e-3));
    }
}

TEST_CASE("simulation: repetitions are the runs with the seeds one after another, whatever the threads") {
    ClusterSpec const machine = cluster();
    FrameworkProfile const framework = neutral_framework();
    ModelSpec const model = llama(2048, 16, 8, 8, 5504);
    ParallelPlan plan;
    plan.dp = 2;
    plan.pp = 2;
    ClosedForm form(model, {.sequence = 2048, .global_batch = 16}, machine, framework, Precision::bf16);
    SimulationRequest request;
    request.graph.granularity = Granularity::stage;
    request.graph.jitter = 0.05;
    request.graph.seed = 10;
    request.repetitions = 5;
    request.threads = 1;
    std::vector<Seconds> const one = simulate_plan(form, plan, request).repetitions;
    request.threads = 4;
    CHECK(simulate_plan(form, plan, request).repetitions == one);
    REQUIRE(one.size() == 5);
    request.repetitions = 1;
    for (std::size_t i = 0; i < one.size(); ++i) {
        request.graph.seed = 10 + i;
        CHECK(simulate_plan(form, plan, request).simulation.times.makespan() == one[i]);
    }
    CHECK(*std::max_element(one.begin(), one.end()) > *std::min_element(one.begin(), one.end()));
}

TEST_CASE("simulation: a link that fails or is slow is found by its name, and unfolds the ranks") {
    ClusterSpec const machine = cluster();
    FrameworkProfile const framework = neutral_framework();
    ModelSpec const model = llama(2048, 16, 8, 8, 5504);
    ParallelPlan plan;
    plan.dp = 16;
    plan.zero = 1;
    ClosedForm form(model, {.sequence = 2048, .global_batch = 32}, machine, framework, Precision::bf16);
    SimulationRequest request;
    request.graph.granularity = Granularity::layer;
    double const sound = step_of(form, plan, request);
    request.degraded = {{.pattern = "node1.gpu3.nic.out", .factor = 0.1}};
    CHECK(breaks_symmetry(request));
    CHECK(step_of(form, plan, request) > 1.1 * sound);
    request.folding = Folding::folded;
    CHECK_THROWS_AS(simulate_plan(form, plan, request), InputError);
    request.folding.reset();
    request.degraded = {{.pattern = "node9.gpu3.nic.out", .factor = 0.5}};
    CHECK_THROWS_AS(simulate_plan(form, plan, request), InputError);
    request.degraded.clear();
    request.engine.failures = {{.link = "node1.gpu3.nic.out", .at = 1 * units::ms}};
    PlanSimulation const run = simulate_plan(form, plan, request);
    CHECK(run.simulation.state == Simulation::State::stuck);
    CHECK(run.simulation.message.find("node1.gpu3.nic.out") != std::string::npos);
    CHECK(run.repetitions.empty());
}

TEST_CASE("simulation: degraded links slow a step as links of that bandwidth do, and others' traffic as much",
          "[INV-33]") {
    // Of transfers and compute side by side most is lost: what a transfer takes longer, the layers lose.
    FrameworkProfile framework = neutral_framework();
    framework.timing.front().fsdp_overlap = framework.timing.front().dp_overlap = known(0.2);
    ClusterSpec machine = cluster();
    machine.scale_out->bandwidth = known(12.5 * units::GB / units::s);
    ModelSpec const model = llama(2048, 8, 8, 8, 5504);
    Workload const workload{.sequence = 4096, .global_batch = 32};
    ParallelPlan plan{.dp = 16, .zero = GENERATE(1, 2, 3)};
    double const left = GENERATE(0.5, 0.2);
    CAPTURE(plan.zero, left);
    SimulationRequest request;
    request.graph.granularity = Granularity::layer;
    ClosedForm sound(model, workload, machine, framework, Precision::bf16);
    double const usual = step_of(sound, plan, request);
    machine.scale_out->bandwidth = known(left * 12.5 * units::GB / units::s);
    ClosedForm slow(model, workload, machine, framework, Precision::bf16);
    double const expected = step_of(slow, plan, request);
    REQUIRE(expected > 1.02 * usual);
    request.engine.other_traffic = 1 - left;
    PlanSimulation const busy = simulate_plan(sound, plan, request);
    CHECK(busy.simulation.times.makespan().base() == Approx(expected).epsilon(0.01));
    CHECK(busy.alone.base() == Approx(usual).epsilon(0.01));
    request.engine.other_traffic = 0;
    request.degraded = {{.pattern = "*.nic.*", .factor = left}};
    CHECK(step_of(sound, plan, request) == Approx(expected).epsilon(0.01));
    // One of a ring's links holds all of it up.
    request.degraded = {{.pattern = "node1.gpu3.nic.out", .factor = left}};
    CHECK(step_of(sound, plan, request) > usual + 0.5 * (expected - usual));
}

TEST_CASE("simulation: sends of a pipeline that leaves its pod at some stages share the uplinks as they are priced",
          "[INV-33]") {
    FrameworkProfile framework = neutral_framework();
    framework.timing.front().pp_overlap = known(0.0);
    ModelSpec const model = llama(2048, 16, 8, 16, 5504);
    auto const topology = GENERATE(ScaleOutTopology::rail_optimised, ScaleOutTopology::fat_tree);
    auto const pod_domains = GENERATE(2, 4);
    auto const oversubscription = GENERATE(2.0, 8.0);
    ClusterSpec machine = cluster();
    ParallelPlan plan;
    plan.tp = 8;
    plan.pp = 8;
    plan.sequence_parallel = Switch::on;  // whole tensors take longer than passes there, and sends both ways meet
    plan.schedule = Schedule::one_f_one_b;
    Workload const workload{.sequence = 2048, .global_batch = 8};
    SimulationRequest request;
    request.graph.granularity = Granularity::layer;
    ClosedForm flat(model, workload, machine, framework, Precision::bf16);
    double const without = flat.evaluate(plan, PipelineMethod::walk).breakdown.pp.base();
    machine.scale_out->topology = topology;
    machine.scale_out->pod_domains = pod_domains;
    machine.scale_out->oversubscription = known(oversubscription);
    ClosedForm form(model, workload, machine, framework, Precision::bf16);
    StepEstimate const estimate = form.evaluate(plan, PipelineMethod::walk);
    CAPTURE(name_of(topology), pod_domains, oversubscription);
    if (oversubscription > pod_domains)
        CHECK(estimate.breakdown.pp.base() > 1.5 * without);
    else
        CHECK(estimate.breakdown.pp.base() == Approx(without));
    for (Folding const folding : {Folding::folded, Folding::unfolded}) {
        request.folding = folding;
        CHECK(step_of(form, plan, request) == Approx(estimate.time.base()).epsilon(1e-9));
    }
}

TEST_CASE("simulation: memory over time peaks where and near what the footprint says", "[INV-34]") {
    std::mt19937_64 random(seeded(24));
    ClusterSpec const machine = cluster();
    for (int i = 0; i < 60; ++i) {
        FrameworkProfile const framework = neutral_framework();
        PlannedCase c = draw_plan(random, true);
        if (i % 3 == 0) c.plan.loss_chunks = 8;
        ClosedForm form(c.model, c.workload, machine, framework, Precision::bf16);
        CAPTURE(i);
        check_near_footprint(form, c.plan);
    }
}

TEST_CASE("simulation: a layer gathered for its backward does not add to logits, which are gone by then", "[INV-34]") {
    ModelSpec const model = llama(8192, 64, 8, 4, 28672, 131072);
    FrameworkProfile const framework = neutral_framework();
    ClusterSpec const machine = cluster();
    ClosedForm form(model, {.sequence = 2048, .global_batch = 8}, machine, framework, Precision::bf16);
    ParallelPlan plan{.dp = 8, .zero = 3};
    plan.recompute = GENERATE(Recompute::none, Recompute::full);
    check_near_footprint(form, plan, 0.999);
}

TEST_CASE("simulation: activations in host memory make no room for gradients", "[INV-34]") {
    ModelSpec const model = llama(2048, 16, 8, 16, 5504);
    FrameworkProfile framework = neutral_framework();
    framework.memory.frees_gradients = known(1.0);
    ClusterSpec const machine = cluster();
    ClosedForm form(model, {.sequence = 8192, .global_batch = 2}, machine, framework, Precision::bf16);
    ParallelPlan plan{.dp = 2, .zero = 1};
    plan.offload = GENERATE(Offload::none, Offload::activations);
    check_near_footprint(form, plan, 0.97);
}

TEST_CASE("simulation: memory over time peaks where the footprint says of parameters in host memory", "[INV-34]") {
    ModelSpec const model = llama(2048, 16, 8, 16, 5504);
    ClusterSpec const machine = cluster();
    for (char const* const framework : {"deepspeed", "fsdp", "torchtitan"})
        for (std::int64_t const dp : {1, 4})
            for (Offload const offload : {Offload::parameters, Offload::parameters_and_activations}) {
                FrameworkProfile const profile = find_framework(framework, "test");
                ClosedForm form(model, {.sequence = 4096, .global_batch = 8}, machine, profile, Precision::bf16);
                CAPTURE(framework, dp, name_of(offload));
                check_near_footprint(form, {.dp = dp, .zero = 3, .recompute = Recompute::full, .offload = offload},
                                     0.9);
            }
}

TEST_CASE("simulation: memory over time peaks where the footprint says of chunks with unequal layers", "[INV-34]") {
    ModelSpec const model = llama(2048, 16, 8, 32, 5504);
    Workload const workload{.sequence = 4096, .global_batch = 32};
    FrameworkProfile const framework = neutral_framework();
    ClusterSpec const machine = cluster();
    ClosedForm form(model, workload, machine, framework, Precision::bf16);
    ParallelPlan plan;
    plan.pp = 2;
    plan.vpp = 2;
    auto const [schedule, layers] =
        GENERATE(table<Schedule, std::vector<std::int64_t>>({{Schedule::interleaved, {14, 8, 2, 8}},
                                                             {Schedule::interleaved, {2, 8, 14, 8}},
                                                             {Schedule::interleaved, {12, 8, 4, 8}},
                                                             {Schedule::interleaved, {4, 12, 12, 4}},
                                                             {Schedule::overlapped, {14, 8, 2, 8}},
                                                             {Schedule::breadth_first, {14, 8, 2, 8}},
                                                             {Schedule::zb_v, {14, 8, 8, 2}},
                                                             {Schedule::zb_v, {2, 8, 8, 14}},
                                                             {Schedule::dualpipe_v, {14, 8, 8, 2}}}));
    plan.schedule = schedule;
    plan.stage_layers = layers;
    plan.recompute = GENERATE(Recompute::none, Recompute::full);
    plan.recompute_layers = plan.recompute == Recompute::full ? 3 : 0;
    CAPTURE(layers);
    check_near_footprint(form, plan, 0.93);
    // What a search asks of the same plan, without a walk.
    StepEstimate const quick = form.evaluate(plan);
    CHECK(quick.peak() == form.evaluate(plan, PipelineMethod::walk).peak());
    std::vector<StageMemory> const stages = memory_by_stage(form, plan);
    CHECK(quick.peak() == std::max(stages[0].reserved(), stages[1].reserved()));
}

TEST_CASE("simulation: layers that are gathered ahead are in memory, as many as a chunk has at most", "[INV-34]") {
    ModelSpec const model = llama(2048, 16, 8, 8, 5504);
    FrameworkProfile const framework = find_framework(GENERATE("fsdp", "torchtitan", "megatron"), "test");
    ClusterSpec const machine = find_cluster("h100-sxm", "test");
    ParallelPlan plan{.dp = 16, .zero = 3};
    ClosedForm form(model, {.sequence = 2048, .global_batch = 16}, machine, framework, Precision::bf16);
    TaskGraph const graph = build_task_graph(form, plan, {.granularity = Granularity::layer});
    TaskTimes const times = walk_graph(graph);
    auto const peak = [&](std::int64_t prefetch) {
        return memory_timelines(graph, times, memory_input(form, plan, graph, prefetch)).front().peak;
    };
    StageLoad const load = form.assemble(form.price_shape(plan), plan).stages.front().load;
    Bytes const layer = 2 * load.largest_layer.total() * units::B;
    CAPTURE(framework.name, peak(1).base(), peak(2).base());
    CHECK(peak(0) == peak(1));
    CHECK((peak(2) - peak(1)).base() == Approx(layer.base()).epsilon(0.01));
    CHECK((peak(7) - peak(1)).base() == Approx(6 * layer.base()).epsilon(0.01));
    CHECK(peak(8) == peak(7));
    CHECK(peak(1000) == peak(7));
    plan.zero = 2;
    TaskGraph const whole = build_task_graph(form, plan, {.granularity = Granularity::layer});
    auto const peak_of_whole = [&](std::int64_t prefetch) {
        return memory_timelines(whole, walk_graph(whole), memory_input(form, plan, whole, prefetch)).front().peak;
    };
    CHECK(peak_of_whole(7) == peak_of_whole(1));
}

TEST_CASE("simulation: an order of passes that no plan names holds what it holds, whatever stands in for it",
          "[INV-34]") {
    ModelSpec const model = llama(2048, 16, 8, 8, 5504, 128'000);
    FrameworkProfile const framework = find_framework("megatron", "test");
    ClusterSpec const machine = find_cluster("h100-sxm", "test");
    Workload const workload{.sequence = 2048, .global_batch = 16};
    ClosedForm form(model, workload, machine, framework, Precision::bf16);
    ParallelPlan plan{.tp = 2, .pp = 4};
    auto const reserved = [&](Schedule simulated, Schedule stand_in) {
        plan.schedule = simulated;
        PipelineSchedule const order = schedule_of(plan, workload);
        plan.schedule = stand_in;
        bool const named = simulated == stand_in;
        TaskGraph const graph = build_task_graph(form, plan, {.granularity = Granularity::layer, .schedule = &order});
        auto const memory = memory_timelines(graph, walk_graph(graph), memory_input(form, plan, graph));
        std::vector<double> const factors = reserved_factors(form, plan, graph, memory, named ? nullptr : &order);
        std::vector<double> bytes;
        for (std::size_t rank = 0; rank < memory.size(); ++rank)
            bytes.push_back(factors[rank] * memory[rank].peak.base());
        return bytes;
    };
    for (Schedule const schedule : {Schedule::gpipe, Schedule::one_f_one_b})
        for (Schedule const stand_in : {Schedule::gpipe, Schedule::one_f_one_b}) {
            std::vector<double> const own = reserved(schedule, schedule);
            std::vector<double> const other = reserved(schedule, stand_in);
            CAPTURE(name_of(schedule), name_of(stand_in));
            for (std::size_t rank = 0; rank < own.size(); ++rank)
                CHECK(other[rank] == Approx(own[rank]).epsilon(0.02));
        }
    CHECK(reserved(Schedule::gpipe, Schedule::one_f_one_b).back() >
          1.5 * reserved(Schedule::one_f_one_b, Schedule::gpipe).back());
}

TEST_CASE("simulation: updated weights are gathered when activations are gone", "[INV-34]") {
    ModelSpec const model = llama(2048, 16, 8, 32, 5504);
    FrameworkProfile const framework = find_framework("nanotron", "test");
    REQUIRE(framework.memory.gather_bytes.value > 0);
    ClusterSpec const machine = find_cluster("h100-sxm", "test");
    ParallelPlan plan;
    plan.dp = 3;
    plan.pp = 2;
    plan.zero = 1;
    plan.recompute = GENERATE(Recompute::none, Recompute::full);
    plan.vpp = GENERATE(1, 2);
    plan.schedule = plan.vpp > 1 ? Schedule::interleaved : Schedule::one_f_one_b;
    // With short sequences the gathers are the peak, with long ones the activations.
    Workload const workload{.sequence = GENERATE(128, 512, 2048, 8192), .global_batch = 48};
    ClosedForm form(model, workload, machine, framework, Precision::bf16);
    CAPTURE(workload.sequence);
    check_near_footprint(form, plan, 0.95);
}

TEST_CASE("simulation: what every microbatch sends hides behind layers, and not behind a large head", "[INV-24]") {
    FrameworkProfile framework = neutral_framework();
    framework.timing.front().fsdp_overlap = framework.timing.front().dp_overlap = known(0.9);
    ClusterSpec machine = cluster();
    // Slow enough that the layers wait for it, and quick enough that they do not.
    double const bandwidth = GENERATE(8.0, 16.0, 400.0);
    machine.scale_out->bandwidth = known(bandwidth * units::GB / units::s);
    ModelSpec const model = llama(2048, 16, 8, 24, 5504, GENERATE(32'000, 256'000));
    ParallelPlan plan{.dp = 32, .zero = GENERATE(2, 3)};
    plan.recompute = GENERATE(Recompute::none, Recompute::full);
    ClosedForm form(model, {.sequence = 4096, .global_batch = 128}, machine, framework, Precision::bf16);
    TaskGraph const graph = build_task_graph(form, plan, {.granularity = Granularity::layer});
    CAPTURE(bandwidth, model.vocab, plan.zero, name_of(plan.recompute));
    CHECK(walk_graph(graph).makespan().base() ==
          Approx(form.evaluate(plan).time.base()).epsilon(plan.zero == 3 ? 0.02 : 0.05));
}

TEST_CASE("simulation: memory over time stays within the footprint where activations wait on the host", "[INV-34]") {
    std::mt19937_64 random(seeded(25));
    ClusterSpec const machine = cluster();
    for (int i = 0; i < 100; ++i) {
        FrameworkProfile const framework = neutral_framework();
        PlannedCase c = draw_offloaded(random);
        if (i % 3 == 0) c.plan.loss_chunks = 8;
        ClosedForm form(c.model, c.workload, machine, framework, Precision::bf16);
        CAPTURE(i);
        check_near_footprint(form, c.plan);
    }
}

TEST_CASE("simulation: steps that follow one another need the memory of one", "[INV-34]") {
    std::mt19937_64 random(seeded(26));
    ClusterSpec const machine = cluster();
    for (int i = 0; i < 20; ++i) {
        FrameworkProfile const framework = neutral_framework();
        PlannedCase const c = draw_plan(random, true);
        ClosedForm form(c.model, c.workload, machine, framework, Precision::bf16);
        auto const peaks = [&](std::int64_t steps) {
            TaskGraph const graph = build_task_graph(form, c.plan, {.granularity = Granularity::stage, .steps = steps});
            std::vector<Bytes> out;
            for (MemoryTimeline const& timeline :
                 memory_timelines(graph, walk_graph(graph), memory_input(form, c.plan, graph)))
                out.push_back(timeline.peak);
            return out;
        };
        CAPTURE(i, c.plan.pp, c.plan.vpp, name_of(c.plan.schedule));
        CHECK(peaks(3) == peaks(1));
    }
}

TEST_CASE("simulation: a forward and a backward side by side have logits, or a layer that runs again, once each",
          "[INV-34]") {
    ModelSpec const model = llama(2048, 16, 8, 16, 5504);
    Workload const workload{.sequence = 2048, .global_batch = 32};
    FrameworkProfile const framework = neutral_framework();
    ClusterSpec const machine = cluster();
    ClosedForm form(model, workload, machine, framework, Precision::bf16);
    auto const [schedule, chunks] = GENERATE(
        table<Schedule, std::int64_t>({{Schedule::overlapped, 2}, {Schedule::dualpipe, 1}, {Schedule::dualpipe_v, 2}}));
    auto const recompute = GENERATE(Recompute::none, Recompute::selective, Recompute::full);
    ParallelPlan plan;
    plan.pp = 4;
    plan.vpp = chunks;
    plan.schedule = schedule;
    plan.recompute = recompute;
    check_near_footprint(form, plan, 0.95);
}

TEST_CASE("simulation: what runs again for an input half is held for the weight half, whole", "[INV-34]") {
    ModelSpec const model = llama(2048, 16, 8, 16, 5504);
    Workload const workload{.sequence = 2048, .global_batch = 32};
    FrameworkProfile const framework = neutral_framework();
    ClusterSpec const machine = cluster();
    ClosedForm form(model, workload, machine, framework, Precision::bf16);
    auto const [schedule, chunks] =
        GENERATE(table<Schedule, std::int64_t>({{Schedule::zb_h1, 1}, {Schedule::zb_h2, 1}, {Schedule::zb_v, 2}}));
    ParallelPlan plan;
    plan.pp = 4;
    plan.vpp = chunks;
    plan.schedule = schedule;
    std::vector<StageMemory> const without = memory_by_stage(form, plan);
    plan.recompute = GENERATE(Recompute::selective, Recompute::full);
    plan.recompute_modules = {RecomputeModule::layernorm, RecomputeModule::mlp};
    check_near_footprint(form, plan, 0.95);
    std::vector<StageMemory> const again = memory_by_stage(form, plan);
    for (std::size_t rank = 0; rank < again.size(); ++rank) {
        CAPTURE(rank);
        // On the last rank of zb-h1 all that are in flight wait at one moment.
        CHECK(again[rank].activations <= without[rank].activations * (1 + 1e-12));
        // One chunk waits whole on every rank.
        CHECK(again[rank].activations >
              without[rank].activations / without[rank].in_flight / static_cast<double>(chunks));
    }
    CHECK(again.front().activations < without.front().activations);
    StepEstimate const quick = form.evaluate(plan);
    CHECK(quick.peak() == form.evaluate(plan, PipelineMethod::walk).peak());
    auto const fullest = [](StageMemory const& a, StageMemory const& b) { return a.reserved() < b.reserved(); };
    CHECK(quick.peak() == std::max_element(again.begin(), again.end(), fullest)->reserved());
}

TEST_CASE("simulation: scores that are made again are gone with their layer's input half", "[INV-34]") {
    ModelSpec const model = llama(2048, 16, 16, 16, 5504);
    FrameworkProfile const framework = neutral_framework();
    ClusterSpec const machine = cluster();
    ClosedForm form(model, {.sequence = 4096, .global_batch = 32}, machine, framework, Precision::bf16);
    ParallelPlan plan{.pp = 4};
    plan.attention = AttentionKernel::unfused;
    plan.recompute = Recompute::selective;
    auto const last = [&](Schedule schedule) {
        plan.schedule = schedule;
        return memory_by_stage(form, plan).front();
    };
    CHECK(last(Schedule::zb_h1).activations == last(Schedule::one_f_one_b).activations);
    check_near_footprint(form, plan, 0.95);
}

TEST_CASE("simulation: what predicts further tokens runs again with the layers", "[INV-32]") {
    ModelSpec model = mixture(2048, 16, 8, 2, 5504);
    FrameworkProfile const framework = neutral_framework();
    ClusterSpec const machine = cluster();
    ParallelPlan plan{.pp = 2};
    plan.stage_layers = {8, 8};  // with a module or without
    plan.recompute = GENERATE(Recompute::none, Recompute::selective, Recompute::full);
    plan.recompute_layers = GENERATE(0, 2);
    if (plan.recompute != Recompute::full) plan.recompute_layers = 0;
    auto const recompute_of = [&](std::int64_t modules) {
        model.mtp_modules = modules;
        ClosedForm form(model, {.sequence = 2048, .global_batch = 8}, machine, framework, Precision::bf16);
        check_near_footprint(form, plan, 0.9);
        StepEstimate const estimate = form.evaluate(plan, PipelineMethod::walk);
        SimulationRequest request;
        request.graph.granularity = Granularity::layer;
        CHECK(step_of(form, plan, request) == Approx(estimate.time.base()).epsilon(1e-9));
        return estimate.breakdown.recompute;
    };
    Seconds const without = recompute_of(0), with = recompute_of(1);
    if (plan.recompute != Recompute::none && plan.recompute_layers == 0)
        CHECK(with > without);
    else
        CHECK(with == without);
}

TEST_CASE("simulation: without backwards nothing waits for one, the logits neither", "[INV-34]") {
    ModelSpec const model = llama(2048, 16, 8, 16, 5504);
    FrameworkProfile const framework = neutral_framework();
    ClusterSpec const machine = cluster();
    ParallelPlan plan;
    plan.pp = 4;
    plan.schedule = Schedule::gpipe;
    auto const peak = [&](std::int64_t sequences) {
        Workload const workload{.sequence = 2048, .global_batch = sequences};
        ClosedForm form(model, workload, machine, framework, Precision::bf16);
        PipelineSchedule const forwards =
            build_schedule(find_schedule("forward-only", "test"), shape_of(plan, workload), "test");
        TaskGraph const graph =
            build_task_graph(form, plan, {.granularity = Granularity::stage, .schedule = &forwards});
        return memory_timelines(graph, walk_graph(graph), memory_input(form, plan, graph)).back().peak;
    };
    CHECK(peak(16) == peak(4));
}
