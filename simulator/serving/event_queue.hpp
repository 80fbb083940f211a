#pragma once

#include "core/units.hpp"

#include <cstdint>
#include <queue>
#include <vector>

namespace sextant {

/// Something that is going to happen in a serving simulation.
struct ServingEvent {
    enum class Kind : std::uint8_t {
        enter,        ///< a request reaches the queue of a replica
        iteration,    ///< one of a replica's iterations ends
        wake,         ///< its first stage is free again
        departed,     ///< the latency of a cache's transfer is over
        transferred,  ///< caches have arrived where they go on
        failure,      ///< of the next replica to fail
        drain,        ///< of a replica, as planned
        serves,       ///< a replica does, after its cold start or repair
        scale         ///< the number of replicas is looked at
    };
    Seconds at;
    std::uint64_t order;  ///< events of one time happen in the order in which they were planned
    Kind kind;
    std::int32_t index;  ///< of the request on its way, of the replica, or the stamp of the transfers
    std::int32_t lane;
    std::int32_t life;  ///< of the replica: what an earlier one has begun does not happen
    bool operator>(ServingEvent const& other) const { return at != other.at ? at > other.at : order > other.order; }
};

/// What is going to happen, the earliest first.
class EventQueue {
public:
    void plan(Seconds at, ServingEvent::Kind kind, std::int32_t index, std::int32_t lane = 0, std::int32_t life = 0) {
        events_.push({at, order_++, kind, index, lane, life});
    }
    [[nodiscard]] std::size_t size() const { return events_.size(); }
    [[nodiscard]] bool empty() const { return events_.empty(); }
    /// Of the earliest. @pre not empty.
    [[nodiscard]] Seconds next_at() const { return events_.top().at; }
    /// @pre not empty.
    ServingEvent pop() {
        ServingEvent const event = events_.top();
        events_.pop();
        return event;
    }

private:
    std::priority_queue<ServingEvent, std::vector<ServingEvent>, std::greater<>> events_;
    std::uint64_t order_ = 0;
};

/// Things that are on the way, by a number that is used again.
template <class T>
class OnTheWay {
public:
    std::int32_t put(T const& thing) {
        if (free_.empty()) {
            things_.push_back(thing);
            return static_cast<std::int32_t>(things_.size() - 1);
        }
        std::int32_t const place = free_.back();
        free_.pop_back();
        things_[static_cast<std::size_t>(place)] = thing;
        return place;
    }
    [[nodiscard]] T const& at(std::int32_t place) const { return things_[static_cast<std::size_t>(place)]; }
    T take(std::int32_t place) {
        free_.push_back(place);
        return things_[static_cast<std::size_t>(place)];
    }

private:
    std::vector<T> things_;
    std::vector<std::int32_t> free_;
};

}  // namespace sextant
