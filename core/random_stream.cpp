#include "core/random_stream.hpp"

#include <numbers>

namespace sextant {

double RandomStream::normal() {
    double const radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
}

double RandomStream::gamma(double shape) {
    double const d = shape - 1.0 / 3;
    double const c = 1 / std::sqrt(9 * d);
    for (;;) {
        double const x = normal();
        double const root = 1 + c * x;
        if (root <= 0) continue;
        double const v = root * root * root;
        if (std::log(uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
    }
}

}  // namespace sextant
