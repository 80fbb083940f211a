#pragma once

#include "simulator/serving/event_queue.hpp"
#include "simulator/serving/replica.hpp"
#include "simulator/serving/serving_outcome.hpp"
#include "simulator/serving/serving_setup.hpp"

#include <cstdint>
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
    /// Its first stage is free.
    void wake(std::size_t replica) {
        wake_planned_[replica] = 0;
        change(replica);
    }
    /// Replicas that were changed begin what they can begin.
    void start_touched(Seconds now, EventQueue& events);

    [[nodiscard]] std::int64_t waiting() const { return waiting_; }
    [[nodiscard]] std::int64_t running() const { return running_; }
    [[nodiscard]] std::int64_t blocks() const { return blocks_; }  ///< in use
    [[nodiscard]] ReplicaCounters counters() const;
    [[nodiscard]] Seconds prefill_busy() const;  ///< of the replicas that process prompts only
    /// Drops unused prefixes and counts blocks.
    void conclude(ServingOutcome& out);

private:
    void start(std::size_t index, Seconds now, EventQueue& events);
    struct Load {
        std::int64_t waiting = 0, running = 0, blocks = 0;
    };

    std::int64_t prefill_replicas_;
    std::vector<Replica> replicas_;
    std::vector<char> dirty_, wake_planned_;
    std::vector<std::size_t> touched_;
    std::vector<Load> before_;
    std::int64_t waiting_ = 0, running_ = 0, blocks_ = 0;
};

}  // namespace sextant
