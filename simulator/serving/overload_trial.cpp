#include "simulator/serving/overload_trial.hpp"

#include <algorithm>

namespace sextant {

void OverloadTrial::look(ServingTotals const& totals, std::int64_t waiting, std::int64_t running) {
    watch_.sample(totals.at, totals.arrived, waiting, totals.arrived - totals.finished);
    if (rounds_ || !watch_.overloaded()) return;
    std::int64_t const round = std::max<std::int64_t>(running, 20);
    rounds_ = Rounds{.from = totals.finished + round, .until = totals.finished + 5 * round};
}

}  // namespace sextant
