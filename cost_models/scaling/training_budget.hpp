#pragma once

#include "core/units.hpp"

namespace sextant {

/// The machines a budget is spent on.
struct TrainingMachines {
    FlopsPerSecond peak{};     ///< of one accelerator, dense
    double mfu = 0;            ///< useful FLOPs over peak
    DollarsPerSecond price{};  ///< of one accelerator; 0: not known
    double accelerators = 0;   ///< 0: not known
};

/// FLOPs = money / price x peak x MFU. @pre price positive.
Flops flops_of_money(TrainingMachines const& machines, Dollars money);

/// FLOPs = accelerators x time x peak x MFU.
Flops flops_of_time(TrainingMachines const& machines, Seconds time);

/// What a run of this size takes. Plain arithmetic: no failures, no restarts, no idle time.
struct RunCost {
    double accelerator_hours = 0;
    Seconds time{};   ///< 0 when the number of accelerators is not known
    Dollars money{};  ///< 0 when the price is not known
};
RunCost run_cost(TrainingMachines const& machines, Flops work);

}  // namespace sextant
