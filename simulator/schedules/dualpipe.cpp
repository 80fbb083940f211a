#include "simulator/schedules/orders.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sextant {
namespace {

std::optional<std::string> unsupported(ScheduleShape shape) {
    if (auto const chunks = orders::unless_chunks(shape, 1)) return chunks;
    if (shape.ranks % 2 != 0)
        return fmt::format("{} ranks (microbatches enter from both ends: an even number)", shape.ranks);
    if (shape.microbatches % 2 != 0)
        return fmt::format("{} microbatches (half of them enter from each end: an even number)", shape.microbatches);
    if (shape.microbatches < 2 * shape.ranks)
        return fmt::format("{} microbatches on {} ranks (at least twice as many as ranks, {})", shape.microbatches,
                           shape.ranks, 2 * shape.ranks);
    return std::nullopt;
}

// The first half of the microbatches goes from rank 0 to the last, the second half the other way, each over its own
// copy of the model.
std::int64_t rank_of(ScheduleShape shape, std::int64_t stage, std::int64_t microbatch) {
    return microbatch < shape.microbatches / 2 ? stage : shape.ranks - 1 - stage;
}

std::vector<Slot> order(ScheduleShape shape, std::int64_t rank) {
    std::int64_t const p = shape.ranks, half = shape.microbatches / 2;
    orders::Stream const down{.stage = rank, .first_microbatch = 0};
    orders::Stream const up{.stage = p - 1 - rank, .first_microbatch = half};
    bool const upper = rank < p / 2;
    return orders::two_streams(p / 2, std::min(rank, p - 1 - rank), half, upper ? down : up, upper ? up : down);
}

std::int64_t in_flight(ScheduleShape shape, std::int64_t) { return shape.ranks + 1; }

// (p / 2 - 1) (F&B + B - 3 W), B the whole backward. Exact where F = I >= W: the formula takes forwards and input
// halves of the fill and the drain for equals.
std::optional<Seconds> bubble(ScheduleShape shape, UniformTimes const& t) {
    if (t.forward != t.backward_input || t.backward_weight > t.forward) return std::nullopt;
    return (shape.ranks / 2 - 1) * (t.pair + t.backward() - 3 * t.backward_weight);
}

}  // namespace

extern constinit ScheduleEntry const dualpipe_schedule{
    .name = "dualpipe",
    .summary = "microbatches from both ends, forwards beside backwards; two copies of the parameters",
    .source = "DeepSeek-AI, arXiv:2412.19437 fig. 5, table 2",
    .unsupported = unsupported,
    .rank_of = rank_of,
    .order = order,
    .in_flight = in_flight,
    .bubble = bubble,
    .parameter_copies = 2,
};

}  // namespace sextant
