#include "simulator/schedules/orders.hpp"

#include <algorithm>

namespace sextant {
namespace {

std::optional<std::string> unsupported(ScheduleShape shape) { return orders::unless_chunks(shape, 1); }

// p - 1 - r forwards of warm-up, so that rank r never holds more than p - r microbatches.
std::vector<Slot> order(ScheduleShape shape, std::int64_t rank) {
    return orders::by_turns(
        shape.microbatches, shape.ranks - 1 - rank, [&](std::int64_t k) { return orders::forward(rank, k); },
        [&](std::int64_t k) { return orders::backward(rank, k); });
}

std::int64_t in_flight(ScheduleShape shape, std::int64_t rank) {
    return std::min(shape.microbatches, shape.ranks - rank);
}

// (p - 1) (F + B).
std::optional<Seconds> bubble(ScheduleShape shape, UniformTimes const& t) { return orders::fill_and_drain(shape, t); }

}  // namespace

extern constinit ScheduleEntry const one_f_one_b_schedule{
    .name = "1f1b",
    .summary = "one forward, one backward (PipeDream-Flush)",
    .source = "Narayanan et al., arXiv:2104.04473 fig. 4 (top), sec. 2.2.1",
    .unsupported = unsupported,
    .rank_of = orders::round_robin,
    .order = order,
    .in_flight = in_flight,
    .bubble = bubble,
};

}  // namespace sextant
