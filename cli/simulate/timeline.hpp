#pragma once

#include "simulator/task_graph.hpp"

#include <cstddef>
#include <string>

namespace sextant::cli {

struct TimelineRoom {
    std::size_t columns = 80;  ///< at least 40; the notes below are up to 60 wide
    std::size_t rows = 32;     ///< ranks shown at most; of more, evenly spaced ones
};

/// What every rank does over time, as text:
///
///     rank 0  F0F1F2F3.............B0===F4B1===...   27.3 %
///     rank 1  ..F0F1F2F3......B0===F4B1===F5...      27.3 %
///             0                               33 ms    idle
///
///     F0- forward  B0= backward  . idle      (digits: microbatch)
///
/// A column shows what fills its time; where many things do, as many columns show each as it has of the time. A
/// microbatch has its number where there is room. Lower case: a rank's second and further model chunks. Ends with a
/// line for ranks that are left out.
std::string simulation_timeline(TaskGraph const& graph, TaskTimes const& times, TimelineRoom room);

}  // namespace sextant::cli
