#pragma once

#include "simulator/step_analysis.hpp"

#include <string>
#include <vector>

namespace sextant {

/// Time of one op name along the critical path, and the tasks that it is of.
struct PathOp {
    std::string name;
    Seconds time;
    std::int64_t count = 0;
};

/// The chain of tasks that decides how long the step takes: the last task to end, before it the dependency of it that
/// ended last (of equals the one with the lowest id), and so on. Shortening anything else does not shorten the step.
///
/// A task on it that runs beside the passes of its rank (data parallelism, copies to the host, what is overlapped)
/// counts for what of it shows: while the rank works on a pass, or waits for a communication of one, the time is that
/// work's. Such transfers are stretched by the compute beside them. The parts, like the ops and the ranks, and
/// `waiting` add up to `length`.
struct CriticalPath {
    std::vector<std::uint32_t> tasks;  ///< from the first to the last
    Seconds length;
    PartTimes parts;
    std::vector<PathOp> ops;     ///< longest first
    std::vector<Seconds> ranks;  ///< by index into `TaskGraph::ranks`; a group's task counts for its first member
    Seconds waiting;             ///< between the end of a task on the path and the start of the next
    /// By how much communications, and compute, on the path took longer than they take alone.
    Seconds network_delay;
    Seconds compute_delay;
};

CriticalPath critical_path(TaskGraph const& graph, TaskTimes const& times);

}  // namespace sextant
