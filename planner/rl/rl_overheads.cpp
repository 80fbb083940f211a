#include "planner/rl/rl_overheads.hpp"

#include <cmath>

namespace sextant {

RlOverheads fitted_rl_overheads() {
    return {.generation = 1.42,
            .training = 1.53,
            .scoring = 1.41,
            .expert_training = 4.3,
            .expert_scoring = 2.85,
            .controller = 3 * units::s,
            .sync = 4.65 * units::s,
            .sync_per_byte = 6.83e-11 * units::s,
            .log_error = 0.18};
}

RlInterval rl_interval(RlOverheads const& overheads, Seconds predicted) {
    constexpr double of_80_percent = 1.2816;  // the 90 % quantile of the normal distribution
    double const factor = std::exp(of_80_percent * overheads.log_error);
    return {.low = predicted / factor, .high = predicted * factor};
}

}  // namespace sextant
