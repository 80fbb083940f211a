#pragma once

#include "simulator/serving/cache_transfers.hpp"
#include "simulator/serving/fleet_changes.hpp"
#include "simulator/serving/replica.hpp"
#include "simulator/serving/router.hpp"

#include <cstdint>
#include <optional>

namespace sextant {

/// Latencies that a request has to keep to count as good.
struct LatencyObjective {
    std::optional<Seconds> ttft;
    std::optional<Seconds> tpot;
    [[nodiscard]] bool any() const { return ttft || tpot; }
    [[nodiscard]] bool met_by(FinishedRequest const& request) const;
};

/// A deployment and how it is driven.
struct ServingSetup {
    ReplicaLimits limits;
    std::int64_t replicas = 1;
    std::int64_t prefill_replicas = 0;  ///< of these; they process prompts, the others decode. 0: each does both
    std::optional<ReplicaLimits> prefill_limits{};  ///< of these, where they are cut or limited in another way
    Router router = Router::least_loaded;
    NetworkMode network = NetworkMode::fair;
    std::int64_t concurrency = 0;   ///< of a closed loop; 0: requests come at their times
    double interval_variation = 1;  ///< coefficient of variation of the intervals between arrivals
    double warmup_share = 0.1;      ///< of the requests, not measured
    LatencyObjective objective{};
    std::int64_t tenants = 1;  ///< above one: each has figures of its own
    Autoscale autoscale{};
    Outages outages{};
    /// Replicas come and go.
    [[nodiscard]] bool changes() const { return autoscale.on() || outages.mtbf > Seconds{} || !outages.drains.empty(); }
    [[nodiscard]] ReplicaLimits const& limits_for_prompts() const { return prefill_limits ? *prefill_limits : limits; }
    [[nodiscard]] ReplicaLimits const& limits_of(std::int64_t replica) const {
        return replica < prefill_replicas ? limits_for_prompts() : limits;
    }
    /// Of attention data-parallel groups, counted through all replicas before this one.
    [[nodiscard]] std::int64_t groups_before(std::int64_t replica) const;
};

/// @throws InputError: limits that cannot work, with the option that sets them.
void check_serving_setup(ServingSetup const& setup);

}  // namespace sextant
