#pragma once

#include "simulator/collectives/algorithm.hpp"

#include <functional>
#include <span>
#include <vector>

/// Rings that run side by side: what the ring, hierarchical and torus algorithms are made of.
namespace sextant::rings {

/// Ranks in order: each sends to the next and the last to the first.
using Ring = std::vector<std::int32_t>;

enum class Task : std::uint8_t { reduce_scatter, all_gather, all_reduce };

/// Slots that belong to one member of a ring: what it has in the end of a reduce-scatter and at the beginning of an
/// all-gather.
struct SlotRange {
    std::int32_t first = 0;
    std::int32_t count = 1;
};
using BlocksOf = std::function<std::vector<SlotRange>(std::size_t ring, std::size_t position)>;

/// Appends a phase with one task on all rings at once. In step k of a reduce-scatter the member at position p passes on
/// the block of position p - k - 1, of an all-gather the block of position p - k; n - 1 steps each.
void add_phase(CollectiveProgram& program, std::string name, std::span<Ring const> rings, Task task,
               BlocksOf const& blocks_of);

/// The same as flows. `block_shares`: of each ring the bytes of one block as a part of the buffer.
void add_phase(CollectiveFlows& flows, CollectiveShape const& shape, std::string name, std::span<Ring const> rings,
               Task task, std::span<double const> block_shares);

/// Most expensive walk of `length` steps along a ring, which may go round more than once.
Hops longest_walk(CollectiveShape const& shape, Ring const& ring, std::int64_t length);

}  // namespace sextant::rings
