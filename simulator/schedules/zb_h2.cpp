#include "simulator/schedules/orders.hpp"

#include <algorithm>

namespace sextant {
namespace {

std::optional<std::string> unsupported(ScheduleShape shape) { return orders::unless_chunks(shape, 1); }

// Twice the warm-up of 1F1B fills its first bubble; weight halves put off by 2 r microbatches fill the last one.
std::vector<Slot> order(ScheduleShape shape, std::int64_t rank) {
    return orders::delayed_weights(shape, rank, 2 * (shape.ranks - 1 - rank), 2 * rank);
}

std::int64_t in_flight(ScheduleShape shape, std::int64_t) { return std::min(shape.microbatches, 2 * shape.ranks - 1); }

// (p - 1) (F + I - 2 W); weight halves that take longer than what they are put between delay the others.
std::optional<Seconds> bubble(ScheduleShape shape, UniformTimes const& t) {
    bool const fits = t.backward_weight <= t.forward && t.backward_weight <= t.backward_input;
    if (!fits || shape.microbatches < 2 * shape.ranks - 1) return std::nullopt;
    return (shape.ranks - 1) * (t.forward + t.backward_input - 2 * t.backward_weight);
}

}  // namespace

extern constinit ScheduleEntry const zb_h2_schedule{
    .name = "zb-h2",
    .summary = "zero bubble, with twice the memory of 1F1B",
    .source = "Qi et al., arXiv:2401.10241 fig. 3 (bottom), table 2",
    .span = BubbleSpan::own_span,
    .unsupported = unsupported,
    .rank_of = orders::round_robin,
    .order = order,
    .in_flight = in_flight,
    .bubble = bubble,
};

}  // namespace sextant
