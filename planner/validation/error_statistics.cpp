#include "planner/validation/error_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sextant {

double quantile(std::vector<double> const& sorted, double q) {
    double const rank = q * static_cast<double>(sorted.size() - 1);
    auto const below = static_cast<std::size_t>(rank);
    std::size_t const above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (rank - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

ErrorStatistics error_statistics(std::vector<double> relative) {
    ErrorStatistics statistics;
    statistics.n = relative.size();
    if (relative.empty()) return statistics;
    std::sort(relative.begin(), relative.end());
    statistics.bias_pct = 100 * quantile(relative, 0.5);
    for (double& error : relative)
        error = std::abs(error);
    std::sort(relative.begin(), relative.end());
    statistics.mape_pct =
        100 * std::accumulate(relative.begin(), relative.end(), 0.0) / static_cast<double>(relative.size());
    statistics.median_ape_pct = 100 * quantile(relative, 0.5);
    statistics.p90_ape_pct = 100 * quantile(relative, 0.9);
    return statistics;
}

}  // namespace sextant
