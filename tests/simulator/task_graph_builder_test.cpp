#include "simulator/task_graph_builder.hpp"

#include "core/error.hpp"
#include "core/graph/plan_check.hpp"
#include "simulator/plan_simulation.hpp"
#include "simulator/rank_activity.hpp"
#include "tests/catch.hpp"
#include "tests/seeds.hpp"
#include "tests/simulator/planned_case.hpp"

#include <atomic>
#include <cmath>

using namespace sextant;
using namespace sextant::fixtures;

namespace {

double simulated(ClosedForm& form, ParallelPlan const& plan, GraphOptions const& options) {
    return walk_graph(build_task_graph(form, plan, options)).makespan().base();
}

}  // namespace

TEST_CASE("graph: without data parallelism the walk takes what the estimate says, however fine it is", "[INV-30]") {
    std::mt19937_64 random(seeded(5));
    ClusterSpec const machine = cluster();
    for (int i = 0; i < 150; ++i) {
        FrameworkProfile const framework = busy_framework(random);
        PlannedCase const c = draw_plan(random, false);
        ClosedForm form(c.model, c.workload, machine, framework, Precision::bf16);
        StepEstimate const estimate = form.evaluate(c.plan, PipelineMethod::walk);
        // Nobody reduces gradients here but the copies of DualPipe's stages, and the ends of a pipeline that share an
        // embedding.
        bool const copies = c.plan.schedule == Schedule::dualpipe;
        double const expected = (estimate.time - (copies ? estimate.breakdown.dp : Seconds{})).base();
        CAPTURE(i, c.plan.tp, c.plan.pp, name_of(c.plan.schedule), expected);
        for (Granularity const granularity : {Granularity::op, Granularity::layer, Granularity::stage}) {
            double const step = simulated(form, c.plan, {.granularity = granularity});
            if (!copies) {
                CHECK(step == Approx(expected).epsilon(1e-9));
                continue;
            }
            // The two copies of DualPipe's stages add their gradients, beside other passes than the closed form counts.
            CHECK(step > expected);
            CHECK(step < 1.1 * (expected + estimate.breakdown.dp.base()));
        }
    }
}

TEST_CASE("graph: activations that wait on the host stretch a step by what the estimate says, under every schedule",
          "[INV-30]") {
    std::mt19937_64 random(seeded(11));
    int stretched = 0;
    for (int i = 0; i < 200; ++i) {
        ClusterSpec const machine = cluster_with_host_link(random);
        FrameworkProfile const framework = busy_framework(random);
        PlannedCase const c = draw_offloaded(random);
        ClosedForm form(c.model, c.workload, machine, framework, Precision::bf16);
        StepEstimate const estimate = form.evaluate(c.plan, PipelineMethod::walk);
        // Nobody reduces gradients here but the copies of DualPipe's stages, and the ends of a pipeline that share an
        // embedding.
        bool const copies = c.plan.schedule == Schedule::dualpipe;
        double const expected = (estimate.time - (copies ? estimate.breakdown.dp : Seconds{})).base();
        double const step = simulated(form, c.plan, {.granularity = Granularity::layer});
        CAPTURE(i, c.plan.tp, c.plan.pp, name_of(c.plan.schedule), expected, estimate.breakdown.offload.base());
        if (estimate.breakdown.offload.base() > 0.01 * expected) ++stretched;
        if (copies)
            CHECK((step > expected && step < 1.1 * (expected + estimate.breakdown.dp.base())));
        else
            CHECK(step == Approx(expected).epsilon(1e-9));
    }
    CHECK(stretched > 60);
}

TEST_CASE("graph: ZeRO 3 beside activations on their way to the host takes what the estimate says", "[INV-30]") {
    std::mt19937_64 random(seeded(29));
    int both = 0;
    for (int i = 0; i < 300; ++i) {
        ClusterSpec const machine = cluster_with_host_link(random);
        FrameworkProfile const framework = busy_framework(random);
        PlannedCase c = draw_plan(random, true);
        c.plan.pp = c.plan.vpp = 1;
        c.plan.schedule = Schedule::one_f_one_b;
        c.plan.dp = 4;
        c.plan.zero = pick(random, {2, 3});
        c.plan.offload = Offload::activations;
        c.workload.global_batch = 32;
        ClosedForm form(c.model, c.workload, machine, framework, Precision::bf16);
        StepEstimate const estimate = form.evaluate(c.plan);
        double const step = simulated(form, c.plan, {.granularity = Granularity::layer});
        Seconds const least = 0.02 * estimate.time;
        if (estimate.breakdown.dp > least && estimate.breakdown.offload > least) ++both;
        CAPTURE(i, c.plan.cp, c.plan.zero, c.plan.ep, estimate.time.base(), estimate.breakdown.dp.base(),
                estimate.breakdown.offload.base(), step);
        CHECK(step == Approx(estimate.time.base()).epsilon(0.05));
    }
    CHECK(both > 15);
}

TEST_CASE("graph: weights that come from host memory take what the estimate says", "[INV-30]") {
    std::mt19937_64 random(seeded(37));
    int waits = 0;
    for (int i = 0; i < 300; ++i) {
        ClusterSpec const machine = cluster_with_host_link(random);
        FrameworkProfile const framework = busy_framework(random);
        PlannedCase c = draw_plan(random, true);
        c.plan.pp = c.plan.vpp = 1;
        c.plan.schedule = Schedule::one_f_one_b;
        c.plan.dp = pick<std::int64_t>(random, {1, 4});
        c.plan.zero = 3;
        c.plan.offload = pick(random, {Offload::parameters, Offload::parameters, Offload::parameters_and_activations});
        c.workload.global_batch = 32;
        if (find_problem(c.model, c.plan, c.workload)) continue;
        ClosedForm form(c.model, c.workload, machine, framework, Precision::bf16);
        StepEstimate const estimate = form.evaluate(c.plan);
        double const step = simulated(form, c.plan, {.granularity = Granularity::layer});
        StepBreakdown const& b = estimate.breakdown;
        if (b.offload > 0.3 * estimate.time) ++waits;
        CAPTURE(i, c.plan.dp, c.plan.cp, c.plan.ep, name_of(c.plan.offload), estimate.time.base(), b.dp.base(),
                b.offload.base(), step);
        CHECK(step == Approx(estimate.time.base()).epsilon(0.05));
    }
    CHECK(waits > 30);
}

TEST_CASE("graph: every rank for itself takes as long as one for all", "[INV-31]") {
    std::mt19937_64 random(seeded(6));
    ClusterSpec const machine = cluster();
    for (int i = 0; i < 60; ++i) {
        FrameworkProfile const framework = busy_framework(random);
        PlannedCase const c = draw_plan(random, true);
        ClosedForm form(c.model, c.workload, machine, framework, Precision::bf16);
        GraphOptions options{.granularity = pick(random, {Granularity::op, Granularity::layer, Granularity::stage})};
        TaskGraph const folded = build_task_graph(form, c.plan, options);
        options.folding = Folding::unfolded;
        TaskGraph const unfolded = build_task_graph(form, c.plan, options);
        CAPTURE(i, c.plan.dp, c.plan.tp, c.plan.pp, c.plan.cp, c.plan.zero, name_of(c.plan.schedule));
        CHECK(folded.ranks.size() == static_cast<std::size_t>(c.plan.pp));
        CHECK(unfolded.ranks.size() == static_cast<std::size_t>(c.plan.world_size()));
        CHECK(walk_graph(unfolded).makespan().base() == Approx(walk_graph(folded).makespan().base()).epsilon(1e-12));
    }
}

TEST_CASE("graph: what data parallelism adds is near the closed form, and at least one layer's part shows") {
    std::mt19937_64 random(seeded(7));
    ClusterSpec const machine = cluster();
    for (int i = 0; i < 150; ++i) {
        FrameworkProfile const framework = busy_framework(random);
        PlannedCase c = draw_plan(random, true);
        c.plan.pp = 1;
        c.plan.schedule = Schedule::one_f_one_b;
        c.plan.vpp = 1;
        ClosedForm form(c.model, c.workload, machine, framework, Precision::bf16);
        StepEstimate const estimate = form.evaluate(c.plan);
        double const step = simulated(form, c.plan, {.granularity = Granularity::layer});
        double const without = (estimate.time - estimate.breakdown.dp).base();
        CAPTURE(i, c.plan.dp, c.plan.cp, c.plan.zero, c.plan.ep, estimate.time.base(), estimate.breakdown.dp.base(),
                step);
        CHECK(step >= without * (1 - 1e-9));
        CHECK(step == Approx(estimate.time.base()).epsilon(0.1));
        if (c.plan.dp * c.plan.cp == 1 && c.plan.ep <= 1) CHECK(step == Approx(without).epsilon(1e-9));
    }
}

TEST_CASE("graph: what data parallelism adds to a pipeline is what the estimate says, under every schedule and overlap",
          "[INV-30]") {
    std::mt19937_64 random(seeded(23));
    ClusterSpec const machine = cluster();
    int chunked = 0, near = 0, drawn = 0;
    while (drawn < 300) {
        PlannedCase const c = draw_plan(random, true);
        FrameworkProfile const framework = busy_framework(random);
        if (c.plan.pp == 1 || c.plan.dp * c.plan.cp == 1) continue;
        ++drawn;
        ClosedForm form(c.model, c.workload, machine, framework, Precision::bf16);
        StepEstimate const estimate = form.evaluate(c.plan, PipelineMethod::walk);
        double const ratio = simulated(form, c.plan, {.granularity = Granularity::layer}) / estimate.time.base();
        CAPTURE(drawn, c.plan.tp, c.plan.pp, c.plan.dp, c.plan.vpp, c.plan.zero, name_of(c.plan.schedule), ratio,
                estimate.breakdown.dp / estimate.time);
        if (c.plan.vpp > 1) ++chunked;
        if (std::abs(ratio - 1) < 0.03) ++near;
        CHECK(ratio > 0.9);
        CHECK(ratio < 1.1);
    }
    CHECK(chunked > 50);
    CHECK(near > 0.95 * drawn);
}

TEST_CASE("graph: a straggler slows the step by what the slowest rank needs, and jitter is the same for a seed") {
    std::mt19937_64 random(seeded(8));
    ClusterSpec const machine = cluster();
    FrameworkProfile const framework = neutral_framework();
    ModelSpec const model = llama(2048, 16, 8, 8, 5504);
    ParallelPlan plan;
    plan.dp = 4;
    plan.pp = 2;
    plan.zero = 1;
    ClosedForm form(model, {.sequence = 2048, .global_batch = 32}, machine, framework, Precision::bf16);
    GraphOptions options{.granularity = Granularity::layer, .folding = Folding::unfolded};
    double const even = simulated(form, plan, options);
    options.stragglers = {{.rank = 5, .factor = 2.0}};
    double const slow = simulated(form, plan, options);
    CHECK(slow > 1.5 * even);
    CHECK(slow < 2.05 * even);
    options.stragglers.clear();
    options.jitter = 0.05;
    options.seed = 3;
    double const noisy = simulated(form, plan, options);
    CHECK(noisy == simulated(form, plan, options));
    CHECK(noisy > even);
    options.seed = 4;
    CHECK(noisy != simulated(form, plan, options));
    options.folding = Folding::folded;
    CHECK_THROWS_AS(build_task_graph(form, plan, options), InputError);
    options.jitter = 0;
    options.stragglers = {{.rank = 8, .factor = 2.0}};
    options.folding = Folding::unfolded;
    CHECK_THROWS_AS(build_task_graph(form, plan, options), InputError);
    options.stragglers.clear();
    options.most_tasks = 100;
    CHECK_THROWS_AS(build_task_graph(form, plan, options), InputError);
}

TEST_CASE("graph: a straggler and jitter stretch what a rank computes, not what it sends") {
    ClusterSpec const machine = cluster();
    FrameworkProfile const framework = neutral_framework();
    ModelSpec model = llama(2048, 16, 8, 8, 5504);
    model.tied_embeddings = true;  // both ends of the pipeline reduce its gradients
    ParallelPlan plan{.dp = 2, .tp = 2, .pp = 2};
    ClosedForm form(model, {.sequence = 2048, .global_batch = 16}, machine, framework, Precision::bf16);
    GraphOptions options{.granularity = Granularity::layer, .folding = Folding::unfolded};
    TaskGraph const even = build_task_graph(form, plan, options);
    options.stragglers = {{.rank = 0, .factor = 10}};
    options.jitter = 0.1;
    TaskGraph const uneven = build_task_graph(form, plan, options);
    REQUIRE(uneven.tasks.size() == even.tasks.size());
    int reduced = 0;
    for (std::size_t id = 0; id < even.tasks.size(); ++id) {
        Task const& task = even.tasks[id];
        bool const reduces = even.names[task.name] == "reduce gradients of the embedding";
        reduced += reduces ? 1 : 0;
        if (reduces || is_communication(task.part)) CHECK(uneven.tasks[id].duration == task.duration);
    }
    CHECK(reduced > 0);
}

TEST_CASE("graph: jitter leaves the mean of what is computed, and spreads it alike however fine the tasks are") {
    ClusterSpec const machine = cluster();
    FrameworkProfile const framework = neutral_framework();
    ModelSpec const model = llama(2048, 16, 8, 8, 5504);
    ClosedForm form(model, {.sequence = 2048, .global_batch = 512}, machine, framework, Precision::bf16);
    // On one rank the step is the sum of its tasks: of 512 microbatches it is near their mean.
    auto const [granularity, jitter] = GENERATE(table<Granularity, double>(
        {{Granularity::op, 0.5}, {Granularity::layer, 0.5}, {Granularity::stage, 0.5}, {Granularity::layer, 1.0}}));
    GraphOptions options{.granularity = granularity, .folding = Folding::unfolded};
    double const even = simulated(form, {}, options);
    options.jitter = jitter;
    constexpr int runs = 40;
    double sum = 0, squares = 0;
    for (int i = 0; i < runs; ++i) {
        options.seed = static_cast<std::uint64_t>(i) + 1;
        double const ratio = simulated(form, {}, options) / even;
        sum += ratio;
        squares += ratio * ratio;
    }
    double const mean = sum / runs;
    double const spread = std::sqrt(squares / runs - mean * mean);
    CAPTURE(name_of(granularity), jitter, mean, spread);
    CHECK(mean == Approx(1).margin(5 * spread / std::sqrt(runs)));
    // The same of the kernels one by one.
    TaskGraph const kernels = build_task_graph(form, {}, {.granularity = Granularity::op});
    double total = 0, of_squares = 0;
    for (Task const& task : kernels.tasks) {
        total += task.duration;
        of_squares += task.duration * task.duration;
    }
    double const expected = std::sqrt(std::expm1(jitter * jitter) * of_squares) / total;
    CHECK(spread > 0.6 * expected);
    CHECK(spread < 1.5 * expected);
}

TEST_CASE("graph: none is built once an interrupt has come") {
    ClusterSpec const machine = cluster();
    FrameworkProfile const framework = neutral_framework();
    ModelSpec const model = llama(2048, 16, 8, 8, 5504);
    ClosedForm form(model, {.sequence = 2048, .global_batch = 8}, machine, framework, Precision::bf16);
    std::atomic<bool> stop = false;
    GraphOptions options;
    options.stop = &stop;
    CHECK_NOTHROW(build_task_graph(form, {}, options));
    stop = true;
    CHECK_THROWS_AS(build_task_graph(form, {}, options), BuildInterrupted);

    SimulationRequest request;
    request.engine.stop = &stop;
    PlanSimulation const run = simulate_plan(form, {}, request);
    CHECK(run.simulation.state == Simulation::State::interrupted);
    CHECK_THAT(run.simulation.message, contains("nothing was simulated"));
}

TEST_CASE("graph: steps follow one another") {
    ClusterSpec const machine = cluster();
    FrameworkProfile const framework = neutral_framework();
    ModelSpec const model = llama(2048, 16, 8, 8, 5504);
    ParallelPlan plan;
    plan.pp = 4;
    ClosedForm form(model, {.sequence = 2048, .global_batch = 8}, machine, framework, Precision::bf16);
    double const one = simulated(form, plan, {});
    // A rank begins the next step when it has updated its own weights.
    double const three = simulated(form, plan, {.steps = 3});
    CHECK(three <= 3 * one * (1 + 1e-12));
    CHECK(three > 2.9 * one);
}
