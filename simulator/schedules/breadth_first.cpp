#include "simulator/schedules/orders.hpp"

namespace sextant {
namespace {

// All microbatches through one chunk before any goes through the next, so that a rank needs the weights of one chunk at
// a time: sharded weights are gathered once per chunk and pass, not once per microbatch.
std::vector<Slot> order(ScheduleShape shape, std::int64_t rank) {
    std::int64_t const p = shape.ranks, v = shape.chunks, m = shape.microbatches;
    return orders::by_turns(
        m * v, m * v, [=](std::int64_t k) { return orders::forward(k / m * p + rank, k % m); },
        [=](std::int64_t k) { return orders::backward((v - 1 - k / m) * p + rank, k % m); });
}

std::int64_t in_flight(ScheduleShape shape, std::int64_t) { return shape.microbatches * shape.chunks; }

// (p - 1) (F + B) of a chunk, if there are microbatches enough to keep the loop full.
std::optional<Seconds> bubble(ScheduleShape shape, UniformTimes const& t) {
    if (shape.chunks > 1 && shape.microbatches < shape.ranks) return std::nullopt;
    return orders::fill_and_drain(shape, t);
}

}  // namespace

extern constinit ScheduleEntry const breadth_first_schedule{
    .name = "breadth-first",
    .summary = "all microbatches through one chunk after the other (looped BFS)",
    .source = "Lamy-Poirier, arXiv:2211.05953",
    .unsupported = orders::any_shape,
    .rank_of = orders::round_robin,
    .order = order,
    .in_flight = in_flight,
    .bubble = bubble,
};

}  // namespace sextant
