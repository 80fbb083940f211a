#include "simulator/data_parallel.hpp"
#include "simulator/plan_simulation.hpp"
#include "tests/catch.hpp"
#include "tests/seeds.hpp"
#include "tests/simulator/planned_case.hpp"

#include <cmath>

using namespace sextant;
using namespace sextant::fixtures;

namespace {

/// 32 layers of 10 M parameters each: four of them fill a bucket of 40 M.
StageLoad load_of_small_layers() {
    StageLoad load;
    load.parameters.dense = 320e6;
    load.layers = 32;
    return load;
}

FrameworkTiming sends_two_bytes(double overlap) {
    FrameworkTiming t = neutral_timing();
    t.gradient_bytes_sent = t.weight_bytes_sent = known(2.0);
    t.dp_overlap = t.fsdp_overlap = known(overlap);
    return t;
}

struct Bucketed {
    ParallelPlan plan;
    FrameworkTiming timing;
    ClusterSpec machine = cluster();
    Pricer pricer{machine, timing};
    DataParallelCurves curves = data_parallel_curves(plan, pricer);

    Bucketed(ParallelPlan const& of, double overlap) : plan(of), timing(sends_two_bytes(overlap)) {
        curves.bucket = gradient_bucket(plan);
    }
    [[nodiscard]] Seconds exposed(StageLoad const& load, Seconds pass) const {
        return data_parallel_time(load, plan, {.forward = pass, .backward = pass, .weight = pass}, curves,
                                  machine.accelerator, timing)
            .exposed;
    }
    [[nodiscard]] Seconds reduce(double parameters) const {
        return collective_curve(machine, CollectiveKind::all_reduce, place_group(plan.dp, plan.tp, machine.domain_size))
            .time(2 * parameters * units::B);
    }
};

/// Bytes that a rank of `load` sends in one gather of updated weights, per parameter.
double gathered_per_parameter(StageLoad const& load, ParallelPlan const& plan, FrameworkTiming const& timing) {
    ClusterSpec machine = cluster();
    machine.scale_up.base_latency.value = machine.scale_up.hop_latency.value = {};
    Pricer pricer(machine, timing);
    DataParallelCurves const curves = data_parallel_curves(plan, pricer);
    Seconds const sent = data_parallel_calls(load, plan, curves, timing).at(DataParallelMoment::forward_first);
    double const parameters = load.parameters.dense + load.parameters.expert;
    return 2 * sent / (load.layers * curves.dense.gather->time(2 * parameters / load.layers * units::B));
}

}  // namespace

TEST_CASE("gradient_bucket: 40 M parameters, or 1 M for each rank that gradients are reduced over", "[INV-24]") {
    CHECK(gradient_bucket({.dp = 8}) == 40e6);
    CHECK(gradient_bucket({.dp = 512}) == 512e6);
    CHECK(gradient_bucket({.dp = 64, .cp = 4}) == 256e6);
}

TEST_CASE("data_parallel_time: layers shorter than a bucket are reduced together, and one bucket shows", "[INV-24]") {
    Bucketed const open({.dp = 8}, 0);
    CHECK(open.exposed(load_of_small_layers(), {}).base() == Approx(8 * open.reduce(40e6).base()).epsilon(1e-12));
    Bucketed const hidden({.dp = 8}, 1);
    CHECK(hidden.exposed(load_of_small_layers(), 1000 * units::s).base() ==
          Approx(hidden.reduce(40e6).base()).epsilon(1e-12));
    // Of long layers each has a call of its own.
    StageLoad long_layers = load_of_small_layers();
    long_layers.parameters.dense = 32 * 50e6;
    CHECK(hidden.exposed(long_layers, 1000 * units::s).base() == Approx(hidden.reduce(50e6).base()).epsilon(1e-12));
}

TEST_CASE("data_parallel_time: ranks of a pipeline behind the first reduce all at once", "[INV-24]") {
    Bucketed const later({.dp = 8, .pp = 4}, 1);
    StageLoad load = load_of_small_layers();
    CHECK(later.exposed(load, 1000 * units::s).base() == Approx(later.reduce(40e6).base()).epsilon(1e-12));
    load.leads = false;
    CHECK(later.exposed(load, 1000 * units::s).base() == Approx(later.reduce(320e6).base()).epsilon(1e-12));
    // Chunk by chunk where there are several.
    Bucketed const chunked({.dp = 8, .pp = 4, .vpp = 2}, 0);
    CHECK(chunked.exposed(load, {}).base() == Approx(2 * chunked.reduce(160e6).base()).epsilon(1e-12));
}

TEST_CASE("data_parallel_time: what is reduced in every microbatch goes layer by layer", "[INV-24]") {
    Bucketed const bucketed({.dp = 8, .zero = 3}, 0);
    Bucketed whole({.dp = 8, .zero = 3}, 0);
    whole.curves.bucket = 0;
    CHECK(bucketed.exposed(load_of_small_layers(), {}) == whole.exposed(load_of_small_layers(), {}));
}

TEST_CASE("data_parallel_calls: weights kept in fp8 are gathered in one byte, but those of embedding and head",
          "[INV-24]") {
    StageLoad load = load_of_small_layers();
    FrameworkTiming timing = sends_two_bytes(0);
    ParallelPlan plan{.dp = 8, .zero = 1};
    CHECK(gathered_per_parameter(load, plan, timing) == Approx(2));
    plan.precision = Precision::fp8;
    CHECK(gathered_per_parameter(load, plan, timing) == Approx(1));
    load.parameters.embedding = load.parameters.dense / 4;
    CHECK(gathered_per_parameter(load, plan, timing) == Approx(1.25));
    plan.precision = Precision::fp8_block;
    CHECK(gathered_per_parameter(load, plan, timing) == Approx(1.25));
    // Rounded along rows and columns, or in every microbatch, or beside 16-bit weights.
    plan.precision = Precision::mxfp8;
    CHECK(gathered_per_parameter(load, plan, timing) == Approx(2));
    plan.precision = Precision::fp8;
    timing.casts_weights = known(1.0);
    CHECK(gathered_per_parameter(load, plan, timing) == Approx(2));
    timing.casts_weights = known(0.0);
    plan.narrow_copies = Switch::on;
    CHECK(gathered_per_parameter(load, plan, timing) == Approx(2));
}

TEST_CASE("graph: what data parallelism adds in buckets is near the closed form, on one stage and several",
          "[INV-30]") {
    std::mt19937_64 random(seeded(41));
    ClusterSpec const machine = cluster();
    int bucketed = 0, near = 0, drawn = 0;
    while (drawn < 300) {
        PlannedCase const c = draw_plan(random, true);
        FrameworkProfile framework = busy_framework(random);
        framework.family = "megatron";
        if (c.plan.dp * c.plan.cp == 1 || c.plan.zero > 1) continue;
        ++drawn;
        ClosedForm form(c.model, c.workload, machine, framework, Precision::bf16);
        StepEstimate const estimate = form.evaluate(c.plan, PipelineMethod::walk);
        double const ratio =
            walk_graph(build_task_graph(form, c.plan, {.granularity = Granularity::layer})).makespan() / estimate.time;
        CAPTURE(drawn, c.plan.tp, c.plan.pp, c.plan.dp, c.plan.vpp, c.plan.zero, name_of(c.plan.schedule), ratio,
                estimate.breakdown.dp / estimate.time);
        framework.family.clear();
        ClosedForm plain(c.model, c.workload, machine, framework, Precision::bf16);
        if (plain.evaluate(c.plan, PipelineMethod::walk).time != estimate.time) ++bucketed;
        if (std::abs(ratio - 1) < 0.03) ++near;
        CHECK(ratio > 0.9);
        CHECK(ratio < 1.1);
    }
    CHECK(bucketed > 100);
    CHECK(near > 0.95 * drawn);
}
