#include "cost_models/serving/batch_occupancy.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace sextant {
namespace {

/// Logarithms of leaving(1..places): asked at every number up to 16, then an eighth apart, powers in between.
std::vector<double> log_leaving(std::int64_t places, std::function<double(double)> const& leaving) {
    std::vector<double> out(static_cast<std::size_t>(places) + 1);
    std::int64_t last = 0;
    while (last < places) {
        std::int64_t const next = std::min(places, last + std::max<std::int64_t>(1, last / 8));
        double const there = std::log(leaving(static_cast<double>(next)));
        double const here = last > 0 ? out[static_cast<std::size_t>(last)] : there;
        for (std::int64_t n = last + 1; n <= next; ++n) {
            double const share = next == last + 1 ? 1
                                                  : std::log(static_cast<double>(n) / static_cast<double>(last)) /
                                                        std::log(static_cast<double>(next) / static_cast<double>(last));
            out[static_cast<std::size_t>(n)] = here + share * (there - here);
        }
        last = next;
    }
    return out;
}

double equal_lengths(double places, double use) {
    return std::min(1.0, 0.5 * (1 + (1 - use) * (places - 1) * (std::sqrt(4 + 5 * places) - 2) / (16 * use * places)));
}

}  // namespace

BatchOccupancy batch_occupancy(double rate, double places, std::function<double(double)> const& leaving) {
    auto const last = static_cast<std::size_t>(std::max(1.0, std::floor(places)));
    std::vector<double> weight = log_leaving(static_cast<std::int64_t>(last), leaving);
    double const fastest = std::exp(weight[last]);
    weight[0] = 0;
    for (std::size_t n = 1; n <= last; ++n)
        weight[n] = weight[n - 1] + std::log(rate) - weight[n];
    double const top = *std::max_element(weight.begin(), weight.end());
    for (double& w : weight)
        w = std::exp(w - top);
    double const use = rate / fastest;
    double const waiting = weight[last] / (1 - use);  // the last place is taken
    double all = waiting;
    double held = waiting * static_cast<double>(last);
    for (std::size_t n = 0; n < last; ++n) {
        all += weight[n];
        held += weight[n] * static_cast<double>(n);
    }
    weight[last] = waiting;
    for (double& w : weight)
        w /= all;
    return {.mean = held / all,
            .idle = weight[0],
            .full = weight[last],
            .wait = weight[last] / (fastest - rate) * equal_lengths(static_cast<double>(last), use) * units::s,
            .numbers = std::move(weight)};
}

}  // namespace sextant
