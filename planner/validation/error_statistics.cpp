#include "planner/validation/error_statistics.hpp"

#include "core/quantile.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sextant {

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
