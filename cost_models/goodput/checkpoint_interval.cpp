#include "cost_models/goodput/checkpoint_interval.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {

using units::s;

Seconds young_interval(Seconds stall, Seconds mtbf) { return std::sqrt(2 * stall.base() * mtbf.base()) * s; }

Seconds daly_interval(Seconds stall, Seconds mtbf) {
    double const c = stall / (2 * mtbf);
    if (c >= 1) return mtbf;
    return (1 + std::sqrt(c) / 3 + c / 9) * young_interval(stall, mtbf) - stall;
}

Seconds exact_interval(Seconds stall, Seconds mtbf) {
    double const c = stall / mtbf;
    if (!(c > 0)) return {};
    // f(x) = x + exp(-(x + c)) - 1 is convex and f(sqrt(2c)) > 0 (so is f(1)), so Newton falls to the root
    // monotonically.
    double x = std::min(1.0, std::sqrt(2 * c));
    for (int i = 0; i < 60; ++i) {
        double const slope = -std::expm1(-(x + c));
        double const step = (x - slope) / slope;
        x -= step;
        if (std::abs(step) <= 1e-15 * x) break;
    }
    return x * mtbf;
}

Seconds mean_rewind(Seconds period, Seconds lag, double failures_per_s) {
    double const x = failures_per_s * period.base();
    double const y = failures_per_s * lag.base();
    if (x < 1e-5 && y < 1e-5)  // the difference below would lose its digits
        return period / 2 + lag - failures_per_s * (period * period / 12 + period * lag / 2 + lag * lag / 2).base() * s;
    return (1 - x * std::exp(-y) / std::expm1(x)) / failures_per_s * s;
}

}  // namespace sextant
