#pragma once

#include "simulator/faults/fault_trial.hpp"

#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

namespace sextant {

/// A tier as the run goes on. Progress is work in seconds.
struct FaultTier {
    double interval, stall, lag, load;
    FailureScope survives;
    double durable = 0;      ///< progress of the newest snapshot that can be read; 0: none is needed
    double pending = -1;     ///< progress of the snapshot being written, -1: none
    double pending_end = 0;  ///< when it will be safe
    double next = 0;         ///< progress at which the next snapshot is taken
};

/// The next fault, whoever brings it.
struct NextFault {
    double at = std::numeric_limits<double>::infinity();
    std::size_t clock = 0;
    bool injected = false;
};

/// One run with its faults, event by event. Plain seconds inside: tens of millions of events, and every quantity is a
/// time. fault_trial.cpp has the work between faults, fault_recovery.cpp what follows on one.
class FaultRun {
public:
    FaultRun(GoodputCase const& run, TrialOptions const& options, std::uint64_t trial);
    TrialOutcome outcome();

private:
    enum class Stop : std::uint8_t { fault, spike, maintenance, rejoin, done };

    Stop run_on();
    bool run_until(double stop);
    bool take_snapshot(FaultTier& tier, double stop);
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
    [[nodiscard]] std::int64_t missing() const;  ///< nodes
    [[nodiscard]] std::int64_t replicas() const;
    [[nodiscard]] double next_rejoin() const;
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
    std::vector<FaultTier> tiers_;
    std::vector<double> kept_{0.0};  ///< progress of every snapshot of the storage (the last tier) that can be read
    std::deque<double> repairs_;     ///< when each ends, ascending: all take as long
    double now_ = 0;
    double progress_ = 0;
    double work_;
    double limit_;  ///< of the wall clock: a run that fails faster than it is repaired would go on for ever
    TrialOutcome result_;
};

}  // namespace sextant
