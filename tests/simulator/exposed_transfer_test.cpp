#include "simulator/exposed_transfer.hpp"

#include "simulator/plan_simulation.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"

#include <algorithm>

using namespace sextant;
using namespace sextant::fixtures;
using units::ms;

TEST_CASE("exposed_by_layer: of layers that are all alike it is what all traffic leaves beside all compute",
          "[INV-24]") {
    double const overlap = GENERATE(0.0, 0.6, 1.0);
    double const gathers = GENERATE(1.0, 3.0, 9.0);
    double const reductions = GENERATE(0.0, 40.0, 400.0);
    LayersOfKind const layer{.layers = 20, .gathers = gathers * ms, .compute = 4 * ms};
    double const all = 40 * gathers + reductions;
    CAPTURE(overlap, gathers, reductions);
    CHECK(exposed_by_layer(layer, layer, 0.5, reductions * ms, overlap).in(ms) ==
          Approx(all - overlap * std::min(all, 40 * 4.0)));
}

TEST_CASE("exposed_by_layer: where kinds take turns a long gather has the short layer before it beside it",
          "[INV-24]") {
    LayersOfKind const plain{.layers = 10, .gathers = 1 * ms, .compute = 2 * ms};
    LayersOfKind const experts{.layers = 10, .gathers = 8 * ms, .compute = 20 * ms};
    CHECK(exposed_by_layer(plain, experts, 1, {}, 1).in(ms) == Approx(10 * (8 - 2)));
    CHECK(exposed_by_layer(plain, experts, 0, {}, 1).in(ms) == Approx(0));
    CHECK(exposed_by_layer(plain, experts, 0.5, {}, 1).in(ms) == Approx(5 * (8 - 2)));
    // Reductions hide in what the layers with experts have left: 10 times 20 - 1.
    CHECK(exposed_by_layer(plain, experts, 1, 150 * ms, 1).in(ms) == Approx(60));
    CHECK(exposed_by_layer(plain, experts, 1, 200 * ms, 1).in(ms) == Approx(60 + 10));
    CHECK(exposed_by_layer(plain, experts, 1, 200 * ms, 0).in(ms) == Approx(10 * 9 + 200));
}

TEST_CASE("simulation: weights that are gathered layer by layer are waited for as estimated where experts alternate",
          "[INV-24]") {
    FrameworkProfile framework = neutral_framework();
    framework.timing.front().fsdp_overlap = known(0.9);
    ClusterSpec machine = cluster();
    double const bandwidth = GENERATE(4.0, 20.0, 60.0, 400.0);
    machine.scale_out->bandwidth = known(bandwidth * units::GB / units::s);
    ModelSpec model = mixture(2048, 16, 16, 2, 4096);
    std::size_t const every = GENERATE(1U, 2U, 4U);
    for (std::size_t i = 0; i < model.layers.size(); ++i)
        model.layers[i].moe = i % every == every - 1;
    ParallelPlan plan{.dp = 32, .zero = 3};
    plan.recompute = GENERATE(Recompute::none, Recompute::full);
    ClosedForm form(model, {.sequence = 4096, .global_batch = 64}, machine, framework, Precision::bf16);
    TaskGraph const graph = build_task_graph(form, plan, {.granularity = Granularity::layer});
    CAPTURE(bandwidth, every, name_of(plan.recompute));
    CHECK(walk_graph(graph).makespan().base() == Approx(form.evaluate(plan).time.base()).epsilon(0.06));
}

TEST_CASE("data_parallel_time: layers without experts, alone, are as where no layer has any", "[INV-24]") {
    ClusterSpec const machine = cluster();
    FrameworkTiming const framework = neutral_timing();
    ParallelPlan const plan{.dp = 16, .zero = 3};
    Pricer pricer(machine, framework);
    DataParallelCurves const curves = data_parallel_curves(plan, pricer);
    StageLoad load;
    load.parameters.dense = 1e9;
    load.layers = 8;
    auto const exposed = [&](double alternating) {
        return data_parallel_time(load, plan,
                                  {.forward = 50 * ms,
                                   .backward = 100 * ms,
                                   .weight = 100 * ms,
                                   .alternating = alternating,
                                   .forward_experts = 10 * ms},
                                  curves, machine.accelerator, framework)
            .exposed;
    };
    CHECK(exposed(0.5) == exposed(0));
    // The same layers, of which every second has experts that nobody gathers.
    load.moe_layers = 4;
    CHECK(exposed(1) >= exposed(0));
}
