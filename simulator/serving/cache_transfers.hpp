#pragma once

#include "simulator/engine/engine.hpp"
#include "simulator/serving/cache_network.hpp"
#include "simulator/serving/event_queue.hpp"
#include "simulator/serving/serving_request.hpp"
#include "simulator/serving/shared_links.hpp"

#include <cstdint>
#include <vector>

namespace sextant {

/// Caches between replicas: ideal, each takes the time it takes alone; fair, those that share a link share its
/// bandwidth.
class CacheTransfers {
public:
    CacheTransfers(NetworkMode sharing, std::span<FabricLink const> links);

    /// A request whose cache is on its way.
    struct Sent {
        FinishedRequest request;
        std::int32_t to = 0;
        std::int32_t from_life = 0, to_life = 0;  ///< of both replicas: with another one the cache is lost
        Seconds at{};                             ///< when it left
        CacheTransfer what;
    };
    void send(Sent sent, EventQueue& events);
    /// Its latency is over. Has it arrived, as nothing is shared?
    bool depart(std::int32_t number, Seconds now, EventQueue& events);
    /// The transfers that end now, empty when the event is out of date: others have begun or ended since it was
    /// planned.
    [[nodiscard]] std::vector<std::int32_t> arrivals(std::int32_t stamp, EventQueue& events);
    Sent take(std::int32_t number) { return transfers_.take(number); }

private:
    void plan(EventQueue& events);

    NetworkMode sharing_;
    SharedLinks links_;
    OnTheWay<Sent> transfers_;
    std::vector<std::int32_t> transfer_of_;  ///< by flow
    std::int32_t stamp_ = 0;
};

}  // namespace sextant
