#include "simulator/faults/fault_study.hpp"

#include "core/error.hpp"
#include "core/parallel_for.hpp"
#include "core/quantile.hpp"
#include "core/quantity_text.hpp"
#include "cost_models/goodput/checkpoint_interval.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

namespace sextant {
namespace {

using units::s;

constexpr double most_snapshots = 2e7;  ///< of one trial: about ten seconds

void check_size(GoodputCase const& run) {
    check_goodput_case(run);
    for (CheckpointTier const& tier : run.tiers)
        if (run.work / tier.interval > most_snapshots)
            throw InputError(
                "checkpoint interval: {} over {} of work is more than {:.0e} checkpoints (simulate a "
                "shorter run)",
                human(tier.interval), human(run.work), most_snapshots);
}

/// Outcomes by number of trial; those not run (interrupted) are empty.
std::vector<std::optional<TrialOutcome>> run_all(GoodputCase const& run, StudyOptions const& options) {
    std::vector<std::optional<TrialOutcome>> outcomes(static_cast<std::size_t>(options.trials));
    std::atomic<std::int64_t> done{0};
    parallel_for(options.trials, options.threads, [&](std::int64_t trial) {
        if (options.stop != nullptr && *options.stop) return;
        outcomes[static_cast<std::size_t>(trial)] = run_trial(run, options.trial, static_cast<std::uint64_t>(trial));
        std::int64_t const count = ++done;
        if (options.progress) options.progress(count);
    });
    return outcomes;
}

void add(TimeUse<double>& sum, TimeUse<Seconds> const& use) {
    sum.useful += use.useful.base();
    sum.stall += use.stall.base();
    sum.rewind += use.rewind.base();
    sum.detection += use.detection.base();
    sum.restart += use.restart.base();
    sum.waiting += use.waiting.base();
    sum.shrink += use.shrink.base();
    sum.maintenance += use.maintenance.base();
}

void scale(TimeUse<double>& use, double factor) {
    for (double* part : {&use.useful, &use.stall, &use.rewind, &use.detection, &use.restart, &use.waiting, &use.shrink,
                         &use.maintenance})
        *part *= factor;
}

std::vector<SimulatedCause> named_causes(GoodputCase const& run) {
    std::vector<SimulatedCause> causes;
    for (FailureProcess const& process : run.failures)
        causes.push_back({.name = process.name, .each = {}});
    for (char const* name : {"injected", "loss spike", "node rejoins"})
        causes.push_back({.name = name, .each = {}});
    return causes;
}

/// Mean and standard error.
std::pair<double, double> mean_and_error(std::vector<double> const& values) {
    auto const n = static_cast<double>(values.size());
    double mean = 0;
    for (double const value : values)
        mean += value / n;
    double squares = 0;
    for (double const value : values)
        squares += (value - mean) * (value - mean);
    return {mean, n > 1 ? std::sqrt(squares / (n - 1) / n) : 0};
}

GoodputCase with_interval(GoodputCase run, Seconds interval) {
    Seconds const before = run.tiers.front().interval;
    for (CheckpointTier& tier : run.tiers)
        if (&tier == &run.tiers.front() || tier.interval == before) tier.interval = interval;
    return run;
}

/// Wall-clock seconds of each trial; empty when interrupted.
std::vector<double> walls_of(GoodputCase const& run, StudyOptions const& options) {
    std::vector<double> walls;
    for (auto const& outcome : run_all(run, options)) {
        if (!outcome) return {};
        walls.push_back(outcome->wall.base());
    }
    return walls;
}

using Tried = std::vector<std::pair<Seconds, std::vector<double>>>;  ///< intervals, wall clocks of their trials

double mean_wall(Tried::value_type const& one) { return mean_and_error(one.second).first; }

Tried::const_iterator best_of(Tried const& tried) {
    return std::min_element(tried.begin(), tried.end(),
                            [](auto const& a, auto const& b) { return mean_wall(a) < mean_wall(b); });
}

/// Every interval against the best, trial by trial.
void compare(IntervalSearch& search, Tried& tried, Seconds work) {
    std::sort(tried.begin(), tried.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
    auto const best = best_of(tried);
    search.best = search.flat_low = search.flat_high = best->first;
    double const best_wall = mean_wall(*best);
    for (auto const& [interval, walls] : tried) {
        std::vector<double> longer(walls.size());
        for (std::size_t i = 0; i < walls.size(); ++i)
            longer[i] = walls[i] - best->second[i];
        auto const [mean, error] = mean_and_error(longer);
        double const to_ratio = work.base() / (best_wall * best_wall);
        search.tried.push_back({.interval = interval,
                                .ratio = work.base() / mean_wall(std::pair(interval, walls)),
                                .behind = mean * to_ratio,
                                .behind_error = error * to_ratio});
        if (mean <= 2 * error) {
            search.flat_low = std::min(search.flat_low, interval);
            search.flat_high = std::max(search.flat_high, interval);
        }
    }
}

/// @pre not empty.
Spread spread_over_trials(std::vector<double> values) {
    Spread spread;
    std::tie(spread.mean, spread.standard_error) = mean_and_error(values);
    std::sort(values.begin(), values.end());
    spread.p5 = quantile(values, 0.05);
    spread.p25 = quantile(values, 0.25);
    spread.p50 = quantile(values, 0.5);
    spread.p75 = quantile(values, 0.75);
    spread.p95 = quantile(values, 0.95);
    return spread;
}

}  // namespace

FaultStudy study_faults(GoodputCase const& run, StudyOptions const& options) {
    check_size(run);
    FaultStudy study;
    study.causes = named_causes(run);
    std::vector<double> walls, ratios, failures;
    double total = 0;
    for (auto const& outcome : run_all(run, options)) {
        if (!outcome) {
            study.interrupted = true;
            continue;
        }
        ++study.trials;
        if (!outcome->finished) continue;
        ++study.finished;
        walls.push_back(outcome->wall.base());
        ratios.push_back(run.work / outcome->wall);
        failures.push_back(static_cast<double>(outcome->failures));
        total += outcome->wall.base();
        add(study.shares, outcome->use);
        for (std::size_t i = 0; i < study.causes.size(); ++i) {
            study.causes[i].per_day += static_cast<double>(outcome->incidents_by_cause[i]);
            study.causes[i].each += outcome->lost_by_cause[i];
        }
    }
    if (study.finished == 0) return study;
    study.wall_s = spread_over_trials(walls);
    study.ratio = spread_over_trials(ratios);
    study.failures = spread_over_trials(failures);
    scale(study.shares, 1 / total);
    for (SimulatedCause& cause : study.causes) {
        cause.share = cause.each.base() / total;
        if (cause.per_day > 0) cause.each /= cause.per_day;
        cause.per_day *= units::day.base() / total;
    }
    std::erase_if(study.causes, [&](SimulatedCause const& cause) {
        return cause.per_day == 0 && std::none_of(run.failures.begin(), run.failures.end(),
                                                  [&](auto const& process) { return process.name == cause.name; });
    });
    return study;
}

IntervalSearch search_interval(GoodputCase const& run, StudyOptions const& options) {
    check_size(run);
    CheckpointTier const& first = run.tiers.front();
    double const rate = run.failures_per_s();
    Seconds const optimum = rate > 0 ? exact_interval(first.stall, 1 / rate * s) : run.work;
    Seconds const lowest = std::max({first.lag, run.work / (0.1 * most_snapshots), Seconds::from_base(1)});
    Seconds const centre = std::max(optimum, lowest);

    Tried tried;
    IntervalSearch search;
    auto const try_interval = [&](Seconds interval) {
        if (interval < lowest || interval > run.work || search.interrupted) return;
        std::vector<double> walls = walls_of(with_interval(run, interval), options);
        if (walls.empty())
            search.interrupted = true;
        else
            tried.emplace_back(interval, std::move(walls));
    };
    for (int i = -6; i <= 6; ++i)
        try_interval(std::exp2(0.5 * i) * centre);
    if (tried.empty() && !search.interrupted) try_interval(std::min(centre, run.work));
    if (tried.empty()) return search;
    Seconds const coarse = best_of(tried)->first;
    for (int i = -3; i <= 3; ++i)
        if (i != 0) try_interval(std::exp2(0.125 * i) * coarse);

    compare(search, tried, run.work);
    return search;
}

}  // namespace sextant
