#include "simulator/schedules/orders.hpp"

#include <algorithm>

namespace sextant {
namespace {

/// Forwards before the first backward: one more than in the interleaved schedule, of one chunk too, because a backward
/// runs beside a forward and not after its own.
std::int64_t warm_up(orders::InterleavedPasses const& passes) { return std::min(passes.count(), passes.lead() + 1); }

std::vector<Slot> order(ScheduleShape shape, std::int64_t rank) {
    orders::InterleavedPasses const passes(shape, rank);
    return orders::by_turns(
        passes.count(), warm_up(passes), [&](std::int64_t k) { return passes.forward(k); },
        [&](std::int64_t k) { return passes.backward(k); }, orders::Turns::in_pairs);
}

std::int64_t in_flight(ScheduleShape shape, std::int64_t rank) {
    orders::InterleavedPasses const passes(shape, rank);
    return std::min(passes.count(), warm_up(passes) + 1);
}

// (p - 1) (F + B) of a chunk: as interleaved. With fewer microbatches than ranks chunks wait for one another.
std::optional<Seconds> bubble(ScheduleShape shape, UniformTimes const& t) {
    if (shape.chunks > 1 && shape.microbatches < shape.ranks) return std::nullopt;
    return orders::fill_and_drain(shape, t);
}

}  // namespace

extern constinit ScheduleEntry const overlapped_schedule{
    .name = "1f1b-overlap",
    .summary = "interleaved with every forward beside a backward, so that exchanges of experts hide (Megatron-Core)",
    .source = "NVIDIA, Megatron-Core: --overlap-moe-expert-parallel-comm (combined 1F1B)",
    .unsupported = orders::any_shape,
    .rank_of = orders::round_robin,
    .order = order,
    .in_flight = in_flight,
    .bubble = bubble,
};

}  // namespace sextant
