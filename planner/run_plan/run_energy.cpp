#include "planner/run_plan/run_energy.hpp"

#include <fmt/format.h>

namespace sextant {

double mean_stage_work(PipelineCost const& pipeline, std::int64_t slowest_stage) {
    Seconds sum;
    Seconds slowest;
    double ranks = 0;
    for (StageCost const& stage : pipeline.stages) {
        Seconds const work = stage.forward.compute() + stage.backward.compute() + stage.rerun.total();
        auto const count = static_cast<double>(stage.count);
        sum += count * work;
        ranks += count;
        if (stage.first <= slowest_stage && slowest_stage < stage.first + stage.count) slowest = work;
    }
    return slowest > Seconds{} ? sum / (ranks * slowest) : 1;
}

double busy_share(StepEstimate const& estimate, double stage_work) {
    StepBreakdown const& b = estimate.breakdown;
    return (stage_work * (b.gemm + b.attention + b.memory_bound + b.recompute) + b.optimizer) / estimate.time;
}

RunEnergy run_energy(PowerModel const& power, AcceleratorProfile const& accelerator, StepEstimate const& estimate,
                     double stage_work, double accelerators, Seconds wall) {
    double const rated = accelerator.power_watts.value;
    double const idle = power.idle_share.value;
    RunEnergy energy;
    energy.busy_share = busy_share(estimate, stage_work);
    energy.device_watts = rated * (idle + (1 - idle) * energy.busy_share);
    energy.site_watts = accelerators * (energy.device_watts + power.host_share.value * rated) * power.pue.value;
    energy.kilowatt_hours = energy.site_watts / 1000 * wall.in(units::hour);
    return energy;
}

std::vector<std::string> power_assumptions(PowerModel const& power, AcceleratorProfile const& accelerator) {
    std::vector<std::string> lines;
    auto const add = [&](char const* key, Sourced<double> const& value) {
        if (value.basis == Basis::assumed)
            lines.push_back(fmt::format("{} = {:g}: {}", key, value.value, value.source));
    };
    add("power idle_share", power.idle_share);
    add("power host_share", power.host_share);
    add("power pue", power.pue);
    if (accelerator.power_watts.basis == Basis::assumed)
        lines.push_back(fmt::format("{} power_watts = {:g}: {}", accelerator.name, accelerator.power_watts.value,
                                    accelerator.power_watts.source));
    lines.emplace_back("power: restarts, rewinds and checkpoints draw what a step draws");
    return lines;
}

}  // namespace sextant
