#include "cost_models/goodput/tiers_in_use.hpp"

#include "core/error.hpp"
#include "cost_models/goodput/checkpoint_interval.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace sextant {
namespace {

using units::day;
using units::s;

/// Failures of this scope or wider per second: what may go back to a tier that serves it.
double rate_from(GoodputCase const& run, FailureScope scope) {
    double rate = 0;
    for (FailureProcess const& process : run.failures)
        if (process.scope >= scope) rate += process.rate_per_s();
    return rate;
}

/// The narrowest scope for which no tier before this one (by survival) is left: the failures that this tier is for.
FailureScope first_scope_of(GoodputCase const& run, std::size_t tier) {
    int first = 0;
    for (std::size_t other = 0; other < run.tiers.size(); ++other)
        if (run.tiers[other].survives < run.tiers[tier].survives)
            first = std::max(first, static_cast<int>(run.tiers[other].survives) + 1);
    return static_cast<FailureScope>(first);
}

/// Of the failures that this tier is for by what it survives, or wider: where a run stands between two of its
/// snapshots.
double rate_by_survival(GoodputCase const& run, std::size_t tier) { return rate_from(run, first_scope_of(run, tier)); }

/// What goes back to each tier per second when a failure of some scope goes back to `tier_of` it. A tier whose
/// snapshots feed the next one is what the failures of that one need, too.
std::vector<double> rates_of_tiers(GoodputCase const& run, auto&& tier_of) {
    std::vector<double> rates(run.tiers.size());
    for (FailureProcess const& process : run.failures)
        for (std::size_t tier = tier_of(process.scope);; --tier) {
            rates[tier] += process.rate_per_s();
            if (!is_fed(run, tier)) break;
        }
    return rates;
}

/// The same before there are intervals: each goes back to the tier that survives the least of those that survive it.
std::vector<double> rates_of_survivors(GoodputCase const& run) {
    return rates_of_tiers(run, [&](FailureScope scope) {
        std::size_t narrowest = run.tiers.size() - 1;
        for (std::size_t tier = run.tiers.size(); tier-- > 0;)
            if (run.tiers[tier].survives >= scope && run.tiers[tier].survives <= run.tiers[narrowest].survives)
                narrowest = tier;
        return narrowest;
    });
}

}  // namespace

Seconds period_of(GoodputCase const& run, std::size_t tier) {
    double stalls = 0;
    for (CheckpointTier const& other : run.tiers)
        stalls += other.stall / other.interval;
    return (1 + stalls) * run.tiers[tier].interval;
}

std::vector<double> served_rates(GoodputCase const& run) {
    return rates_of_tiers(run, [&](FailureScope scope) { return best_tier(run, scope); });
}

double with_spikes(GoodputCase const& run, std::vector<double> const& rates, std::size_t tier) {
    std::size_t first = run.tiers.size() - 1;
    while (is_fed(run, first))
        --first;
    return rates[tier] + (tier >= first ? run.spikes.per_day / day.base() : 0);
}

std::size_t best_tier(GoodputCase const& run, FailureScope scope) {
    std::optional<std::size_t> best;
    Seconds least{};
    for (std::size_t tier = 0; tier < run.tiers.size(); ++tier) {
        CheckpointTier const& t = run.tiers[tier];
        if (t.survives < scope) continue;
        Seconds const lost = mean_rewind(period_of(run, tier), t.lag, rate_by_survival(run, tier)) + t.load;
        if (best && lost >= least) continue;
        best = tier;
        least = lost;
    }
    if (!best)
        throw InputError("checkpoints: none survives a failure of scope {} (add a tier that does, such as parallel-fs)",
                         name_of(scope));
    return *best;
}

bool is_fed(GoodputCase const& run, std::size_t tier) { return tier > 0 && run.tiers[tier].stall.base() <= 0; }

void choose_intervals(GoodputCase& run) {
    constexpr int most_rounds = 8;
    GoodputCase const given = run;
    std::vector<double> rates = rates_of_survivors(run);
    // Which tier a failure goes back to depends on the intervals, and these on what goes back to each.
    for (int round = 0; round < most_rounds; ++round) {
        for (std::size_t tier = 0; tier < run.tiers.size(); ++tier) {
            CheckpointTier& t = run.tiers[tier];
            if (given.tiers[tier].interval.base() > 0) continue;
            double const rate = with_spikes(run, rates, tier);
            t.interval = rate > 0 ? exact_interval(t.stall, 1 / rate * s) : run.work;
            t.interval = std::max(t.interval, t.lag);
            if (is_fed(run, tier)) t.interval = std::max(t.interval, run.tiers[tier - 1].interval);
            if (t.interval.base() <= 0) t.interval = 1 * s;  // checkpoints that cost nothing
        }
        std::vector<double> served = served_rates(run);
        if (served == rates) break;
        rates = std::move(served);
    }
}

}  // namespace sextant
