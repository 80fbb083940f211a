#pragma once

#include "simulator/schedules/schedule.hpp"

#include <cstdint>
#include <vector>

namespace sextant {

/// Passes that a rank runs between the turns of its chunks, each over one chunk: traffic of the chunks whose gradients
/// are complete first, or whose weights are needed last, runs beside them.
struct ChunkTurns {
    double chunks = 1;          ///< with traffic of their own: of both directions, where a pipeline runs both ways
    double forwards_ahead = 0;  ///< before the first forward of the last chunk to begin
    double backwards_ahead = 0;
    double inputs_after = 0;  ///< after the last backward of the first chunk to end: input and weight halves
    double weights_after = 0;
    friend bool operator==(ChunkTurns const&, ChunkTurns const&) = default;
};
/// Those of one rank's slots.
ChunkTurns chunk_turns(std::vector<Slot> const& order);
/// Those of a schedule that takes groups of microbatches through each chunk in turn.
ChunkTurns chunk_turns(std::int64_t chunks, std::int64_t first_group, std::int64_t last_group);

}  // namespace sextant
