#include "simulator/schedules/orders.hpp"

namespace sextant {
namespace {

std::optional<std::string> unsupported(ScheduleShape shape) { return orders::unless_chunks(shape, 1); }

// Backwards in the order of the forwards, as PyTorch and Megatron-LM run them; the paper's figure draws the reverse,
// which takes as long.
std::vector<Slot> order(ScheduleShape shape, std::int64_t rank) {
    return orders::by_turns(
        shape.microbatches, shape.microbatches, [&](std::int64_t k) { return orders::forward(rank, k); },
        [&](std::int64_t k) { return orders::backward(rank, k); });
}

std::int64_t in_flight(ScheduleShape shape, std::int64_t) { return shape.microbatches; }

// (p - 1) (F + B).
std::optional<Seconds> bubble(ScheduleShape shape, UniformTimes const& t) { return orders::fill_and_drain(shape, t); }

}  // namespace

extern constinit ScheduleEntry const gpipe_schedule{
    .name = "gpipe",
    .summary = "all forwards, then all backwards",
    .source = "Huang et al., arXiv:1811.06965 sec. 2.3",
    .unsupported = unsupported,
    .rank_of = orders::round_robin,
    .order = order,
    .in_flight = in_flight,
    .bubble = bubble,
};

}  // namespace sextant
