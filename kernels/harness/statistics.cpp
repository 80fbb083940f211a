#include "kernels/harness/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "kernels/harness/errors.hpp"

namespace sextant::bench {

double quantile(std::vector<double> const& sorted, double q) {
    if (sorted.empty()) throw BadInput("quantile: no samples");
    if (!(q >= 0 && q <= 1)) throw BadInput("quantile: q lies outside [0, 1]");
    double const place = q * static_cast<double>(sorted.size() - 1);
    auto const below = static_cast<std::size_t>(place);
    std::size_t const above = std::min(below + 1, sorted.size() - 1);
    double const part = place - static_cast<double>(below);
    return sorted[below] + part * (sorted[above] - sorted[below]);
}

Summary summarise(std::vector<double> samples) {
    std::sort(samples.begin(), samples.end());
    return {.median = quantile(samples, 0.5),
            .p10 = quantile(samples, 0.1),
            .p90 = quantile(samples, 0.9),
            .repeats = static_cast<std::int64_t>(samples.size())};
}

double relative_median_error(std::vector<double> samples) {
    if (samples.size() < 4) return std::numeric_limits<double>::infinity();
    std::sort(samples.begin(), samples.end());
    double const half_width = 0.5 / std::sqrt(static_cast<double>(samples.size()));
    double const median = quantile(samples, 0.5);
    double const error = 0.5 * (quantile(samples, 0.5 + half_width) - quantile(samples, 0.5 - half_width));
    return median > 0 ? error / median : std::numeric_limits<double>::infinity();
}

double relative_drift(std::vector<double> const& samples) {
    if (samples.size() < 4) return std::numeric_limits<double>::infinity();
    auto const third = static_cast<std::ptrdiff_t>(samples.size() / 3);
    auto const median_of = [](auto first, auto last) { return summarise({first, last}).median; };
    double const before = median_of(samples.begin(), samples.begin() + third);
    double const after = median_of(samples.end() - third, samples.end());
    return before > 0 ? std::abs(after / before - 1) : std::numeric_limits<double>::infinity();
}

}  // namespace sextant::bench
