#include "simulator/schedules/orders.hpp"

namespace sextant {
namespace {

// Evaluation and scoring: breadth first over the chunks.
std::vector<Slot> order(ScheduleShape shape, std::int64_t rank) {
    std::vector<Slot> slots;
    slots.reserve(static_cast<std::size_t>(shape.microbatches * shape.chunks));
    for (std::int64_t chunk = 0; chunk < shape.chunks; ++chunk)
        for (std::int64_t microbatch = 0; microbatch < shape.microbatches; ++microbatch)
            slots.push_back(orders::forward(chunk * shape.ranks + rank, microbatch));
    return slots;
}

// Nothing waits for a backward: activations go when the forward ends.
std::int64_t in_flight(ScheduleShape, std::int64_t) { return 1; }

// (p - 1) F of a chunk.
std::optional<Seconds> bubble(ScheduleShape shape, UniformTimes const& t) {
    if (shape.chunks > 1 && shape.microbatches < shape.ranks) return std::nullopt;
    return (shape.ranks - 1) * t.forward;
}

}  // namespace

extern constinit ScheduleEntry const forward_only_schedule{
    .name = "forward-only",
    .summary = "forwards alone (evaluation, scoring)",
    .source = "the forward half of arXiv:1811.06965, over chunks that of arXiv:2211.05953",
    .unsupported = orders::any_shape,
    .rank_of = orders::round_robin,
    .order = order,
    .in_flight = in_flight,
    .bubble = bubble,
};

}  // namespace sextant
