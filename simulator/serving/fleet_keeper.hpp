#pragma once

#include "simulator/faults/failure_clock.hpp"
#include "simulator/serving/event_queue.hpp"
#include "simulator/serving/fleet.hpp"
#include "simulator/serving/serving_setup.hpp"

#include <cstdint>
#include <vector>

namespace sextant {

/// Makes replicas start, stop, fail and come back. Requests that lose theirs are handed out, to be routed again.
class FleetKeeper {
public:
    FleetKeeper(ServingSetup const& setup, Fleet& fleet);

    /// Plans what is known at time zero.
    void begin(EventQueue& events);
    /// A failure, a drain, a replica that serves again.
    [[nodiscard]] std::vector<FinishedRequest> happen(ServingEvent const& event, EventQueue& events);
    /// The number of replicas is looked at.
    [[nodiscard]] std::vector<FinishedRequest> scale(Seconds now, std::int64_t unfinished, EventQueue& events);
    /// A replica that is drained may be empty now.
    void settle(std::size_t replica, Seconds now, EventQueue& events);

    /// Events that are planned whether there are requests or not.
    [[nodiscard]] std::size_t background() const { return background_; }
    /// All replicas that there may be serve: a queue that grows now is overload.
    [[nodiscard]] bool at_full_size() const;
    void conclude(ServingOutcome& out) const;

private:
    void plan(Seconds at, ServingEvent::Kind kind, std::int32_t index, EventQueue& events, std::int32_t life = 0);
    std::vector<FinishedRequest> fail(std::size_t replica, Seconds now, EventQueue& events);
    std::vector<FinishedRequest> drain(std::size_t replica, Seconds now, EventQueue& events);
    void add(std::int64_t count, Seconds now, EventQueue& events);
    std::vector<FinishedRequest> remove(std::int64_t count, Seconds now, EventQueue& events);
    [[nodiscard]] double metric(Seconds now, std::int64_t unfinished);

    ServingSetup const& setup_;
    Fleet& fleet_;
    FailureClock clock_;
    ScaleDecision decision_;
    std::vector<char> planned_;  ///< drained as planned, not by the autoscaler
    std::size_t background_ = 0;
    std::int64_t coming_ = 0;  ///< replicas that will serve
    Seconds looked_{}, busy_{};
    std::int64_t failures_ = 0, drains_ = 0, started_ = 0, stopped_ = 0;
};

}  // namespace sextant
