#pragma once

#include "simulator/serving/cache_transfers.hpp"
#include "simulator/serving/event_queue.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sextant {

/// A serving simulation as those see it who let time pass for it.
class ServingMoments {
public:
    ServingMoments() = default;
    ServingMoments(ServingMoments const&) = delete;
    ServingMoments& operator=(ServingMoments const&) = delete;
    virtual ~ServingMoments() = default;

    /// Everything that happens up to a time, in the order of events: those that are due, and what follows at once.
    /// @param due all that were handed out and have come by then. Does it go on?
    virtual bool happen(Seconds now, std::span<ServingEvent const> due) = 0;
    /// What is planned since, to come back when it is due; cleared by the caller.
    virtual std::vector<ServingEvent>& events() = 0;
    /// Caches that leave, to come back as events when they have arrived; cleared by the caller.
    virtual std::vector<CacheToCarry>& caches() = 0;
    /// Of an open loop: to come as a moment without an event.
    [[nodiscard]] virtual std::optional<Seconds> next_arrival() const = 0;
};

/// The links from a group of one replica to one of another, numbered through all replicas: of each of the flows that a
/// cache is carried by.
struct CacheRoute {
    std::int32_t from = 0, to = 0;
    std::vector<std::vector<std::int32_t>> flows;
};

/// What actors on SimGrid are asked to simulate.
struct ServingActorsRun {
    ServingMoments& moments;
    std::int64_t replicas = 1;
    std::span<double const> bandwidths;  ///< of each link, B/s
    std::span<CacheRoute const> routes;
    std::int64_t& activities;  ///< that SimGrid ran
};

/// Runs the simulation in this process, which can do so once. Rethrows what a moment threw.
using ServingEntry = void (*)(ServingActorsRun const&);

}  // namespace sextant
