#include "cost_models/scaling/training_budget.hpp"

namespace sextant {

Flops flops_of_money(TrainingMachines const& machines, Dollars money) {
    return money / machines.price * (machines.peak * machines.mfu);
}

Flops flops_of_time(TrainingMachines const& machines, Seconds time) {
    return time * (machines.peak * machines.mfu) * machines.accelerators;
}

RunCost run_cost(TrainingMachines const& machines, Flops work) {
    Seconds const busy = work / (machines.peak * machines.mfu);
    RunCost out{.accelerator_hours = busy.in(units::hour)};
    if (machines.accelerators > 0) out.time = busy / machines.accelerators;
    out.money = busy * machines.price;
    return out;
}

}  // namespace sextant
