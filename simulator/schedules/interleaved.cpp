#include "simulator/schedules/orders.hpp"

#include <algorithm>

namespace sextant {
namespace {

/// Forwards before the first backward.
std::int64_t warm_up(ScheduleShape shape, std::int64_t rank) {
    return shape.chunks == 1 ? shape.ranks - 1 - rank : orders::InterleavedPasses(shape, rank).lead();
}

// Microbatches go through the chunks in groups of p: p through the first chunk, the same p through the next, and so on.
// A rest makes the groups larger: a group of fewer than p would have ranks wait for one another in a circle, which is
// why Megatron-LM refuses it.
std::vector<Slot> order(ScheduleShape shape, std::int64_t rank) {
    orders::InterleavedPasses const passes(shape, rank);
    return orders::by_turns(
        passes.count(), warm_up(shape, rank), [&](std::int64_t k) { return passes.forward(k); },
        [&](std::int64_t k) { return passes.backward(k); });
}

std::int64_t in_flight(ScheduleShape shape, std::int64_t rank) {
    return std::min(shape.microbatches * shape.chunks, warm_up(shape, rank) + 1);
}

// (p - 1) (F + B) of a chunk: a v-th of what 1F1B waits.
std::optional<Seconds> bubble(ScheduleShape shape, UniformTimes const& t) {
    if (shape.chunks > 1 && shape.microbatches % shape.ranks != 0) return std::nullopt;
    return orders::fill_and_drain(shape, t);
}

}  // namespace

extern constinit ScheduleEntry const interleaved_schedule{
    .name = "interleaved",
    .summary = "1F1B over several chunks per rank (Megatron-LM)",
    .source = "Narayanan et al., arXiv:2104.04473 fig. 4 (bottom), sec. 2.2.2; larger groups as PyTorch's rounds",
    .unsupported = orders::any_shape,
    .rank_of = orders::round_robin,
    .order = order,
    .in_flight = in_flight,
    .bubble = bubble,
};

}  // namespace sextant
