#pragma once

#include "simulator/serving/request_source.hpp"
#include "simulator/serving/serving_outcome.hpp"
#include "simulator/serving/serving_setup.hpp"

#include <atomic>
#include <cstdint>
#include <functional>

namespace sextant {

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
