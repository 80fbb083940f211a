#pragma once

#include "cli/simulate/view.hpp"

#include <string>

namespace sextant::cli {

/// One simulated step as a page: a timeline to zoom into, time per rank, memory over time, overlap, links, the critical
/// path.
std::string simulation_page(SimulationReport const& report);

}  // namespace sextant::cli
