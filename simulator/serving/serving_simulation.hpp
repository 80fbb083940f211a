#pragma once

#include "simulator/serving/gap_histogram.hpp"
#include "simulator/serving/overload_watch.hpp"
#include "simulator/serving/replica.hpp"
#include "simulator/serving/request_source.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace sextant {

enum class Router : std::uint8_t { round_robin, least_loaded };
std::string_view name_of(Router router);
/// @throws InputError with the known names and the nearest one.
Router router_from(std::string_view name, std::string_view where);

/// Latencies that a request has to keep to count as good.
struct LatencyObjective {
    std::optional<Seconds> ttft;
    std::optional<Seconds> tpot;
    [[nodiscard]] bool any() const { return ttft || tpot; }
    [[nodiscard]] bool met_by(FinishedRequest const& request) const;
};

struct ServingSetup {
    ReplicaLimits limits;
    std::int64_t replicas = 1;
    Router router = Router::least_loaded;
    std::int64_t concurrency = 0;   ///< of a closed loop; 0: requests come at their times
    double interval_variation = 1;  ///< coefficient of variation of the intervals between arrivals
    double warmup_share = 0.1;      ///< of the requests, not measured
    LatencyObjective objective{};
};

/// Hooks of a run.
struct ServingHooks {
    std::function<void(FinishedRequest const&)> finished{};  ///< every request, when it is done
    std::function<void(std::int64_t)> progress{};            ///< requests arrived, now and then
    std::atomic<bool> const* stop = nullptr;
};

/// Quantiles of one latency.
struct LatencySpread {
    std::int64_t count = 0;
    Seconds mean{}, p50{}, p90{}, p95{}, p99{}, largest{};
};

/// State of all replicas at one time.
struct ServingSample {
    Seconds at{};
    std::int64_t waiting = 0;
    std::int64_t running = 0;
    double cache_use = 0;         ///< share of the blocks
    std::int64_t tokens_out = 0;  ///< since the start
};

/// Sums over a span of time.
struct ServingTotals {
    Seconds at{};
    double in_system = 0;  ///< requests x seconds
    double waiting = 0;    ///< in queues of replicas, requests x seconds
    double running = 0;
    double blocks = 0;  ///< in use, blocks x seconds
    std::int64_t arrived = 0;
    std::int64_t finished = 0;
    ReplicaCounters counters{};  ///< of all replicas together
};
ServingTotals operator-(ServingTotals const& a, ServingTotals const& b);

/// What a simulation found.
struct ServingOutcome {
    SteadyState state = SteadyState::steady;
    bool interrupted = false;
    ServingTotals whole;         ///< from the start to the last event
    ServingTotals window;        ///< from the first measured arrival to the last one (`at`: its length)
    bool window_to_end = false;  ///< it ends with the last request, as arrivals span less than an answer takes
    std::int64_t measured = 0;   ///< requests that finished after the warm-up
    std::int64_t good = 0;       ///< of these, within the objective
    LatencySpread ttft, tpot, itl, e2e, queue;
    std::int64_t most_waiting = 0;
    double most_cache_use = 0;
    Seconds e2e_sum{};              ///< over all finished requests
    std::int64_t asked_tokens = 0;  ///< outputs of all finished requests
    std::int64_t blocks_taken = 0;
    std::int64_t blocks_given = 0;      ///< equal to the taken ones after a complete run
    std::int64_t blocks_total = 0;      ///< of all replicas
    Seconds onset{};                    ///< of overload
    double capacity = 0;                ///< requests a second that were served while overloaded
    double offered = 0;                 ///< requests a second that arrived meanwhile
    std::vector<ServingSample> series;  ///< 256 to 512 of a long run
};

/// Runs the requests of `source` through replicas, event by event: arrivals, entries into a queue, ends of iterations.
/// Stops early when the queue grows without bound (open loops).
///
/// Same setup and source, same outcome to the last bit. @throws InputError: limits that cannot work.
ServingOutcome simulate_serving(ServingSetup const& setup, ServiceModel const& service, RequestSource& source,
                                ServingHooks const& hooks = {});

}  // namespace sextant
