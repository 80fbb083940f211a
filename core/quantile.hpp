#pragma once

#include <vector>

namespace sextant {

/// Quantile by linear interpolation between order statistics (rank (n - 1) q). @pre `sorted` ascends and is not empty,
/// 0 <= q <= 1.
double quantile(std::vector<double> const& sorted, double q);

/// The same of values in any order; 0 of none.
double quantile_of(std::vector<double> values, double q);

}  // namespace sextant
