#pragma once

#include "simulator/engine/engine_run.hpp"

#include <string>

namespace sextant {

/// Why tasks of an ended simulation never finished: the links that failed, the first few tasks on them, and how many
/// wait for those. Empty if all finished.
std::string stuck_message(EngineRun const& run);

}  // namespace sextant
