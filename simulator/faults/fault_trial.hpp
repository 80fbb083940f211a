#pragma once

#include "cost_models/goodput.hpp"
#include "simulator/faults/failure_clock.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace sextant {

/// A fault that is made to happen.
struct InjectedFault {
    Seconds at{};                         ///< of wall-clock time
    std::optional<FailureScope> scope{};  ///< absent: a loss spike
};

/// What interrupted a run.
enum class IncidentKind : std::uint8_t { failure, injected, spike, rejoin, maintenance };
std::string_view name_of(IncidentKind kind);

/// One interruption and what it cost.
struct Incident {
    Seconds at{};
    IncidentKind kind = IncidentKind::failure;
    std::int64_t cause = -1;      ///< index of the failure process, -1: none
    std::int64_t component = -1;  ///< of the process
    FailureScope scope = FailureScope::process;
    std::optional<std::size_t> tier{};  ///< that was read back; absent: the run began again from nothing
    Seconds rewind{};                   ///< work done again
    Seconds detection{};
    Seconds waiting{};         ///< for a node
    Seconds restart{};         ///< of a failed attempt: until the next failure
    Seconds planned{};         ///< the stop itself, for maintenance
    std::int64_t also = 0;     ///< failures that came before this one was repaired
    std::int64_t broken = 0;   ///< nodes in repair afterwards
    std::int64_t missing = 0;  ///< replicas missing afterwards
    [[nodiscard]] Seconds cost() const { return rewind + detection + waiting + restart + planned; }
};

/// One simulated run.
struct TrialOutcome {
    bool finished = false;  ///< false: given up, at `wall`
    Seconds wall{};
    TimeUse<Seconds> use;       ///< adds up to `wall`
    std::int64_t failures = 0;  ///< of components, also those that came while the run stood
    std::int64_t checkpoints = 0;
    std::vector<Seconds> lost_by_cause{};  ///< of each process; then injected, spikes, rejoins
    std::vector<std::int64_t> incidents_by_cause{};
    std::vector<Incident> incidents{};  ///< if asked for
};

struct TrialOptions {
    std::uint64_t seed = 1;
    FleetAge age = FleetAge::running;
    std::vector<InjectedFault> injected{};
    enum class Chance : std::uint8_t { on, off } chance = Chance::on;  ///< off: injected faults alone
    enum class Record : std::uint8_t { sums, incidents } record = Record::sums;
    double give_up = 50;  ///< times the work
};

/// Runs the case once, event by event: work, snapshots of each tier and their writes in the background, failures of
/// each process, detection, waiting for spares, restarts that may fail, dropped replicas, spikes, maintenance.
///
/// What chance brings depends on seed and trial alone, not on intervals or times: two cases meet the same failures
/// (common random numbers).
/// @pre check_goodput_case passes.
TrialOutcome run_trial(GoodputCase const& run, TrialOptions const& options, std::uint64_t trial);

}  // namespace sextant
