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
    RunEnergy const energy = run_energy(power, accelerator, busy(1), 2048, 1022362.0 / 2048 * units::hour);
    CHECK(energy.kilowatt_hours / 1000 == Approx(449).epsilon(0.002));
    CHECK(energy.device_watts == Approx(400));
}

TEST_CASE("a waiting accelerator draws its idle share, and power grows with the busy share") {
    PowerModel const power;
    AcceleratorProfile const accelerator = fixtures::accelerator();
    double before = 0;
    for (double const share : {0.0, 0.25, 0.5, 1.0}) {
        RunEnergy const energy = run_energy(power, accelerator, busy(share), 8, 1 * units::hour);
        CHECK(energy.busy_share == Approx(share));
        CHECK(energy.device_watts > before);
        CHECK(energy.kilowatt_hours == Approx(energy.site_watts / 1000));
        before = energy.device_watts;
    }
    CHECK(run_energy(power, accelerator, busy(0), 8, 1 * units::hour).device_watts == Approx(0.12 * 700));
    CHECK(before == Approx(700));
}

TEST_CASE("assumed figures of the power are listed, given ones are not") {
    PowerModel power;
    AcceleratorProfile accelerator = fixtures::accelerator();
    accelerator.power_watts.basis = Basis::datasheet;
    std::size_t const all = power_assumptions(power, accelerator).size();
    power.pue.basis = Basis::measured;
    CHECK(power_assumptions(power, accelerator).size() == all - 1);
}
