#include "simulator/schedules/orders.hpp"

#include <algorithm>

namespace sextant {
namespace {

std::optional<std::string> unsupported(ScheduleShape shape) { return orders::unless_chunks(shape, 1); }

// 1F1B with its backwards split; rank r puts off the weight half by r microbatches, so that every rank holds as many
// microbatches as the first one of 1F1B and passes gradients on that much earlier.
std::vector<Slot> order(ScheduleShape shape, std::int64_t rank) {
    return orders::delayed_weights(shape, rank, shape.ranks - 1 - rank, rank);
}

std::int64_t in_flight(ScheduleShape shape, std::int64_t) { return std::min(shape.microbatches, shape.ranks); }

// (p - 1) (F + I - W); weight halves that take longer than what they are put between delay the others.
std::optional<Seconds> bubble(ScheduleShape shape, UniformTimes const& t) {
    bool const fits = t.backward_weight <= t.forward && t.backward_weight <= t.backward_input;
    if (!fits || shape.microbatches < shape.ranks) return std::nullopt;
    return (shape.ranks - 1) * (t.forward + t.backward_input - t.backward_weight);
}

}  // namespace

extern constinit ScheduleEntry const zb_h1_schedule{
    .name = "zb-h1",
    .summary = "zero bubble, with the memory of 1F1B and a third of its bubble",
    .source = "Qi et al., arXiv:2401.10241 fig. 3 (top), table 2",
    .unsupported = unsupported,
    .rank_of = orders::round_robin,
    .order = order,
    .in_flight = in_flight,
    .bubble = bubble,
};

}  // namespace sextant
