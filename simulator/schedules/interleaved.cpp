#include "simulator/schedules/orders.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sextant {
namespace {

std::optional<std::string> unsupported(ScheduleShape shape) {
    if (shape.ranks == 1 || shape.microbatches % shape.ranks == 0) return std::nullopt;
    return fmt::format("{} microbatches on {} ranks (they must be a multiple of the ranks)", shape.microbatches,
                       shape.ranks);
}

// Microbatches go through the chunks in groups of p: p through the first chunk, the same p through the next, and so on.
// The warm-up is two forwards for every rank after this one and p for every chunk after the first.
std::vector<Slot> order(ScheduleShape shape, std::int64_t rank) {
    std::int64_t const p = shape.ranks, v = shape.chunks;
    auto const microbatch = [=](std::int64_t k) { return k / (p * v) * p + k % p; };
    return orders::one_by_one(
        shape.microbatches * v, v == 1 ? p - 1 - rank : 2 * (p - 1 - rank) + (v - 1) * p,
        [=](std::int64_t k) { return orders::forward(k % (p * v) / p * p + rank, microbatch(k)); },
        [=](std::int64_t k) { return orders::backward((v - 1 - k % (p * v) / p) * p + rank, microbatch(k)); });
}

std::int64_t in_flight(ScheduleShape shape, std::int64_t rank) {
    std::int64_t const p = shape.ranks, v = shape.chunks;
    std::int64_t const warm_up = v == 1 ? p - 1 - rank : 2 * (p - 1 - rank) + (v - 1) * p;
    return std::min(shape.microbatches * v, warm_up + 1);
}

// (p - 1) (F + B) of a chunk: a v-th of what 1F1B waits.
std::optional<Seconds> bubble(ScheduleShape shape, UniformTimes const& t) {
    return (shape.ranks - 1) * (t.forward + t.backward());
}

}  // namespace

extern constinit ScheduleEntry const interleaved_schedule{
    .name = "interleaved",
    .summary = "1F1B over several chunks per rank (Megatron-LM)",
    .source = "Narayanan et al., arXiv:2104.04473 fig. 4 (bottom), sec. 2.2.2",
    .unsupported = unsupported,
    .rank_of = orders::round_robin,
    .order = order,
    .in_flight = in_flight,
    .bubble = bubble,
};

}  // namespace sextant
