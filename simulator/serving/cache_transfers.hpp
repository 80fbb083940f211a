#pragma once

#include "simulator/engine/engine.hpp"
#include "simulator/serving/cache_network.hpp"
#include "simulator/serving/event_queue.hpp"
#include "simulator/serving/serving_request.hpp"
#include "simulator/serving/shared_links.hpp"

#include <cstdint>
#include <vector>

namespace sextant {

/// Who moves caches that share links.
enum class Carrier : std::uint8_t {
    here,      ///< `SharedLinks`
    elsewhere  ///< they are handed out, and come back as events when they have arrived
};

/// A cache that somebody else is to move.
struct CacheToCarry {
    ServingEvent arrival;   ///< comes back with its time
    Seconds departs{};      ///< its bytes, after the latency
    std::int32_t from = 0;  ///< numbers of groups, through all replicas
    std::int32_t to = 0;
    BytesPerSecond rate{};  ///< of a rank alone
    Bytes bytes{};          ///< of a rank
};

/// Caches between replicas: ideal, each takes the time it takes alone; fair, those that share a link share its
/// bandwidth.
class CacheTransfers {
public:
    CacheTransfers(NetworkMode sharing, std::span<FabricLink const> links, Carrier carrier);

    /// A request whose cache is on its way.
    struct Sent {
        FinishedRequest request;
        std::int32_t to = 0;
        std::int32_t from_place = 0, to_place = 0;  ///< numbers of groups, through all replicas
        std::int32_t from_life = 0, to_life = 0;    ///< of both replicas: with another one the cache is lost
        Seconds at{};                               ///< when it left
        CacheTransfer what;
    };
    void send(Sent sent, EventQueue& events);
    /// What somebody else is to move; it is taken from here.
    std::vector<CacheToCarry>& to_carry() { return to_carry_; }
    /// Its latency is over. Has it arrived, as nothing is shared?
    bool depart(std::int32_t number, Seconds now, EventQueue& events);
    /// The transfers that end now, empty when the event is out of date: others have begun or ended since it was
    /// planned. @param index of the event
    [[nodiscard]] std::vector<std::int32_t> arrivals(std::int32_t index, EventQueue& events);
    Sent take(std::int32_t number) { return transfers_.take(number); }

private:
    void plan(EventQueue& events);

    NetworkMode sharing_;
    Carrier carrier_;
    SharedLinks links_;
    std::vector<CacheToCarry> to_carry_;
    OnTheWay<Sent> transfers_;
    std::vector<std::int32_t> transfer_of_;  ///< by flow
    std::int32_t stamp_ = 0;
};

}  // namespace sextant
