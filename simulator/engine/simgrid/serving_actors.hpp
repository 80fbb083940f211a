#pragma once

#include "simulator/engine/simgrid/serving_platform.hpp"
#include "simulator/serving/serving_moments.hpp"

#include <simgrid/s4u.hpp>

#include <array>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sextant {

/// A serving simulation as actors: the router, which decides; the clients, who send the next request; every batch in
/// flight of every replica, which lasts as long as its iteration; and one for each other thing that is under way - a
/// request that is tokenised, a cache on the links, a replica that starts or is repaired, the next failure, the next
/// look of the autoscaler.
///
/// Events keep the time that they were planned for, and the clock of SimGrid only says in which order they come, to
/// `precision`. All that come together are handed to the simulation together, which sorts them by their own times: so
/// what happens is the same to the last bit, but for the caches, whose arrivals only SimGrid knows.
class ServingActors {
public:
    /// Beyond those of `start_simgrid`: what ends within a nanosecond ends together (the step of a double is that after
    /// 48 days), and small stacks, as there may be tens of thousands of actors.
    static constexpr std::array settings {
        "--cfg=surf/precision:1e-9", "--cfg=contexts/stack-size:64", "--cfg=contexts/guard-size:0",
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
            "--cfg=contexts/factory:thread",  // sanitizers follow threads, and not stacks that are swapped
#endif
    };

    explicit ServingActors(ServingActorsRun const& run);
    ServingActors(ServingActors const&) = delete;
    ServingActors& operator=(ServingActors const&) = delete;
    /// Until the simulation says that it is over. Rethrows what it threw.
    void run();

private:
    /// A cache whose flows are on their way.
    struct Carried {
        ServingEvent arrival;
        std::size_t flows_left;
    };
    /// What an actor waits for.
    struct Errand {
        Seconds at{};
        std::optional<ServingEvent> event{};
        simgrid::s4u::Host* source = nullptr;  ///< of a flow
        double units = 0, rate = 0;
        Carried* cache = nullptr;
    };
    struct Waiter {
        simgrid::s4u::ActorPtr actor{};
        std::optional<Errand> errand{};
        bool asleep = false;
        bool pooled = false;
    };

    void route();
    void hand_out();
    void give(Waiter& waiter, Errand const& errand);
    void carry(CacheToCarry const& cache);
    Waiter& free_waiter();
    Waiter& batch(ServingEvent const& iteration);
    void start(Waiter& waiter, std::string const& name, simgrid::s4u::Host* host);
    void wait_for_errands(Waiter& self);
    void move(Errand const& flow);
    void deliver(Errand const& errand);

    ServingActorsRun const& run_;
    ServingPlatform platform_;
    simgrid::s4u::ActorPtr router_;
    bool router_sleeps_ = false;
    std::vector<ServingEvent> due_;
    std::optional<Seconds> due_at_;  ///< of the last of them, and of the next arrival
    simgrid::s4u::Mailbox* mailbox_ = nullptr;
    Waiter clients_;
    std::optional<Seconds> next_arrival_;
    std::map<std::pair<std::int32_t, std::int32_t>, Waiter*> batches_;  ///< by replica and lane
    std::deque<Waiter> waiters_;
    std::vector<Waiter*> free_;
    std::deque<Carried> carried_;
    std::vector<Carried*> free_carried_;
    std::exception_ptr failure_;
};

}  // namespace sextant
