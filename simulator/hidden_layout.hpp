#pragma once

#include "simulator/step_program.hpp"

#include <cstddef>
#include <vector>

namespace sextant {

/// Communication that hides, by the item that it would begin with.
struct Hidden {
    ProgramItem item;
    std::size_t start = 0;
};

/// Lays hidden communication out beside runs of compute: one at a time, in pieces where a run is too short, cut off at
/// the end of the pass. Never beside communication that shows, with which it would share links: it is the same stream
/// of the same collectives.
void lay_out(Program& program, std::vector<Hidden> const& hidden);

}  // namespace sextant
