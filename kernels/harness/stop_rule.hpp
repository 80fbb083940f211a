#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sextant::bench {

/// When one measurement has enough samples.
struct StopRule {
    double relative_error = 0.005;  ///< of the median, see relative_median_error
    std::int64_t min_samples = 20;
    std::int64_t max_samples = 2000;
    double max_seconds = 1.0;
    /// Convergence before so long does not count, where there is as much time.
    double settle_seconds = 0;
};

/// `--quick`: a figure good to a few percent in a fifth of a second.
StopRule quick_rule();
/// `--full`: half a percent, at most a second.
StopRule full_rule();

enum class Verdict { go_on, converged, out_of_time, out_of_samples };

/// Converged: the error of the median is small enough, and the samples do not drift (`relative_drift`) by more than
/// three times that, which is about what the noise alone leaves of both thirds (of `min_samples` at that error: 2.4
/// times). It comes first, so that a measurement that needed its last second still counts as converged. Time never ends
/// a measurement that has no sample at all. The samples are in the order in which they were taken.
Verdict verdict(StopRule const& rule, std::vector<double> const& samples, double elapsed_s);

/// Takes samples until the rule ends it. `sample` returns one or more new samples; `now` is a clock in seconds.
struct Collected {
    std::vector<double> samples;
    Verdict ended = Verdict::go_on;
};
Collected collect(StopRule const& rule, std::function<std::vector<double>()> const& sample,
                  std::function<double()> const& now);

/// Seconds of a clock that never goes back.
double steady_seconds();

/// "" when converged, otherwise what to write into the row's note: what ended the samples, and how far they drifted.
std::string remark(StopRule const& rule, Collected const& collected);

}  // namespace sextant::bench
