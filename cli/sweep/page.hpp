#pragma once

#include "cli/sweep/table.hpp"

#include <string>

namespace sextant::cli {

/// A sweep as a page: its figures over the axes, which axis moves the answer most, the table of points (the first
/// 5,000).
std::string sweep_page(SweepTable const& table);

}  // namespace sextant::cli
