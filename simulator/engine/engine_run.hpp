#pragma once

#include "simulator/engine/engine.hpp"
#include "simulator/network/fabric.hpp"
#include "simulator/task_graph.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace sextant {

/// Links that stop at one moment.
struct LinksOff {
    std::vector<std::int32_t> links;
    double at = 0;  ///< seconds
};

/// What the engine is asked to simulate, and where it leaves what came of it: memory that outlives the worker process.
struct EngineRun {
    TaskGraph const& graph;
    Fabric const& fabric;
    NetworkMode network = NetworkMode::fair;
    double communication_sms = 0;
    double alone = 0;                    ///< seconds that the graph takes where no link is shared
    std::span<double const> bandwidths;  ///< of each link of the fabric, B/s
    std::span<LinksOff const> failures;

    std::span<double> start;  ///< of each task, seconds; negative on entry, and left so where a task did not start
    std::span<double> end;
    std::span<double> carried;       ///< of each link, bytes
    std::span<std::int64_t> events;  ///< one number: activities and timers that SimGrid ran
};

/// Runs the simulation in this process, which can do so once: SimGrid keeps its clock for good.
using EngineEntry = void (*)(EngineRun const&);

}  // namespace sextant
