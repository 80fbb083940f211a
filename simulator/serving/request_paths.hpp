#pragma once

#include "simulator/serving/cache_transfers.hpp"
#include "simulator/serving/event_queue.hpp"
#include "simulator/serving/fleet.hpp"
#include "simulator/serving/router.hpp"
#include "simulator/serving/serving_outcome.hpp"
#include "simulator/serving/serving_setup.hpp"

#include <cstdint>
#include <vector>

namespace sextant {

/// The ways of requests to replicas and from one to the other: what the router says, caches on their way, and those
/// that wait while no replica takes them.
class RequestPaths {
public:
    RequestPaths(ServingSetup const& setup, ServiceModel const& service, Fleet& fleet, EventQueue& events,
                 ServingTotals& totals, Carrier carrier);

    /// A new request.
    void enter(ServingRequest const& request, std::int64_t number);
    /// Requests that lost their replica begin again at another: prompt and the tokens that are out are computed there.
    void again(std::vector<FinishedRequest> const& requests);
    /// The cache of a processed prompt goes to a replica that decodes.
    void send(FinishedRequest const& request);
    /// A replica serves (again): what waited for one goes on.
    void resume();

    /// Events of the caches on their way.
    void departed(ServingEvent const& event);
    void transferred(ServingEvent const& event);

    /// Caches that somebody else is to move; they are taken from here.
    std::vector<CacheToCarry>& to_carry() { return transfers_.to_carry(); }

    /// Adds requests that began again.
    void conclude(ServingOutcome& out) const;

private:
    void arrived_cache(std::int32_t number);
    [[nodiscard]] std::int32_t number_of(CachePlace place) const {
        return static_cast<std::int32_t>(setup_.groups_before(place.replica) + place.group);
    }

    ServingSetup const& setup_;
    std::vector<std::int64_t> turns_;  ///< caches that each replica was sent
    ServiceModel const& service_;
    Fleet& fleet_;
    EventQueue& events_;
    ServingTotals& totals_;
    CacheTransfers transfers_;
    Routing to_prompts_, to_decodes_;
    std::vector<FinishedRequest> stranded_;         ///< while no replica takes requests
    std::vector<FinishedRequest> stranded_caches_;  ///< while none takes caches
    std::int64_t restarted_ = 0, restarted_tokens_ = 0;
};

}  // namespace sextant
