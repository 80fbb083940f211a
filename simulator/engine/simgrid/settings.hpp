#pragma once

#include <span>

namespace sextant {

/// Makes SimGrid's engine, with the settings of docs/simulation.md and `more`, which may replace some. Once a process.
void start_simgrid(std::span<char const* const> more);

}  // namespace sextant
