#pragma once

#include "cli/page/chart.hpp"
#include "simulator/task_graph.hpp"

namespace sextant::cli {

/// What the ranks do over time: each microbatch as one slot, and in it, thin, what it waits for. At most 24 ranks,
/// evenly spaced, and 4,000 microbatches and waits, the longest ones, so that a browser can zoom into them; the note
/// says what was left out.
Chart simulation_timeline_chart(TaskGraph const& graph, TaskTimes const& times);

}  // namespace sextant::cli
