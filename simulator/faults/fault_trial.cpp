#include "simulator/faults/fault_trial.hpp"

#include "simulator/faults/fault_run.hpp"

#include "core/spec/named_values.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sextant {
namespace {

using units::s;

constexpr double never = std::numeric_limits<double>::infinity();

constexpr Named<IncidentKind> kinds[] = {{IncidentKind::failure, "failure"},
                                         {IncidentKind::injected, "injected"},
                                         {IncidentKind::spike, "loss spike"},
                                         {IncidentKind::rejoin, "node rejoins"},
                                         {IncidentKind::maintenance, "maintenance"}};

}  // namespace

FaultRun::FaultRun(GoodputCase const& run, TrialOptions const& options, std::uint64_t trial)
    : run_(run),
      options_(options),
      injected_(options.injected),
      spikes_(options.seed, trial, 1),
      spike_in_(never),
      maintenance_at_(run.maintenance.every.base() > 0 ? run.maintenance.every.base() : never),
      work_(run.work.base()),
      limit_(options.give_up * run.work.base()) {
    bool const chance = options.chance == TrialOptions::Chance::on;
    if (chance)
        for (std::size_t i = 0; i < run.failures.size(); ++i)
            clocks_.emplace_back(run.failures[i], options.age, RandomStream(options.seed, trial, 2 + i));
    if (chance && run.spikes.per_day > 0) spike_in_ = spikes_.exponential(86400 / run.spikes.per_day);
    std::stable_sort(injected_.begin(), injected_.end(), [](auto const& a, auto const& b) { return a.at < b.at; });
    for (CheckpointTier const& tier : run.tiers)
        tiers_.push_back({.interval = tier.interval.base(),
                          .stall = tier.stall.base(),
                          .lag = tier.lag.base(),
                          .load = tier.load.base(),
                          .survives = tier.survives,
                          .next = tier.interval.base()});
    result_.lost_by_cause.resize(run.failures.size() + 3);
    result_.incidents_by_cause.resize(run.failures.size() + 3);
    find_next_fault();
}

void FaultRun::find_next_fault() {
    fault_ = {};
    for (std::size_t i = 0; i < clocks_.size(); ++i)
        if (clocks_[i].next() < fault_.at) fault_ = {clocks_[i].next(), i, false};
    if (next_injected_ < injected_.size() && injected_[next_injected_].at.base() <= fault_.at)
        fault_ = {injected_[next_injected_].at.base(), 0, true};
}

void FaultRun::settle_repairs() {
    while (!repairs_.empty() && repairs_.front() <= now_)
        repairs_.pop_front();
}

std::int64_t FaultRun::missing() const {
    if (!run_.replacement.spares) return 0;
    return std::max<std::int64_t>(0, static_cast<std::int64_t>(repairs_.size()) - *run_.replacement.spares);
}

std::int64_t FaultRun::replicas() const {
    std::int64_t const nodes = missing();
    if (run_.replacement.shortage == Shortage::wait) return nodes > 0 ? 0 : run_.replacement.dp;
    return run_.replacement.replicas_without(nodes);
}

bool FaultRun::must_wait() const { return replicas() == 0; }

double FaultRun::rate() const {
    if (run_.replacement.shortage == Shortage::wait) return 1;
    return static_cast<double>(replicas()) / static_cast<double>(run_.replacement.dp);
}

/// When a repaired node brings the next replica back: one alone does not where a replica needs several.
double FaultRun::next_rejoin() const {
    std::int64_t const nodes = missing();
    std::int64_t const now = run_.replacement.replicas_without(nodes);
    for (std::int64_t back = 1; back <= nodes; ++back)
        if (run_.replacement.replicas_without(nodes - back) > now) return repairs_[static_cast<std::size_t>(back - 1)];
    return never;
}

/// Takes one snapshot of this tier; false when `stop` comes first (then it is lost).
bool FaultRun::take_snapshot(FaultTier& tier, double stop) {
    double const begin = tier.pending >= 0 ? std::max(now_, tier.pending_end) : now_;  // one write at a time
    double const end = begin + tier.stall;
    double const reached = std::min(end, stop);
    result_.use.stall += (reached - now_) * s;
    spike_in_ -= reached - now_;
    now_ = reached;
    if (end > stop) return false;
    if (tier.pending >= 0) tier.durable = tier.pending;
    bool const storage = &tier == &tiers_.back();
    if (storage && tier.pending >= 0) kept_.push_back(tier.pending);
    tier.pending = progress_;
    tier.pending_end = now_ + tier.lag;
    tier.next = progress_ + tier.interval;
    ++result_.checkpoints;
    return true;
}

/// Works until wall-clock time `stop`, with snapshots; true when the work is done before.
bool FaultRun::run_until(double stop) {
    double const speed = rate();
    while (now_ < stop) {
        double target = work_;
        for (FaultTier const& tier : tiers_)
            target = std::min(target, tier.next);
        double const arrival = now_ + (target - progress_) / speed;
        double const end = std::min(arrival, stop);
        spike_in_ -= end - now_;
        result_.use.shrink += (end - now_) * (1 - speed) * s;
        progress_ = arrival <= stop ? target : progress_ + (end - now_) * speed;
        now_ = end;
        if (arrival > stop) return false;
        for (FaultTier& tier : tiers_)
            if (tier.next <= progress_ * (1 + 1e-12) && !take_snapshot(tier, stop)) return false;
        if (progress_ >= work_ * (1 - 1e-12)) return true;
    }
    return false;
}

FaultRun::Stop FaultRun::run_on() {
    settle_repairs();
    double const rejoin = next_rejoin();
    double const spike_at = now_ + std::max(0.0, spike_in_);
    double const first = std::min({fault_.at, spike_at, maintenance_at_, rejoin});
    if (first > now_ && run_until(first)) return Stop::done;
    if (fault_.at <= first) return Stop::fault;
    if (rejoin <= first) return Stop::rejoin;
    if (maintenance_at_ <= first) return Stop::maintenance;
    return Stop::spike;
}

TrialOutcome FaultRun::outcome() {
    while (!result_.finished && now_ < limit_) {
        switch (run_on()) {
            case Stop::done: result_.finished = true; break;
            case Stop::fault: fail(); break;
            case Stop::spike: spike(IncidentKind::spike); break;
            case Stop::maintenance: maintain(); break;
            case Stop::rejoin: rejoin(); break;
        }
    }
    result_.use.useful = progress_ * s;
    result_.wall = now_ * s;
    return std::move(result_);
}

std::string_view name_of(IncidentKind kind) { return name_in<IncidentKind>(kinds, kind); }

TrialOutcome run_trial(GoodputCase const& run, TrialOptions const& options, std::uint64_t trial) {
    return FaultRun(run, options, trial).outcome();
}

}  // namespace sextant
