// What follows on a fault, a loss spike, a node that comes back, and planned maintenance.
#include "simulator/faults/fault_run.hpp"

#include <algorithm>

namespace sextant {
namespace {

using units::s;

}  // namespace

/// Removes the next fault from its source and says what it is.
Incident FaultRun::take_fault() {
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
    if (takes_a_node(incident.scope)) repairs_.push_back(incident.at.base() + run_.replacement.repair.base());
    return incident;
}

/// Writes that had ended become safe, others are lost, and so is what does not survive this scope.
void FaultRun::lose(FailureScope scope) {
    for (FaultTier& tier : tiers_) {
        if (tier.pending >= 0 && tier.pending_end <= now_) {
            tier.durable = tier.pending;
            if (&tier == &tiers_.back()) kept_.push_back(tier.pending);
        }
        tier.pending = -1;
        if (tier.survives < scope) tier.durable = 0;
    }
}

void FaultRun::roll_back_to(double target) {
    result_.use.rewind += (progress_ - target) * s;
    progress_ = target;
    while (kept_.size() > 1 && kept_.back() > target)
        kept_.pop_back();
    for (FaultTier& tier : tiers_) {
        tier.durable = std::min(tier.durable, target);
        tier.next = std::max(target, tier.durable + tier.interval);
        if (tier.next <= target) tier.next = target + tier.interval;
    }
}

/// Goes back to the newest snapshot that is left.
void FaultRun::read_back(Incident& incident) {
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
void FaultRun::absorb_until(double end, Incident& incident) {
    while (fault_.at <= end) {
        now_ = std::max(now_, fault_.at);
        Incident const other = take_fault();
        if (other.kind != IncidentKind::spike) lose(other.scope);
        ++incident.also;
    }
    now_ = end;
}

/// Detection, and waiting for a node.
void FaultRun::stand(Incident& incident) {
    double const begin = now_;
    absorb_until(begin + run_.detection.base(), incident);
    incident.detection = (now_ - begin) * s;
    result_.use.detection += incident.detection;
    settle_repairs();
    double const wait_from = now_;
    while (must_wait() && now_ < limit_) {
        absorb_until(std::max(now_, repairs_.front()), incident);
        settle_repairs();
    }
    incident.waiting = (now_ - wait_from) * s;
    result_.use.waiting += incident.waiting;
}

/// Loads and starts again; false when another fault comes first (now_ is then its time).
bool FaultRun::restart(Incident& incident) {
    read_back(incident);
    double const load = incident.tier ? tiers_[*incident.tier].load : 0.0;
    double const end = now_ + run_.restart.base() + load;
    double const reached = std::min(end, std::max(now_, fault_.at));
    incident.restart = (reached - now_) * s;
    result_.use.restart += incident.restart;
    now_ = reached;
    settle_repairs();
    incident.broken = static_cast<std::int64_t>(repairs_.size());
    incident.missing = run_.replacement.dp - replicas();
    return end <= fault_.at;
}

void FaultRun::record(Incident const& incident, std::size_t slot) {
    result_.lost_by_cause[slot] += incident.cost();
    ++result_.incidents_by_cause[slot];
    if (options_.record == TrialOptions::Record::incidents) result_.incidents.push_back(incident);
}

/// Faults one after another until the run goes again.
void FaultRun::fail() {
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
void FaultRun::spike(IncidentKind kind) {
    Incident incident{.at = now_ * s, .kind = IncidentKind::spike};
    lose(FailureScope::process);
    double const oldest = progress_ - run_.spikes.rewind.base();
    while (kept_.size() > 1 && kept_.back() > oldest)
        kept_.pop_back();
    double const target = kept_.back();
    incident.rewind = (progress_ - target) * s;
    roll_back_to(target);
    for (FaultTier& tier : tiers_)
        tier.durable = target;
    bool const running = restart(incident);
    record(incident, run_.failures.size() + 1);
    if (kind == IncidentKind::spike) spike_in_ = spikes_.exponential(86400 / run_.spikes.per_day);
    if (!running) fail();
}

/// A checkpoint before a planned stop: safe when it ends. False when a fault comes first.
bool FaultRun::save_now() {
    double const end = now_ + tiers_.back().stall + tiers_.back().lag;
    double const reached = std::min(end, std::max(now_, fault_.at));
    result_.use.stall += (reached - now_) * s;
    now_ = reached;
    if (end > fault_.at) return false;
    lose(FailureScope::process);
    for (FaultTier& tier : tiers_) {
        tier.durable = progress_;
        tier.next = progress_ + tier.interval;
    }
    if (kept_.back() < progress_) kept_.push_back(progress_);
    ++result_.checkpoints;
    return true;
}

void FaultRun::rejoin() {
    if (!save_now()) return fail();
    settle_repairs();
    Incident incident{.at = now_ * s, .kind = IncidentKind::rejoin};
    bool const running = restart(incident);
    record(incident, run_.failures.size() + 2);
    if (!running) fail();
}

void FaultRun::maintain() {
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
        absorb_until(std::max(now_, repairs_.front()), incident);
        settle_repairs();
    }
    result_.use.waiting += (now_ - wait_from) * s;
}

}  // namespace sextant
