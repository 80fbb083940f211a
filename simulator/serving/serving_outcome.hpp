#pragma once

#include "simulator/serving/gap_histogram.hpp"
#include "simulator/serving/overload_watch.hpp"
#include "simulator/serving/replica.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace sextant {

/// Quantiles of one latency.
struct LatencySpread {
    std::int64_t count = 0;
    Seconds mean{}, p50{}, p90{}, p95{}, p99{}, largest{};
    std::vector<Seconds> curve{};  ///< quantiles 0, 1/200, ... 1; of exact values only
};

/// Sorts the values, in seconds.
LatencySpread spread_of(std::vector<double>& values);
LatencySpread spread_of(GapHistogram const& gaps);

/// State of all replicas at one time.
struct ServingSample {
    Seconds at{};
    std::int64_t waiting = 0;
    std::int64_t running = 0;
    double cache_use = 0;         ///< share of the blocks of the replicas that serve
    std::int64_t tokens_out = 0;  ///< since the start
    std::int64_t up = 0;          ///< replicas that serve
    std::int64_t held = 0;        ///< that are paid for
    Seconds busy{};               ///< of all first stages, since the start
};

/// Sums over a span of time.
struct ServingTotals {
    Seconds at{};
    double in_system = 0;  ///< requests x seconds
    double waiting = 0;    ///< in queues of replicas, requests x seconds
    double running = 0;
    double blocks = 0;  ///< in use, blocks x seconds
    double room = 0;    ///< of the replicas that serve, blocks x seconds
    std::int64_t arrived = 0;
    std::int64_t finished = 0;
    std::int64_t finished_tokens = 0;  ///< outputs of these
    ReplicaCounters counters{};        ///< of all replicas together
    Seconds prefill_busy{};            ///< of the replicas that process prompts only
    Seconds transferring{};            ///< caches between replicas, each from its sending to its arrival
    Seconds transferring_alone{};      ///< what that would be if no link were shared
    std::int64_t transfers = 0;
    double up = 0;    ///< replicas that serve, replicas x seconds
    double down = 0;  ///< that failed or were drained
    double held = 0;  ///< that are paid for: those, and those that start
};
ServingTotals operator-(ServingTotals const& a, ServingTotals const& b);
ReplicaCounters operator-(ReplicaCounters a, ReplicaCounters const& b);
ReplicaCounters& operator+=(ReplicaCounters& sum, ReplicaCounters const& other);

/// What the requests of one tenant got, of those measured.
struct TenantOutcome {
    std::int64_t measured = 0;
    std::int64_t good = 0;
    std::int64_t prompt_tokens = 0;
    std::int64_t output_tokens = 0;
    LatencySpread ttft, tpot, e2e;
};

/// What a simulation found.
struct ServingOutcome {
    SteadyState state = SteadyState::steady;
    bool interrupted = false;
    std::int64_t cut_requests = 0;  ///< drawn longer than allowed
    ServingTotals whole;            ///< from the start to the last event
    /// From the first measured arrival, or from when nine of ten answers to the first request would have come, to the
    /// last arrival (`at`: its length).
    ServingTotals window;
    bool window_to_end = false;  ///< it ends with the last request, as arrivals span less than an answer takes
    std::int64_t measured = 0;   ///< requests that finished after the warm-up
    std::int64_t good = 0;       ///< of these, within the objective
    LatencySpread ttft, tpot, itl, e2e, queue;
    std::vector<TenantOutcome> tenants;  ///< where there are several
    std::int64_t most_waiting = 0;
    double most_cache_use = 0;             ///< of the replicas that served then
    std::int64_t most_batch = 0;           ///< requests of one replica that ran at a time
    std::int64_t most_batched_tokens = 0;  ///< of one iteration
    bool short_of_cache = false;           ///< a replica had no blocks for a request
    Seconds e2e_sum{};                     ///< over all finished requests
    std::int64_t asked_tokens = 0;         ///< outputs of all finished requests
    std::int64_t blocks_taken = 0;
    std::int64_t blocks_given = 0;  ///< equal to the taken ones after a complete run
    std::int64_t blocks_total = 0;  ///< of all replicas
    std::int64_t host_blocks_taken = 0;
    std::int64_t host_blocks_given = 0;
    std::int64_t failures = 0;
    std::int64_t drains = 0;
    std::int64_t started = 0;  ///< replicas, by the autoscaler
    std::int64_t stopped = 0;
    std::int64_t restarted = 0;         ///< requests that began again elsewhere
    std::int64_t restarted_tokens = 0;  ///< of prompts and outputs, computed again for that
    Seconds onset{};                    ///< of overload
    /// Requests a second that were served while overloaded; nothing where requests ran out before a round was measured.
    std::optional<double> capacity;
    double offered = 0;                 ///< requests a second that arrived meanwhile
    std::vector<ServingSample> series;  ///< 256 to 512 of a long run
};

}  // namespace sextant
