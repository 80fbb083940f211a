#pragma once

#include "simulator/engine/simgrid/platform.hpp"

#include <simgrid/s4u.hpp>

#include <cstdint>
#include <deque>
#include <vector>

namespace sextant {

/// Starts every task as soon as all it depends on has ended, as activities of SimGrid.
///
/// - Work whose time cannot change (communication in an ideal network, latencies, compute that nothing slows): a timer.
/// - Compute that collectives slow down: an Exec on the rank's accelerator, whose speed changes.
/// - Flows: a Comm each.
/// What is ready waits in a list, so that no chain of empty tasks nests calls.
class TaskRunner {
public:
    TaskRunner(EngineRun const& run, Platform const& platform);
    TaskRunner(TaskRunner const&) = delete;
    TaskRunner& operator=(TaskRunner const&) = delete;
    /// Until nothing is left to do, or what is left never ends.
    void run();

private:
    enum class FlowEnd : std::uint8_t { complete, cut_off };

    /// An activity under way. SimGrid uses it until after its completion callback, which is why it is kept longer.
    struct Running {
        std::size_t task = 0;
        Platform::Source const* source = nullptr;  ///< of a flow
        double bytes = 0;
        simgrid::s4u::ActivityPtr activity;
    };

    void start_ready();
    void start(std::size_t task);
    void start_compute(std::size_t task);
    void start_flows(std::size_t task);
    void start_flow(std::size_t task, Platform::Source const& source, double bytes);
    void end_at(std::size_t task, double time);
    void on_end(simgrid::s4u::Activity const& activity);
    void end_flow(Running const& running, FlowEnd end);
    void hold_compute(Task const& task, int change);
    void fail(LinksOff const& failure);
    template <class Callback>
    void at(double time, Callback callback);
    Running& new_running();
    void free_ended();

    EngineRun const& run_;
    Platform const& platform_;
    std::vector<std::uint32_t> unmet_;            ///< dependencies of each task that have not ended
    std::vector<std::uint32_t> first_successor_;  ///< of each task into `successors_`, and one more
    std::vector<std::uint32_t> successors_;
    std::vector<std::uint32_t> ready_;
    std::vector<std::uint32_t> flows_left_;  ///< of each task
    std::vector<std::uint32_t> holders_;     ///< collectives that run on each rank
    std::vector<char> failed_;               ///< links
    std::deque<Running> running_;
    std::vector<Running*> free_;
    std::vector<Running*> ended_;
};

}  // namespace sextant
