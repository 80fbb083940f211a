#include "cost_models/goodput.hpp"

#include "cost_models/goodput/checkpoint_interval.hpp"
#include "cost_models/goodput/repairs.hpp"
#include "cost_models/goodput/tiers_in_use.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sextant {
namespace {

using units::day;
using units::s;

/// Where the number of restarts in vain stops growing: a run that gets nowhere still has finite shares of time.
constexpr double most_attempts_log = 500;
constexpr double least_useful = 1e-9;  ///< share of the wall clock below which the run never ends
constexpr Seconds never = Seconds::from_base(std::numeric_limits<double>::infinity());

/// The case without the checkpoints that it never comes to: a tier whose interval is longer than the work takes none,
/// so that a failure loses all that was done and there is nothing to load.
GoodputCase up_to_its_end(GoodputCase const& given) {
    GoodputCase run = given;
    for (CheckpointTier& tier : run.tiers)
        if (tier.interval > run.work) {
            tier.interval = run.work;
            tier.stall = tier.lag = tier.load = {};
        }
    return run;
}

/// What a snapshot of the tier stands still for the write of the one before, which takes longer than the interval.
Seconds wait_for_write(GoodputCase const& run, std::size_t tier) {
    CheckpointTier const& t = run.tiers[tier];
    Seconds const meanwhile = period_of(run, tier) - t.stall;  // its work, and the stalls of the other tiers
    return std::max(Seconds{}, t.lag - meanwhile);
}

/// The case with these waits as part of the stalls. The first snapshot of a run waits for none, so that all of them
/// come earlier by one wait than k periods would have it, and can be used earlier.
GoodputCase with_waits(GoodputCase const& run) {
    GoodputCase waiting = run;
    for (std::size_t tier = 0; tier < run.tiers.size(); ++tier) {
        Seconds const wait = wait_for_write(run, tier);
        waiting.tiers[tier].stall += wait;
        waiting.tiers[tier].lag -= wait;
    }
    return waiting;
}

/// Mean time not running after a failure: detection, then restarts until one is not struck by another failure (which
/// takes its own detection). Source: E = D + (1-q)/l + (1-q) E with q = exp(-l R).
struct Downtime {
    Seconds detection;
    Seconds restart;
    Seconds first{};  ///< of it, detection and restart until the failure that strikes in it: (1 - q)/l
    [[nodiscard]] Seconds total() const { return detection + restart; }
};
Downtime downtime_of(Seconds detection, Seconds restart, double rate) {
    double const x = std::min(rate * restart.base(), most_attempts_log);
    double const attempts = std::exp(x);
    bool const once = x < 1e-9;
    return {.detection = attempts * detection,
            .restart = once ? restart : std::expm1(x) / rate * s,
            .first = detection + (once ? restart : -std::expm1(-x) / rate * s)};
}

/// Share of the running time that stands still for checkpoints, those that are lost again among them: after a restart
/// the k-th stall is reached with probability exp(-l x), x in [k P - C - w, k P - w], so
/// exp(l w) (exp(l C) - 1) / (exp(l P) - 1), less the wait w for an earlier write, which the first stall has not.
double stall_share(GoodputCase const& given, GoodputCase const& waiting, std::vector<double> const& rates) {
    double share = 0;
    for (std::size_t tier = 0; tier < given.tiers.size(); ++tier) {
        double const rate = rates[tier];
        CheckpointTier const& t = waiting.tiers[tier];
        Seconds const period = period_of(waiting, tier);
        double const x = rate * period.base();
        double const c = rate * t.stall.base();
        double const w = rate * (t.stall - given.tiers[tier].stall).base();
        if (x < 1e-9) {
            share += t.stall / period;
            continue;
        }
        share += x < most_attempts_log ? std::exp(w) * std::expm1(c) / std::expm1(x)
                                       : std::exp(w + c - x);  // neither exponential is a number any more
        share -= std::exp(-rate * t.interval.base()) * std::expm1(w);
    }
    return share;
}

/// Sums over the causes, per second of running.
struct PerSecond {
    double rewind = 0;  ///< share of the running time that is lost
    double detection = 0;
    double restart = 0;
    double again = 0;  ///< of both, what follows on failures that strike in a restart
};

CauseLoss add_cause(PerSecond& sums, std::string name, double rate, Seconds lost, Downtime const& down) {
    sums.rewind += rate * lost.base();
    sums.detection += rate * down.detection.base();
    sums.restart += rate * down.restart.base();
    sums.again += rate * (down.total() - down.first).base();
    return {.name = std::move(name),
            .per_day = rate,
            .rewind = lost,
            .each = lost + down.first,
            .share = rate * (lost + down.first).base()};
}

/// No more than all of the running time can be lost: the causes' parts of it shrink alike. Rates are per second here.
void limit_rewind(PerSecond& sums, std::vector<CauseLoss>& causes) {
    if (sums.rewind <= 1) return;
    double const kept = 1 / sums.rewind;
    for (CauseLoss& cause : causes) {
        Seconds const spared = (1 - kept) * cause.rewind;
        cause.rewind -= spared;
        cause.each -= spared;
        cause.share -= cause.per_day * spared.base();
    }
    sums.rewind = 1;
}

/// Failures strike in restarts as well, each cause by its rate: more incidents, and the time that follows on these.
/// Rates are per second of running. @pre the failure processes come first among the causes.
void add_those_in_restarts(GoodputCase const& run, PerSecond const& sums, std::vector<CauseLoss>& causes) {
    double const all = run.failures_per_s();
    for (std::size_t i = 0; i < run.failures.size() && all > 0; ++i) {
        causes[i].share += causes[i].per_day / all * sums.again;
        causes[i].per_day *= 1 + sums.restart;
    }
}

/// The causes with their rates and shares per second of running.
std::vector<CauseLoss> causes_of(GoodputCase const& run, std::vector<double> const& rates, PerSecond& sums) {
    std::vector<CauseLoss> causes;
    double const all = run.failures_per_s();
    for (FailureProcess const& process : run.failures) {
        std::size_t const tier = best_tier(run, process.scope);
        CheckpointTier const& t = run.tiers[tier];
        Seconds const lost = mean_rewind(period_of(run, tier), t.lag, rates[tier]);
        causes.push_back(add_cause(sums, process.name, process.rate_per_s(), lost,
                                   downtime_of(run.detection, run.restart + t.load, all)));
    }
    if (run.spikes.per_day > 0) {
        std::size_t const tier = run.tiers.size() - 1;  // the storage, which keeps the older ones as well
        Seconds const period = period_of(run, tier);
        Seconds const lost = period / run.tiers[tier].interval * run.spikes.rewind + period / 2;
        Seconds const restart = run.restart + run.tiers[tier].load;
        causes.push_back(
            add_cause(sums, "loss spike", run.spikes.per_day / day.base(), lost, downtime_of({}, restart, all)));
    }
    return causes;
}

TierInterval interval_of(GoodputCase const& run, std::vector<double> const& rates, std::size_t tier) {
    CheckpointTier const& t = run.tiers[tier];
    double const rate = with_spikes(run, rates, tier);
    Seconds const mtbf = rate > 0 ? 1 / rate * s : never;
    TierInterval interval{
        .used = t.interval, .mtbf = mtbf, .young = never, .daly = never, .exact = never, .lowest = t.lag};
    if (rate > 0) {
        interval.young = young_interval(t.stall, mtbf);
        interval.daly = daly_interval(t.stall, mtbf);
        interval.exact = exact_interval(t.stall, mtbf);
    }
    return interval;
}

std::string approximation_of(GoodputCase const& run) {
    if (run.tiers.size() > 1) return "several tiers are combined to first order in the failure rate";
    for (FailureProcess const& process : run.failures)
        if (process.shape != 1) return "Weibull failures count with their long-run rate";
    if (run.replacement.spares && !run.failures.empty())
        return "waiting for nodes is added to the rest as if the two were independent";
    if (run.spikes.per_day > 0) return "loss spikes go back half an interval on average";
    bool const never_saves = run.tiers.front().interval > run.work;
    if (never_saves && run.maintenance.every.base() > 0)
        return "a run that ends before its first checkpoint: those of its planned stops are not counted";
    return {};
}

}  // namespace

Goodput expected_goodput(GoodputCase const& asked) {
    check_goodput_case(asked);
    GoodputCase const given = up_to_its_end(asked);
    GoodputCase const run = with_waits(given);
    Goodput result;
    PerSecond per_s;
    std::vector<double> const rates = served_rates(given);
    result.causes = causes_of(run, rates, per_s);
    Repairs const repairs = repairs_of(run);
    double stalls = 0;
    for (CheckpointTier const& tier : run.tiers)
        stalls += tier.stall / tier.interval;
    if (repairs.rejoin_per_s > 0) {  // a graceful restart: a checkpoint, then load and start
        Seconds const each = asked.tiers.front().stall + run.restart + asked.tiers.front().load;
        result.causes.push_back(add_cause(per_s, "node rejoins", repairs.rejoin_per_s, {},
                                          {.detection = {}, .restart = each, .first = each}));
    }

    limit_rewind(per_s, result.causes);
    add_those_in_restarts(run, per_s, result.causes);
    double const wall_per_s = 1 + per_s.detection + per_s.restart;  // of running
    Maintenance const& m = run.maintenance;
    double const planned = m.every.base() > 0 ? m.duration / (m.every + m.duration) : 0;
    double const running = (1 - repairs.waiting) * (1 - planned) / wall_per_s;

    double const kept = running * (1 - per_s.rewind) / (1 + stalls);
    TimeUse<double>& use = result.shares;
    use.useful = kept * (1 - repairs.shrink);
    use.shrink = kept * repairs.shrink;
    use.stall = std::clamp(running * stall_share(given, run, rates), 0.0, running - kept);
    use.rewind = running - kept - use.stall;
    use.detection = running * per_s.detection;
    use.restart = running * per_s.restart;
    use.waiting = repairs.waiting * (1 - planned);
    use.maintenance = planned;

    for (CauseLoss& cause : result.causes) {
        if (cause.per_day > 0) cause.each = cause.share / cause.per_day * s;
        cause.share *= running;
        cause.per_day *= running * day.base();
    }
    double const all = run.failures_per_s();
    result.mtbf = all > 0 ? 1 / all * s : never;
    result.wall = use.useful > least_useful ? run.work / use.useful : never;
    for (std::size_t tier = 0; tier < run.tiers.size(); ++tier)
        result.intervals.push_back(interval_of(asked, rates, tier));
    result.approximation = approximation_of(asked);
    return result;
}

}  // namespace sextant
