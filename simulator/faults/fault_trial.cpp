#include "simulator/faults/fault_trial.hpp"

#include "core/spec/named_values.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>

namespace sextant {
namespace {

using units::s;

constexpr double never = std::numeric_limits<double>::infinity();

constexpr Named<IncidentKind> kinds[] = {{IncidentKind::failure, "failure"},
                                         {IncidentKind::injected, "injected"},
                                         {IncidentKind::spike, "loss spike"},
                                         {IncidentKind::rejoin, "node rejoins"},
                                         {IncidentKind::maintenance, "maintenance"}};

/// A tier as the run goes on. Progress is work in seconds.
struct TierState {
    double interval, stall, lag, load;
    FailureScope survives;
    double durable = 0;      ///< progress of the newest snapshot that can be read; 0: none is needed
    double pending = -1;     ///< progress of the snapshot being written, -1: none
    double pending_end = 0;  ///< when it will be safe
    double next = 0;         ///< progress at which the next snapshot is taken
};

/// The next fault, whoever brings it.
struct NextFault {
    double at = never;
    std::size_t clock = 0;
    bool injected = false;
};

/// Plain seconds inside: tens of millions of events, and every quantity is a time.
class Trial {
public:
    Trial(GoodputCase const& run, TrialOptions const& options, std::uint64_t trial);
    TrialOutcome outcome();

private:
    enum class Stop : std::uint8_t { fault, spike, maintenance, rejoin, done };

    Stop run_on();
    bool run_until(double stop);
    bool take_snapshot(TierState& tier, double stop);
    bool save_now();
    void fail();
    Incident take_fault();
    void lose(FailureScope scope);
    void roll_back_to(double target);
    void stand(Incident& incident);
    void absorb_until(double end, Incident& incident);
    bool restart(Incident& incident);
    void read_back(Incident& incident);
    void spike(IncidentKind kind);
    void rejoin();
    void maintain();
    void record(Incident const& incident, std::size_t slot);
    void find_next_fault();
    void settle_repairs();
    [[nodiscard]] std::int64_t missing() const;
    [[nodiscard]] bool must_wait() const;
    [[nodiscard]] double rate() const;

    GoodputCase const& run_;
    TrialOptions const& options_;
    std::vector<FailureClock> clocks_;
    std::vector<InjectedFault> injected_;
    std::size_t next_injected_ = 0;
    NextFault fault_;
    RandomStream spikes_;
    double spike_in_;  ///< running time until the next spike
    double maintenance_at_;
    std::vector<TierState> tiers_;
    std::vector<double> kept_{0.0};  ///< progress of every snapshot of the storage (the last tier) that can be read
    std::priority_queue<double, std::vector<double>, std::greater<>> repairs_;
    double now_ = 0;
    double progress_ = 0;
    double work_;
    double limit_;  ///< of the wall clock: a run that fails faster than it is repaired would go on for ever
    TrialOutcome result_;
};

Trial::Trial(GoodputCase const& run, TrialOptions const& options, std::uint64_t trial)
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

void Trial::find_next_fault() {
    fault_ = {};
    for (std::size_t i = 0; i < clocks_.size(); ++i)
        if (clocks_[i].next() < fault_.at) fault_ = {clocks_[i].next(), i, false};
    if (next_injected_ < injected_.size() && injected_[next_injected_].at.base() <= fault_.at)
        fault_ = {injected_[next_injected_].at.base(), 0, true};
}

void Trial::settle_repairs() {
    while (!repairs_.empty() && repairs_.top() <= now_)
        repairs_.pop();
}

std::int64_t Trial::missing() const {
    if (!run_.replacement.spares) return 0;
    return std::max<std::int64_t>(0, static_cast<std::int64_t>(repairs_.size()) - *run_.replacement.spares);
}

bool Trial::must_wait() const {
    return missing() >= (run_.replacement.shortage == Shortage::wait ? 1 : run_.replacement.dp);
}

double Trial::rate() const {
    auto const dp = static_cast<double>(run_.replacement.dp);
    return run_.replacement.shortage == Shortage::wait ? 1 : (dp - static_cast<double>(missing())) / dp;
}

/// Takes one snapshot of this tier; false when `stop` comes first (then it is lost).
bool Trial::take_snapshot(TierState& tier, double stop) {
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
bool Trial::run_until(double stop) {
    double const speed = rate();
    while (now_ < stop) {
        double target = work_;
        for (TierState const& tier : tiers_)
            target = std::min(target, tier.next);
        double const arrival = now_ + (target - progress_) / speed;
        double const end = std::min(arrival, stop);
        spike_in_ -= end - now_;
        result_.use.shrink += (end - now_) * (1 - speed) * s;
        progress_ = arrival <= stop ? target : progress_ + (end - now_) * speed;
        now_ = end;
        if (arrival > stop) return false;
        for (TierState& tier : tiers_)
            if (tier.next <= progress_ * (1 + 1e-12) && !take_snapshot(tier, stop)) return false;
        if (progress_ >= work_ * (1 - 1e-12)) return true;
    }
    return false;
}

Trial::Stop Trial::run_on() {
    settle_repairs();
    // A node that comes back matters to a running job only when a replica is missing.
    double const rejoin = missing() > 0 ? repairs_.top() : never;
    double const spike_at = now_ + std::max(0.0, spike_in_);
    double const first = std::min({fault_.at, spike_at, maintenance_at_, rejoin});
    if (first > now_ && run_until(first)) return Stop::done;
    if (fault_.at <= first) return Stop::fault;
    if (rejoin <= first) return Stop::rejoin;
    if (maintenance_at_ <= first) return Stop::maintenance;
    return Stop::spike;
}

/// Removes the next fault from its source and says what it is.
Incident Trial::take_fault() {
    Incident incident{.at = fault_.at * s};
    if (fault_.injected) {
        InjectedFault const& fault = injected_[next_injected_++];
        incident.kind = fault.scope ? IncidentKind::injected : IncidentKind::spike;
        incident.scope = fault.scope.value_or(FailureScope::process);
    } else {
        FailureClock& clock = clocks_[fault_.clock];
        incident.cause = static_cast<std::int64_t>(fault_.clock);
        incident.component = clock.component();
        incident.scope = run_.failures[fault_.clock].scope;
        clock.pop();
    }
    find_next_fault();
    if (incident.kind == IncidentKind::spike) return incident;
    ++result_.failures;
    if (takes_a_node(incident.scope)) repairs_.push(incident.at.base() + run_.replacement.repair.base());
    return incident;
}

/// Writes that had ended become safe, others are lost, and so is what does not survive this scope.
void Trial::lose(FailureScope scope) {
    for (TierState& tier : tiers_) {
        if (tier.pending >= 0 && tier.pending_end <= now_) {
            tier.durable = tier.pending;
            if (&tier == &tiers_.back()) kept_.push_back(tier.pending);
        }
        tier.pending = -1;
        if (tier.survives < scope) tier.durable = 0;
    }
}

void Trial::roll_back_to(double target) {
    result_.use.rewind += (progress_ - target) * s;
    progress_ = target;
    while (kept_.size() > 1 && kept_.back() > target)
        kept_.pop_back();
    for (TierState& tier : tiers_) {
        tier.durable = std::min(tier.durable, target);
        tier.next = std::max(target, tier.durable + tier.interval);
        if (tier.next <= target) tier.next = target + tier.interval;
    }
}

/// Goes back to the newest snapshot that is left.
void Trial::read_back(Incident& incident) {
    double newest = 0;
    for (std::size_t i = 0; i < tiers_.size(); ++i)
        if (tiers_[i].durable > newest || (incident.tier && tiers_[i].durable == newest && newest > 0 &&
                                           tiers_[i].load < tiers_[*incident.tier].load)) {
            newest = tiers_[i].durable;
            incident.tier = i;
        }
    incident.rewind += (progress_ - newest) * s;
    roll_back_to(newest);
}

/// Faults before `end` strike a run that stands already: they take nodes and copies, but no further time.
void Trial::absorb_until(double end, Incident& incident) {
    while (fault_.at <= end) {
        now_ = std::max(now_, fault_.at);
        Incident const other = take_fault();
        if (other.kind != IncidentKind::spike) lose(other.scope);
        ++incident.also;
    }
    now_ = end;
}

/// Detection, and waiting for a node.
void Trial::stand(Incident& incident) {
    double const begin = now_;
    absorb_until(begin + run_.detection.base(), incident);
    incident.detection = (now_ - begin) * s;
    result_.use.detection += incident.detection;
    settle_repairs();
    double const wait_from = now_;
    while (must_wait() && now_ < limit_) {
        absorb_until(std::max(now_, repairs_.top()), incident);
        settle_repairs();
    }
    incident.waiting = (now_ - wait_from) * s;
    result_.use.waiting += incident.waiting;
}

/// Loads and starts again; false when another fault comes first (now_ is then its time).
bool Trial::restart(Incident& incident) {
    read_back(incident);
    double const load = incident.tier ? tiers_[*incident.tier].load : 0.0;
    double const end = now_ + run_.restart.base() + load;
    double const reached = std::min(end, std::max(now_, fault_.at));
    incident.restart = (reached - now_) * s;
    result_.use.restart += incident.restart;
    now_ = reached;
    settle_repairs();
    incident.broken = static_cast<std::int64_t>(repairs_.size());
    incident.missing = missing();
    return end <= fault_.at;
}

void Trial::record(Incident const& incident, std::size_t slot) {
    result_.lost_by_cause[slot] += incident.cost();
    ++result_.incidents_by_cause[slot];
    if (options_.record == TrialOptions::Record::incidents) result_.incidents.push_back(incident);
}

/// Faults one after another until the run goes again.
void Trial::fail() {
    for (bool running = false; !running && now_ < limit_;) {
        Incident incident = take_fault();
        if (incident.kind == IncidentKind::spike) {
            spike(IncidentKind::injected);
            return;
        }
        lose(incident.scope);
        stand(incident);
        running = restart(incident);
        record(incident, incident.cause >= 0 ? static_cast<std::size_t>(incident.cause) : run_.failures.size());
    }
}

/// Back to the last snapshot in the storage that is old enough.
void Trial::spike(IncidentKind kind) {
    Incident incident{.at = now_ * s, .kind = IncidentKind::spike};
    lose(FailureScope::process);
    double const oldest = progress_ - run_.spikes.rewind.base();
    while (kept_.size() > 1 && kept_.back() > oldest)
        kept_.pop_back();
    double const target = kept_.back();
    incident.rewind = (progress_ - target) * s;
    roll_back_to(target);
    for (TierState& tier : tiers_)
        tier.durable = target;
    bool const running = restart(incident);
    record(incident, run_.failures.size() + 1);
    if (kind == IncidentKind::spike) spike_in_ = spikes_.exponential(86400 / run_.spikes.per_day);
    if (!running) fail();
}

/// A checkpoint before a planned stop: safe when it ends. False when a fault comes first.
bool Trial::save_now() {
    double const end = now_ + tiers_.back().stall + tiers_.back().lag;
    double const reached = std::min(end, std::max(now_, fault_.at));
    result_.use.stall += (reached - now_) * s;
    now_ = reached;
    if (end > fault_.at) return false;
    lose(FailureScope::process);
    for (TierState& tier : tiers_) {
        tier.durable = progress_;
        tier.next = progress_ + tier.interval;
    }
    if (kept_.back() < progress_) kept_.push_back(progress_);
    ++result_.checkpoints;
    return true;
}

void Trial::rejoin() {
    if (!save_now()) return fail();
    settle_repairs();
    Incident incident{.at = now_ * s, .kind = IncidentKind::rejoin};
    bool const running = restart(incident);
    record(incident, run_.failures.size() + 2);
    if (!running) fail();
}

void Trial::maintain() {
    if (!save_now()) return fail();
    Incident incident{.at = now_ * s, .kind = IncidentKind::maintenance};
    double const begin = now_;
    absorb_until(begin + run_.maintenance.duration.base(), incident);
    read_back(incident);  // a fault in the meantime may have taken the copies
    incident.planned = (now_ - begin) * s;
    result_.use.maintenance += incident.planned;
    settle_repairs();
    if (options_.record == TrialOptions::Record::incidents) result_.incidents.push_back(incident);
    maintenance_at_ = now_ + run_.maintenance.every.base();
    double const wait_from = now_;
    while (must_wait() && now_ < limit_) {
        absorb_until(std::max(now_, repairs_.top()), incident);
        settle_repairs();
    }
    result_.use.waiting += (now_ - wait_from) * s;
}

TrialOutcome Trial::outcome() {
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

}  // namespace

std::string_view name_of(IncidentKind kind) { return name_in<IncidentKind>(kinds, kind); }

TrialOutcome run_trial(GoodputCase const& run, TrialOptions const& options, std::uint64_t trial) {
    return Trial(run, options, trial).outcome();
}

}  // namespace sextant
