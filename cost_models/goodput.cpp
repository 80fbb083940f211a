#include "cost_models/goodput.hpp"

#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "cost_models/goodput/checkpoint_interval.hpp"
#include "cost_models/goodput/failure_catalog.hpp"

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

/// Seconds of running from one snapshot of the tier to the next: its work and the stalls of all tiers in it.
Seconds period_of(GoodputCase const& run, std::size_t tier) {
    double stalls = 0;
    for (CheckpointTier const& other : run.tiers)
        stalls += other.stall / other.interval;
    return (1 + stalls) * run.tiers[tier].interval;
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

/// Failures that go back to each tier, per second, at the intervals set.
std::vector<double> served_rates(GoodputCase const& run) {
    return rates_of_tiers(run, [&](FailureScope scope) { return best_tier(run, scope); });
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

/// What goes back to this tier, per second: failures, and of the storage the loss spikes, which need it.
double with_spikes(GoodputCase const& run, std::vector<double> const& rates, std::size_t tier) {
    bool const storage = tier + 1 == run.tiers.size();
    return rates[tier] + (storage ? run.spikes.per_day / day.base() : 0);
}

/// Mean time not running after a failure: detection, then restarts until one is not struck by another failure (which
/// takes its own detection). Source: E = D + (1-q)/l + (1-q) E with q = exp(-l R).
struct Downtime {
    Seconds detection;
    Seconds restart;
};
Downtime downtime_of(Seconds detection, Seconds restart, double rate) {
    double const x = std::min(rate * restart.base(), most_attempts_log);
    double const attempts = std::exp(x);
    return {.detection = attempts * detection, .restart = x < 1e-9 ? restart : std::expm1(x) / rate * s};
}

/// Nodes in repair at the same time: Poisson, whatever the distribution of the repair time (M/G/infinity).
struct Repairs {
    double waiting = 0;       ///< probability of more than the spares (of no replica left, if the run shrinks)
    double shrink = 0;        ///< mean share of the replicas that is missing, while it runs
    double rejoin_per_s = 0;  ///< nodes that bring a dropped replica back
};
Repairs repairs_of(GoodputCase const& run) {
    Repairs repairs;
    Replacement const& r = run.replacement;
    if (!r.spares) return repairs;
    double rate = 0;
    for (FailureProcess const& process : run.failures)
        if (takes_a_node(process.scope)) rate += process.rate_per_s();
    double const mean = rate * r.repair.base();
    if (!(mean > 0)) return repairs;
    auto const spares = static_cast<double>(*r.spares);
    auto const dp = static_cast<double>(r.dp);
    double const most = mean + spares + dp + 12 * std::sqrt(mean + 1) + 40;
    double missing = 0, running = 0, above = 0;
    for (double j = 0; j <= most; ++j) {
        double const p = std::exp(j * std::log(mean) - mean - std::lgamma(j + 1));
        double const lacking = std::max(0.0, j - spares);
        if (j >= spares) above += p;
        bool const stands = r.shortage == Shortage::wait ? lacking > 0 : lacking >= dp;
        if (stands)
            repairs.waiting += p;
        else {
            running += p;
            missing += p * lacking / dp;
        }
    }
    if (r.shortage == Shortage::shrink) {
        repairs.shrink = running > 0 ? missing / running : 0;
        repairs.rejoin_per_s = rate * above;
    }
    repairs.waiting = std::min(1.0, repairs.waiting);
    return repairs;
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

void check(bool good, char const* what, std::string const& value, char const* allowed) {
    if (!good) throw InputError("{}: {} ({})", what, value, allowed);
}

/// Sums over the causes, per second of running.
struct PerSecond {
    double rewind = 0;  ///< share of the running time that is lost
    double detection = 0;
    double restart = 0;
};

CauseLoss add_cause(PerSecond& sums, std::string name, double rate, Seconds lost, Downtime const& down) {
    sums.rewind += rate * lost.base();
    sums.detection += rate * down.detection.base();
    sums.restart += rate * down.restart.base();
    return {.name = std::move(name),
            .per_day = rate,
            .each = lost + down.detection + down.restart,
            .share = rate * (lost + down.detection + down.restart).base()};
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
    return {};
}

}  // namespace

double GoodputCase::failures_per_s() const {
    double rate = 0;
    for (FailureProcess const& process : failures)
        rate += process.rate_per_s();
    return rate;
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

void check_goodput_case(GoodputCase const& run) {
    auto const time = [](char const* what, Seconds value, char const* allowed = "zero or more, finite") {
        check(value.base() >= 0 && std::isfinite(value.base()), what, human(value), allowed);
    };
    check(run.work.base() > 0 && std::isfinite(run.work.base()), "work", human(run.work), "more than zero");
    time("detection time", run.detection);
    time("restart time", run.restart);
    time("repair time", run.replacement.repair);
    check(run.spikes.per_day >= 0 && std::isfinite(run.spikes.per_day), "loss spikes per day",
          fmt::format("{}", run.spikes.per_day), "zero or more");
    time("rewind of a loss spike", run.spikes.rewind);
    time("maintenance interval", run.maintenance.every);
    time("duration of maintenance", run.maintenance.duration);
    check(!run.replacement.spares || *run.replacement.spares >= 0, "spare nodes",
          fmt::format("{}", run.replacement.spares.value_or(0)), "zero or more");
    check(run.replacement.dp >= 1, "data-parallel replicas", fmt::format("{}", run.replacement.dp), "at least one");
    check(!run.tiers.empty(), "checkpoints", "none", "at least one tier");
    for (CheckpointTier const& tier : run.tiers) {
        check(tier.interval.base() > 0 && std::isfinite(tier.interval.base()), "checkpoint interval",
              human(tier.interval), "more than zero");
        time("stall of a checkpoint", tier.stall);
        time("write in the background", tier.lag);
        time("load of a checkpoint", tier.load);
    }
    for (FailureProcess const& process : run.failures) {
        check(process.components >= 1, process.name.c_str(), fmt::format("{} components", process.components),
              "at least one");
        check(process.mtbf.base() > 0 && !std::isnan(process.mtbf.base()), process.name.c_str(),
              "MTBF " + human(process.mtbf), "more than zero");
        check(process.shape >= 0.1 && process.shape <= 10, process.name.c_str(),
              fmt::format("Weibull shape {}", process.shape), "0.1 to 10");
        (void)best_tier(run, process.scope);
    }
}

Goodput expected_goodput(GoodputCase const& given) {
    check_goodput_case(given);
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
        Seconds const each = given.tiers.front().stall + run.restart + run.tiers.front().load;
        result.causes.push_back(
            add_cause(per_s, "node rejoins", repairs.rejoin_per_s, {}, {.detection = {}, .restart = each}));
    }

    double const rewind = std::min(1.0, per_s.rewind);
    double const wall_per_s = 1 + per_s.detection + per_s.restart;  // of running
    Maintenance const& m = run.maintenance;
    double const planned = m.every.base() > 0 ? m.duration / (m.every + m.duration) : 0;
    double const running = (1 - repairs.waiting) * (1 - planned) / wall_per_s;

    double const kept = running * (1 - rewind) / (1 + stalls);
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
        cause.share *= running;
        cause.per_day *= running * day.base();
    }
    double const all = run.failures_per_s();
    result.mtbf = all > 0 ? 1 / all * s : never;
    result.wall = use.useful > least_useful ? run.work / use.useful : never;
    for (std::size_t tier = 0; tier < run.tiers.size(); ++tier)
        result.intervals.push_back(interval_of(given, rates, tier));
    result.approximation = approximation_of(given);
    return result;
}

GoodputCase usual_goodput_case(Seconds work, std::int64_t gpus, std::int64_t gpus_per_node, Bytes checkpoint,
                               BytesPerSecond host_bandwidth) {
    GoodputCase run;
    run.work = work;
    run.failures = failures_of(failure_catalog().front(), gpus, gpus_per_node);
    CheckpointSize size{.total = checkpoint, .per_node = {}, .busiest_rank = checkpoint / gpus};
    size.per_node = size.busiest_rank * std::min(gpus, gpus_per_node);
    StorageKind const& storage = find_storage("parallel-fs", "storage");
    run.tiers = checkpoint_tiers(CheckpointMode::async, storage, storage, size, host_bandwidth);
    choose_intervals(run);
    return run;
}

}  // namespace sextant
