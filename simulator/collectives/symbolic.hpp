#pragma once

#include "simulator/collectives/algorithm.hpp"

#include <optional>
#include <string>

namespace sextant {

/// Carries a program out with symbols instead of numbers and says what is wrong with it, in one sentence; nothing if it
/// is correct.
///
/// A slot holds the piece of data that it stands for and the set of ranks whose contribution is in it. Before: a rank
/// has its own contribution to every chunk (all-reduce, reduce-scatter), its own block (all-gather), a block for every
/// rank (all-to-all), or, as rank 0, everything (broadcast, send/receive). All transfers of a round read what was there
/// before it. Faults: a transfer from or to itself, from or to a slot that does not exist, or from a slot that holds
/// nothing; two writes to one slot in a round; a sum of different pieces, or one that has a contribution twice; and in
/// the end, anything that the collective should have brought and did not.
std::optional<std::string> find_fault(CollectiveShape const& shape, CollectiveProgram const& program);

}  // namespace sextant
