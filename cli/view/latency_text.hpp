#pragma once

#include "core/units.hpp"

#include <string>

namespace sextant::cli {

/// A latency as people compare them: "18.5 ms", "246 ms", "2.15 s", "12.4 s".
std::string latency_text(Seconds time);

}  // namespace sextant::cli
