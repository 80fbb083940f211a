#include "kernels/harness/statistics.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/harness/errors.hpp"
#include "kernels/harness/generated_values.hpp"
#include "kernels/harness/stop_rule.hpp"
#include "tests/catch.hpp"

namespace sextant::bench {

TEST_CASE("summarise: median and quantiles do not depend on the order of the samples", "[statistics]") {
    Summary const summary = summarise({5, 1, 4, 2, 3, 11, 7, 9, 6, 8, 10});
    CHECK(summary.median == 6);
    CHECK(summary.p10 == 2);
    CHECK(summary.p90 == 10);
    CHECK(summary.repeats == 11);
    CHECK(summarise({4, 2}).median == 3);
    CHECK(summarise({7}).p90 == 7);
    CHECK_THROWS_AS(summarise({}), BadInput);
    CHECK_THROWS_AS(quantile({1, 2}, 1.5), BadInput);
}

TEST_CASE("relative_median_error: shrinks like 1/sqrt(n), and one outlier does not move it", "[statistics]") {
    auto const noisy = [](std::size_t count) {
        std::vector<double> samples;
        for (std::size_t i = 0; i < count; ++i)
            samples.push_back(100 + 10 * static_cast<double>(value_at(5, i)));
        return samples;
    };
    double const few = relative_median_error(noisy(100)), many = relative_median_error(noisy(10000));
    CHECK(few / many > 5);
    CHECK(few / many < 20);
    // The median of n uniform numbers in [90, 110) has standard deviation 10 / sqrt(n).
    CHECK(many == Approx(10 / std::sqrt(10000.0) / 100).epsilon(0.3));
    auto hit = noisy(100);
    hit[7] = 1e9;
    CHECK(relative_median_error(hit) < 1.5 * few);
    CHECK(std::isinf(relative_median_error({1, 1, 1})));
}

TEST_CASE("relative_drift: of samples that get longer, and of the same ones in another order", "[statistics]") {
    std::vector<double> samples;
    for (int i = 0; i < 30; ++i)
        samples.push_back(i < 10 ? 1.39 : 1.59);
    CHECK(relative_drift(samples) == Approx(1.59 / 1.39 - 1));
    std::reverse(samples.begin(), samples.end());
    CHECK(relative_drift(samples) == Approx(1 - 1.39 / 1.59));
    for (std::size_t i = 0; i < samples.size(); ++i)
        samples[i] = i % 3 == 0 ? 1.39 : 1.59;
    CHECK(relative_drift(samples) == 0);
    CHECK(std::isinf(relative_drift({1, 1, 1})));
}

TEST_CASE("collect: a device that slows down is sampled until the slow part prevails, or says how far it drifts",
          "[statistics]") {
    StopRule rule{.relative_error = 0.005, .min_samples = 20, .max_samples = 2000, .max_seconds = 1};
    double time = 0;
    auto const run = [&] {
        time = 0;
        return collect(
            rule,
            [&] {
                double const one = time < 0.1 ? 1.39e-3 : 1.59e-3;  // as a product of 8,192 cubed on an H200
                time += 4 * one;
                return std::vector<double>(4, one);
            },
            [&] { return time; });
    };
    Collected const short_one = run();
    CHECK(short_one.ended == Verdict::converged);
    CHECK(summarise(short_one.samples).p90 == 1.39e-3);  // before anything has changed
    rule.settle_seconds = 0.3;
    Collected const settled = run();
    CHECK(settled.ended == Verdict::converged);
    CHECK(time > 0.3);
    CHECK(summarise(settled.samples).median == 1.59e-3);
    CHECK(summarise(settled.samples).p10 == 1.39e-3);
    CHECK(remark(rule, settled).empty());
    rule.max_seconds = 0.2;
    Collected const cut = run();
    CHECK(cut.ended == Verdict::out_of_time);
    CHECK_THAT(remark(rule, cut), contains("drifts by 14.4 % from the first third"));
}

TEST_CASE("verdict: ends by convergence, by count, or by time, in that order", "[statistics]") {
    StopRule const rule{.relative_error = 0.01, .min_samples = 5, .max_samples = 20, .max_seconds = 2};
    std::vector<double> const quiet(6, 3.0);
    std::vector<double> noisy;
    for (int i = 0; i < 6; ++i)
        noisy.push_back(1 + i);
    CHECK(verdict(rule, quiet, 0.1) == Verdict::converged);
    CHECK(verdict(rule, quiet, 100) == Verdict::converged);
    CHECK(verdict(rule, {3, 3, 3, 3}, 0.1) == Verdict::go_on);  // too few to know
    CHECK(verdict(rule, noisy, 0.1) == Verdict::go_on);
    CHECK(verdict(rule, noisy, 2.0) == Verdict::out_of_time);
    CHECK(verdict(rule, {}, 100) == Verdict::go_on);
    std::vector<double> many;
    for (int i = 0; i < 20; ++i)
        many.push_back(1 + i);
    CHECK(verdict(rule, many, 0.1) == Verdict::out_of_samples);
}

TEST_CASE("collect: a steady clock ends early, a noisy one at its limit of time", "[statistics]") {
    StopRule const rule{.relative_error = 0.01, .min_samples = 10, .max_samples = 1000, .max_seconds = 1};
    double time = 0;
    auto const now = [&] { return time; };
    auto const steady = collect(
        rule,
        [&] {
            time += 0.001;
            return std::vector<double>{2.0, 2.0};
        },
        now);
    CHECK(steady.ended == Verdict::converged);
    CHECK(steady.samples.size() == 10);
    std::uint64_t turn = 0;
    auto const noisy = collect(
        rule,
        [&] {
            time += 0.01;
            return std::vector<double>{1.5 + static_cast<double>(value_at(3, turn++))};
        },
        now);
    CHECK(noisy.ended == Verdict::out_of_time);
    CHECK(noisy.samples.size() >= 100);
    CHECK(noisy.samples.size() <= 101);
    CHECK(remark(rule, noisy) == "stopped by time before the noise converged");
    CHECK(remark(rule, steady).empty());
}

}  // namespace sextant::bench
