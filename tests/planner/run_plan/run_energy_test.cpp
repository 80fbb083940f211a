#include "planner/run_plan/run_energy.hpp"

#include "tests/catch.hpp"
#include "tests/fixtures.hpp"

using namespace sextant;

namespace {

StepEstimate busy(double share) {
    StepEstimate estimate;
    estimate.time = 1 * units::s;
    estimate.breakdown.gemm = share * units::s;
    estimate.breakdown.dp = (1 - share) * units::s;
    return estimate;
}

}  // namespace

TEST_CASE("LLaMA-65B's 1,022,362 GPU-hours at 400 W and a PUE of 1.1 are the 449 MWh of its paper") {
    // arXiv:2302.13971 table 15: GPU-hours times rated power times PUE.
    PowerModel power;
    power.host_share.value = 0;
    power.pue.value = 1.1;
    AcceleratorProfile accelerator = fixtures::accelerator();
    accelerator.power_watts.value = 400;
    RunEnergy const energy = run_energy(power, accelerator, busy(1), 1, 2048, 1022362.0 / 2048 * units::hour);
    CHECK(energy.kilowatt_hours / 1000 == Approx(449).epsilon(0.002));
    CHECK(energy.device_watts == Approx(400));
}

TEST_CASE("a waiting accelerator draws its idle share, and power grows with the busy share") {
    PowerModel const power;
    AcceleratorProfile const accelerator = fixtures::accelerator();
    double before = 0;
    for (double const share : {0.0, 0.25, 0.5, 1.0}) {
        RunEnergy const energy = run_energy(power, accelerator, busy(share), 1, 8, 1 * units::hour);
        CHECK(energy.busy_share == Approx(share));
        CHECK(energy.device_watts > before);
        CHECK(energy.kilowatt_hours == Approx(energy.site_watts / 1000));
        before = energy.device_watts;
    }
    CHECK(run_energy(power, accelerator, busy(0), 1, 8, 1 * units::hour).device_watts == Approx(0.12 * 700));
    CHECK(before == Approx(700));
}

TEST_CASE("power is that of the mean stage, not of the slowest") {
    // Three ranks at 1 s of kernels and a last one at 3 s: half as busy on the mean.
    PipelineCost pipeline;
    StageCost light;
    light.count = 3;
    light.forward.gemm = 0.4 * units::s;
    light.backward.gemm = 0.5 * units::s;
    light.rerun.streaming = 0.1 * units::s;
    light.backward.tp = 9 * units::s;  // no kernel that computes
    StageCost heavy = light;
    heavy.first = 3;
    heavy.count = 1;
    heavy.forward.gemm = 2.4 * units::s;
    pipeline.stages = {light, heavy};
    CHECK(mean_stage_work(pipeline, 3) == Approx(0.5));
    CHECK(mean_stage_work(pipeline, 1) == Approx(1.5));
    pipeline.stages = {light};
    CHECK(mean_stage_work(pipeline, 0) == Approx(1));

    StepEstimate estimate = busy(0.8);
    estimate.breakdown.optimizer = 0.1 * units::s;
    CHECK(busy_share(estimate, 0.5) == Approx(0.8 * 0.5 + 0.1));
    RunEnergy const energy = run_energy(PowerModel{}, fixtures::accelerator(), estimate, 0.5, 8, 1 * units::hour);
    CHECK(energy.device_watts == Approx(700 * (0.12 + 0.88 * 0.5)));
}

TEST_CASE("assumed figures of the power are listed, given ones are not") {
    PowerModel power;
    AcceleratorProfile accelerator = fixtures::accelerator();
    accelerator.power_watts.basis = Basis::datasheet;
    std::size_t const all = power_assumptions(power, accelerator).size();
    power.pue.basis = Basis::measured;
    CHECK(power_assumptions(power, accelerator).size() == all - 1);
}
