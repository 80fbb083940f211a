#pragma once

#include "core/units.hpp"

#include <cstdint>
#include <functional>
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
    std::int32_t index;  ///< of the request on its way, of the replica, or of the transfer (stamp of shared links)
    std::int32_t lane;
    std::int32_t life;  ///< of the replica: what an earlier one has begun does not happen
    bool operator>(ServingEvent const& other) const { return at != other.at ? at > other.at : order > other.order; }
};

/// What is going to happen, the earliest first. Somebody else may wait for it: events are handed out and come back when
/// their time has come.
class EventQueue {
public:
    void plan(Seconds at, ServingEvent::Kind kind, std::int32_t index, std::int32_t lane = 0, std::int32_t life = 0) {
        events_.push({at, order_++, kind, index, lane, life});
    }
    /// Those that are here and those that are handed out.
    [[nodiscard]] std::size_t size() const { return events_.size() + away_; }
    /// None is here.
    [[nodiscard]] bool empty() const { return events_.empty(); }
    /// Of the earliest that is here. @pre not empty.
    [[nodiscard]] Seconds next_at() const { return events_.top().at; }
    /// @pre not empty.
    ServingEvent pop() {
        ServingEvent const event = events_.top();
        events_.pop();
        return event;
    }

    /// Plans an event that is away already, as nobody here knows its time.
    ServingEvent plan_away(ServingEvent::Kind kind, std::int32_t index) {
        ++away_;
        return {{}, order_++, kind, index, 0, 0};
    }
    /// Appends all that are here to `events`, earliest first.
    void hand_out(std::vector<ServingEvent>& events) {
        away_ += events_.size();
        while (!events_.empty())
            events.push_back(pop());
    }
    void take_back(ServingEvent const& event) {
        --away_;
        events_.push(event);
    }

private:
    std::priority_queue<ServingEvent, std::vector<ServingEvent>, std::greater<>> events_;
    std::uint64_t order_ = 0;
    std::size_t away_ = 0;
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
