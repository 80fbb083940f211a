#pragma once

#include "cost_models/goodput/goodput_case.hpp"

namespace sextant {

/// Nodes in repair at the same time: Poisson, whatever the distribution of the repair time (M/G/infinity).
struct Repairs {
    double waiting = 0;       ///< probability of more than the spares (of no replica left, if the run shrinks)
    double shrink = 0;        ///< mean share of the replicas that is missing, while it runs
    double rejoin_per_s = 0;  ///< nodes that bring dropped replicas back
};
Repairs repairs_of(GoodputCase const& run);

}  // namespace sextant
