#pragma once

#include "core/spec/parallel_plan.hpp"
#include "core/units.hpp"
#include "simulator/schedules/schedule.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

namespace sextant {

/// How many passes of each of its chunks, in model order, a rank holds the activations of at one moment.
using HeldPasses = std::vector<std::int64_t>;

/// Chunks that lie on a rank, of both directions where there are two, in model order.
std::vector<std::int64_t> chunks_on_rank(Schedule schedule, std::int64_t pp, std::int64_t vpp, std::int64_t rank);

/// The moments of a rank at which it may hold most, whatever its chunks keep: none holds as much of every chunk as
/// another does. Activations are held from the start of the forward to the end of the backward, of its weight half
/// where it is split.
std::vector<HeldPasses> fullest_moments(std::span<Slot const> order, std::span<std::int64_t const> chunks);

/// The same of the interleaved schedule, in pairs or not, which is not written down for that: what is held repeats with
/// every group of microbatches.
std::vector<HeldPasses> fullest_moments(Schedule schedule, ScheduleShape shape, std::int64_t rank);

/// Microbatches of the whole rank that are as much as it holds at its peak, n_c passes of chunk c with the share w_c of
/// what the rank keeps of a microbatch: the largest sum of n_c w_c.
double held_microbatches(std::span<HeldPasses const> moments, std::span<double const> shares);

/// Most that a rank keeps of passes between the input half of their backward and their weight half, while a half runs,
/// beside one whole pass, and beside a pair; -1 where that never is. In microbatches of the whole rank.
/// @param chunks on the rank, in model order
/// @param shares of each of them in what the rank keeps of a microbatch; 0: no weight half, the other is a whole pass
std::array<double, 3> most_between_halves(std::span<Slot const> order, std::span<std::int64_t const> chunks,
                                          std::span<double const> shares);

/// What a pass of a chunk holds: `kept` from its forward to the end of its backward, `waiting` more from the start of
/// an input half to the end of the weight half, `working` more while a whole backward runs, and an input half that has
/// nothing to wait with.
struct HeldBytes {
    Bytes kept;
    Bytes waiting;
    Bytes working;
};
/// The most that a rank holds of all passes at one slot. @param chunks on the rank, in model order, with their `bytes`
Bytes most_bytes_held(std::span<Slot const> order, std::span<std::int64_t const> chunks,
                      std::span<HeldBytes const> bytes);

/// Remembers the moments of interleaved ranks.
class MomentStore {
public:
    std::vector<HeldPasses> const& get(Schedule schedule, ScheduleShape shape, std::int64_t rank);

private:
    std::map<std::tuple<Schedule, std::int64_t, std::int64_t, std::int64_t, std::int64_t>, std::vector<HeldPasses>>
        known_;
};

}  // namespace sextant
