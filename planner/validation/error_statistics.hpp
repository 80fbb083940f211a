#pragma once

#include <cstddef>
#include <vector>

namespace sextant {

/// Relative errors (predicted - measured) / measured of several rows, in per cent.
struct ErrorStatistics {
    std::size_t n = 0;
    double mape_pct = 0;        ///< mean of the absolute values
    double median_ape_pct = 0;  ///< median of the absolute values
    double p90_ape_pct = 0;     ///< 90 % quantile of the absolute values
    double bias_pct = 0;        ///< median of the signed values
};

/// `relative`: signed errors as fractions. All zero without rows.
ErrorStatistics error_statistics(std::vector<double> relative);

}  // namespace sextant
