#include "kernels/harness/stop_rule.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>

#include "kernels/harness/statistics.hpp"

namespace sextant::bench {
namespace {

double most_drift(StopRule const& rule) { return 3 * rule.relative_error; }

bool is_quiet(StopRule const& rule, std::vector<double> const& samples) {
    return relative_median_error(samples) <= rule.relative_error && relative_drift(samples) <= most_drift(rule);
}

/// Whether noise alone may leave so much between the medians of the first and the last third: three times the error of
/// their difference, from the samples within each.
bool is_noise(std::vector<double> const& samples, double drift) {
    auto const third = static_cast<std::ptrdiff_t>(samples.size() / 3);
    double const error = std::max(relative_median_error({samples.begin(), samples.begin() + third}),
                                  relative_median_error({samples.end() - third, samples.end()}));
    return drift <= 3 * std::sqrt(2.0) * error;
}

}  // namespace

StopRule quick_rule() { return {.relative_error = 0.02, .min_samples = 5, .max_samples = 200, .max_seconds = 0.2}; }

StopRule full_rule() { return {}; }

Verdict verdict(StopRule const& rule, std::vector<double> const& samples, double elapsed_s) {
    auto const count = static_cast<std::int64_t>(samples.size());
    if (count == 0) return Verdict::go_on;
    bool const is_settled = elapsed_s >= std::min(rule.settle_seconds, rule.max_seconds);
    if (is_settled && count >= rule.min_samples && is_quiet(rule, samples)) return Verdict::converged;
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

std::string remark(StopRule const& rule, Collected const& collected) {
    if (collected.ended != Verdict::out_of_time && collected.ended != Verdict::out_of_samples) return "";
    std::string text = collected.ended == Verdict::out_of_time ? "stopped by time before the noise converged"
                                                               : "stopped by count before the noise converged";
    double const drift = relative_drift(collected.samples);
    if (drift <= most_drift(rule) || is_noise(collected.samples, drift)) return text;
    char number[32];
    std::snprintf(number, sizeof number, "%.1f", 100 * drift);
    return text + "; drifts by " + number + " % from the first third of its samples to the last";
}

}  // namespace sextant::bench
