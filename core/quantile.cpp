#include "core/quantile.hpp"

#include <algorithm>
#include <cstddef>

namespace sextant {

double quantile(std::vector<double> const& sorted, double q) {
    double const rank = q * static_cast<double>(sorted.size() - 1);
    auto const below = static_cast<std::size_t>(rank);
    std::size_t const above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (rank - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double quantile_of(std::vector<double> values, double q) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    return quantile(values, q);
}

}  // namespace sextant
