#pragma once

#include "simulator/serving/replica.hpp"
#include "simulator/serving/request_source.hpp"
#include "simulator/serving/serving_outcome.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

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
    std::int64_t prefill_replicas = 0;  ///< of these; they process prompts, the others decode. 0: each does both
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

/// Runs the requests of `source` through replicas, event by event: arrivals, entries into a queue, ends of iterations.
/// Stops early when the queue grows without bound (open loops).
///
/// Same setup and source, same outcome to the last bit. @throws InputError: limits that cannot work.
ServingOutcome simulate_serving(ServingSetup const& setup, ServiceModel const& service, RequestSource& source,
                                ServingHooks const& hooks = {});

}  // namespace sextant
