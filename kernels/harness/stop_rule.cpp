#include "kernels/harness/stop_rule.hpp"

#include <chrono>

#include "kernels/harness/statistics.hpp"

namespace sextant::bench {

StopRule quick_rule() { return {.relative_error = 0.02, .min_samples = 5, .max_samples = 200, .max_seconds = 0.2}; }

StopRule full_rule() { return {}; }

Verdict verdict(StopRule const& rule, std::vector<double> const& samples, double elapsed_s) {
    auto const count = static_cast<std::int64_t>(samples.size());
    if (count == 0) return Verdict::go_on;
    if (count >= rule.min_samples && relative_median_error(samples) <= rule.relative_error) return Verdict::converged;
    if (count >= rule.max_samples) return Verdict::out_of_samples;
    if (elapsed_s >= rule.max_seconds) return Verdict::out_of_time;
    return Verdict::go_on;
}

Collected collect(StopRule const& rule, std::function<std::vector<double>()> const& sample,
                  std::function<double()> const& now) {
    Collected result;
    double const start = now();
    while (result.ended == Verdict::go_on) {
        for (double const value : sample())
            result.samples.push_back(value);
        result.ended = verdict(rule, result.samples, now() - start);
    }
    return result;
}

double steady_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

char const* remark(Verdict ended) {
    switch (ended) {
        case Verdict::out_of_time: return "stopped by time before the noise converged";
        case Verdict::out_of_samples: return "stopped by count before the noise converged";
        default: return "";
    }
}

}  // namespace sextant::bench
