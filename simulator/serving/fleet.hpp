#pragma once

#include "simulator/serving/event_queue.hpp"
#include "simulator/serving/replica.hpp"
#include "simulator/serving/serving_outcome.hpp"
#include "simulator/serving/serving_setup.hpp"

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace sextant {

/// All replicas, and sums over them that follow what changes.
class Fleet {
public:
    Fleet(ServingSetup const& setup, ServiceModel const& service);

    [[nodiscard]] std::vector<Replica> const& replicas() const { return replicas_; }
    /// To change it: `start_touched` looks at it again.
    Replica& change(std::size_t replica) {
        if (dirty_[replica] == 0) {
            dirty_[replica] = 1;
            touched_.push_back(replica);
        }
        return replicas_[replica];
    }
    enum class State : std::uint8_t {
        off,       ///< not there, and not paid for
        starting,  ///< loads the model
        up,
        draining,  ///< ends what it has begun
        down       ///< failed, or drained as planned
    };
    [[nodiscard]] State state(std::size_t replica) const { return states_[replica]; }
    void set_state(std::size_t replica, State state);
    /// Of each replica: whether it takes requests.
    [[nodiscard]] std::vector<char> const& takes() const { return takes_; }
    /// Raised when it fails: what it had begun by then does not end.
    [[nodiscard]] std::int32_t life(std::size_t replica) const { return lives_[replica]; }
    [[nodiscard]] std::vector<FinishedRequest> fail(std::size_t replica);
    [[nodiscard]] std::int64_t up() const { return in(State::up); }
    [[nodiscard]] std::int64_t serving() const { return in(State::up) + in(State::draining); }
    [[nodiscard]] std::int64_t down() const { return in(State::down); }
    [[nodiscard]] std::int64_t held() const { return static_cast<std::int64_t>(replicas_.size()) - in(State::off); }

    /// Its first stage is free.
    void wake(std::size_t replica) {
        wake_planned_[replica] = 0;
        change(replica);
    }
    /// Replicas that were changed begin what they can begin, and those whose caches are taken over have room again.
    void start_touched(Seconds now, EventQueue& events);
    /// The cache of a request is taken over from a replica, or lost on its way.
    void let_go(std::size_t from, std::int64_t number) {
        change(from).let_go(number);
        relieved_.push_back(from);
    }
    /// Those that have let caches go since the last call.
    [[nodiscard]] std::vector<std::size_t> take_relieved() { return std::exchange(relieved_, {}); }

    [[nodiscard]] std::int64_t waiting() const { return waiting_; }
    [[nodiscard]] std::int64_t running() const { return running_; }
    [[nodiscard]] std::int64_t blocks() const { return blocks_; }  ///< in use
    [[nodiscard]] std::int64_t room() const { return room_; }      ///< blocks of the replicas that serve
    [[nodiscard]] ReplicaCounters counters() const;
    [[nodiscard]] Seconds prefill_busy() const;  ///< of the replicas that process prompts only
    /// Drops unused prefixes and counts blocks.
    void conclude(ServingOutcome& out);

private:
    static bool serves(State state) { return state == State::up || state == State::draining; }
    [[nodiscard]] std::int64_t in(State state) const { return counts_[static_cast<std::size_t>(state)]; }
    void start(std::size_t index, Seconds now, EventQueue& events);
    struct Load {
        std::int64_t waiting = 0, running = 0, blocks = 0;
    };

    std::int64_t prefill_replicas_;
    std::vector<Replica> replicas_;
    std::vector<State> states_;
    std::array<std::int64_t, 5> counts_{};
    std::vector<std::int32_t> lives_;
    std::vector<char> takes_, dirty_, wake_planned_;
    std::vector<std::size_t> touched_, relieved_;
    std::vector<Load> before_;
    std::int64_t waiting_ = 0, running_ = 0, blocks_ = 0, room_ = 0;
};

}  // namespace sextant
