#pragma once

#include "core/spec/parallel_plan.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace sextant {

/// Where the chunks of a model lie on `pp` pipeline ranks. The chunks are numbered in model order.
enum class ChunkPlacement : std::uint8_t {
    round_robin,  ///< chunk c on rank c mod pp
    v_shape,      ///< two a rank, down and back up: chunk c on rank c, from pp on on rank 2 pp - 1 - c
    both_ways,    ///< one a rank and direction: chunk c on rank c, and a second copy of it on rank pp - 1 - c
};

/// What a schedule asks of the layout of a pipeline, and what it does with the backward pass.
struct ScheduleTraits {
    Schedule schedule;
    ChunkPlacement placement = ChunkPlacement::round_robin;
    std::int64_t least_chunks = 1;  ///< vpp
    std::int64_t most_chunks = 1;
    Switch split_backward = Switch::off;      ///< runs the weight half of backwards apart
    Switch pairs = Switch::off;               ///< runs forwards beside backwards
    std::int64_t microbatches_per_stage = 0;  ///< least number of microbatches, in stages
    Switch even = Switch::off;                ///< needs even numbers of stages and of microbatches

    [[nodiscard]] constexpr bool takes_chunks(std::int64_t vpp) const {
        return vpp >= least_chunks && vpp <= most_chunks;
    }
    /// Chunks per rank where none are asked for: the only possible number, or one.
    [[nodiscard]] constexpr std::int64_t usual_chunks() const { return least_chunks == most_chunks ? least_chunks : 1; }
    /// Copies of the parameters of every stage in one pipeline.
    [[nodiscard]] constexpr std::int64_t parameter_copies() const {
        return placement == ChunkPlacement::both_ways ? 2 : 1;
    }
};

namespace detail {

inline constexpr std::int64_t any_number = std::numeric_limits<std::int64_t>::max();
/// In the order of the enumerators.
inline constexpr std::array<ScheduleTraits, 10> schedule_traits{{
    {.schedule = Schedule::gpipe},
    {.schedule = Schedule::one_f_one_b},
    {.schedule = Schedule::interleaved, .least_chunks = 2, .most_chunks = any_number},
    {.schedule = Schedule::overlapped, .most_chunks = any_number, .pairs = Switch::on},
    {.schedule = Schedule::breadth_first, .most_chunks = any_number},
    {.schedule = Schedule::zb_h1, .split_backward = Switch::on},
    {.schedule = Schedule::zb_h2, .split_backward = Switch::on},
    {.schedule = Schedule::zb_v,
     .placement = ChunkPlacement::v_shape,
     .least_chunks = 2,
     .most_chunks = 2,
     .split_backward = Switch::on},
    {.schedule = Schedule::dualpipe,
     .placement = ChunkPlacement::both_ways,
     .split_backward = Switch::on,
     .pairs = Switch::on,
     .microbatches_per_stage = 2,
     .even = Switch::on},
    {.schedule = Schedule::dualpipe_v,
     .placement = ChunkPlacement::v_shape,
     .least_chunks = 2,
     .most_chunks = 2,
     .split_backward = Switch::on,
     .pairs = Switch::on,
     .microbatches_per_stage = 2},
}};

}  // namespace detail

constexpr ScheduleTraits const& traits_of(Schedule schedule) {
    return detail::schedule_traits[static_cast<std::size_t>(schedule)];
}

/// Those that passes run in turns in and that the number of chunks tells: labels of plans do not name them.
constexpr bool is_usual(Schedule schedule) {
    return schedule == Schedule::one_f_one_b || schedule == Schedule::interleaved;
}

/// Rank of a chunk; of its first copy, where there are two.
constexpr std::int64_t rank_of_chunk(ChunkPlacement placement, std::int64_t pp, std::int64_t chunk) {
    if (placement == ChunkPlacement::v_shape) return chunk < pp ? chunk : 2 * pp - 1 - chunk;
    return chunk % pp;
}

}  // namespace sextant
