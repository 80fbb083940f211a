#include "cost_models/serving/pipeline_pace.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

/// The x of x / (1 - e^-x) = mean: a Poisson number of mean x that is not 0 has that mean.
double poisson_mean(double mean) {
    double x = std::min(mean, 2 * (mean - 1));  // at least it: Newton's steps come down from there
    for (int i = 0; i < 20 && x > 1e-6; ++i) {
        double const none = std::exp(-x);
        double const step = (x - mean * (1 - none)) / (1 - mean * none);
        x -= step;
        if (step < 1e-9 * x) break;
    }
    return std::max(0.0, x);
}

/// Numbers of prompts and the probability that there are no more.
std::vector<std::pair<double, double>> distribution(PromptNumbers const& numbers) {
    std::vector<std::pair<double, double>> out{{0, numbers.none}};
    double const x = poisson_mean(numbers.prompts);
    double const any = -std::expm1(-x);
    double weight = std::exp(-x);
    double sum = 0;
    if (any > 0 && weight > 0)
        for (double n = 1; n < numbers.most && sum < 0.999 * any; ++n) {
            sum += weight *= x / n;
            out.emplace_back(n, numbers.none + (1 - numbers.none) * std::min(1.0, sum / any));
        }
    if (out.back().second < 1)
        out.emplace_back(std::min(numbers.most, std::max(numbers.prompts, out.back().first + 1)), 1);
    return out;
}

StagedTime between(StagedTime const& a, StagedTime const& b, double share) {
    return {a.total + share * (b.total - a.total), a.stage + share * (b.stage - a.stage)};
}

}  // namespace

PipelinePace::PipelinePace(double others, PromptNumbers const& numbers, double own_none, StagedTime const& none,
                           std::pair<double, StagedTime> const& some, std::pair<double, StagedTime> const& many)
    : batches_(1 + others) {
    auto const time = [&](double n) {
        if (n <= some.first) return between(none, some.second, n / some.first);
        return between(some.second, many.second, (n - some.first) / std::max(1e-9, many.first - some.first));
    };
    double one = 0;
    double all = 0;
    double rest = 0;
    std::vector<std::pair<double, double>> const numbered = distribution(numbers);
    iterations_.reserve(numbered.size());
    for (auto const& [n, upto] : numbered) {
        StagedTime const t = time(n);
        double const of_own = numbers.none < 1 ? 1 - (1 - upto) * (1 - own_none) / (1 - numbers.none) : 1;
        double const of_rest = std::pow(upto, others);
        double const of_all = of_own * of_rest;
        Seconds const stages = batches_ * t.stage;
        iterations_.push_back({.own = of_own - one,
                               .slowest = of_all - all,
                               .slowest_other = of_rest - rest,
                               .stages = stages,
                               .time = std::max(t.total, stages)});
        one = of_own;
        all = of_all;
        rest = of_rest;
    }
}

Seconds PipelinePace::mean_of(double Iteration::*probability) const {
    Seconds sum{};
    for (Iteration const& i : iterations_)
        sum += i.*probability * i.time;
    return sum;
}

Seconds PipelinePace::mean() const { return mean_of(&Iteration::slowest); }

double PipelinePace::own_pace() const { return iterations_.empty() ? 1 : mean_of(&Iteration::own) / mean(); }

Seconds PipelinePace::step(StagedTime const& alone) const {
    Seconds const own = std::max(alone.total, batches_ * alone.stage);
    if (iterations_.empty()) return own;
    Seconds sum{};
    for (Iteration const& i : iterations_)
        sum += i.slowest_other * std::max(own, i.stages);
    return sum;
}

}  // namespace sextant
