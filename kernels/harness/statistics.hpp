#pragma once

#include <cstdint>
#include <vector>

namespace sextant::bench {

/// What is kept of the samples of one measurement.
struct Summary {
    double median = 0;
    double p10 = 0;
    double p90 = 0;
    std::int64_t repeats = 0;
};

/// Quantile of `sorted` samples by linear interpolation between neighbours; `q` in [0, 1].
/// @throws BadInput when there are no samples or q is outside.
double quantile(std::vector<double> const& sorted, double q);

Summary summarise(std::vector<double> samples);

/// Standard error of the median divided by the median, without assuming a distribution: half the distance between the
/// order statistics sqrt(n)/2 above and below the middle, which is the 68 % interval of the median.
/// Infinite for fewer than 4 samples. Source: David and Nagaraja, Order Statistics (3rd ed.), 7.1.
double relative_median_error(std::vector<double> samples);

/// How far the median of the last third of the samples, in the order in which they were taken, is from that of the
/// first third: 0.05 for 5 % up or down. Samples that follow one another are not independent of each other: a device
/// that slows down within a measurement shows here, and not in `relative_median_error`. Infinite for fewer than 4
/// samples.
double relative_drift(std::vector<double> const& samples);

}  // namespace sextant::bench
