#pragma once

#include "simulator/task_graph.hpp"

#include <cstddef>
#include <string>

namespace sextant::cli {

struct PictureOptions {
    std::string title{};
    std::size_t rows = 64;               ///< ranks shown at most; of more, evenly spaced ones
    std::size_t most_bytes = 1'900'000;  ///< of the drawing; time is drawn more coarsely until it fits
};

/// What every rank does over time, as an SVG picture: for each rank a lane of what it computes or waits for, and below
/// it thin lanes of its communication streams; colours by pass and part with a legend, microbatch numbers where there
/// is room, an axis of time. A transfer between two ranks is drawn where it is sent from.
///
/// Same input, same bytes.
std::string simulation_svg(TaskGraph const& graph, TaskTimes const& times, PictureOptions const& options);

}  // namespace sextant::cli
