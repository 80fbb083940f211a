#include "simulator/schedules/orders.hpp"

#include <algorithm>

namespace sextant {
namespace {

std::optional<std::string> unsupported(ScheduleShape) { return std::nullopt; }

/// Forwards before the first backward: one more than in the interleaved schedule, of one chunk too, because a backward
/// runs beside a forward and not after its own.
std::int64_t warm_up(orders::InterleavedPasses const& passes) { return std::min(passes.count(), passes.lead() + 1); }

std::vector<Slot> order(ScheduleShape shape, std::int64_t rank) {
    orders::InterleavedPasses const passes(shape, rank);
    std::vector<Slot> order;
    order.reserve(static_cast<std::size_t>(2 * passes.count()));
    std::int64_t next = 0;
    while (next < warm_up(passes))
        order.push_back(passes.forward(next++));
    for (std::int64_t done = 0; done < passes.count(); ++done) {
        Slot const backward = passes.backward(done);
        order.push_back(next < passes.count() ? orders::pair(passes.forward(next++), backward) : backward);
    }
    return order;
}

std::int64_t in_flight(ScheduleShape shape, std::int64_t rank) {
    orders::InterleavedPasses const passes(shape, rank);
    return std::min(passes.count(), warm_up(passes) + 1);
}

// (p - 1) (F + B) of a chunk: as interleaved. With fewer microbatches than ranks chunks wait for one another.
std::optional<Seconds> bubble(ScheduleShape shape, UniformTimes const& t) {
    if (shape.chunks > 1 && shape.microbatches < shape.ranks) return std::nullopt;
    return (shape.ranks - 1) * (t.forward + t.backward());
}

}  // namespace

extern constinit ScheduleEntry const overlapped_schedule{
    .name = "1f1b-overlap",
    .summary = "interleaved with every forward beside a backward, so that exchanges of experts hide (Megatron-Core)",
    .source = "NVIDIA, Megatron-Core: --overlap-moe-expert-parallel-comm (combined 1F1B)",
    .unsupported = unsupported,
    .rank_of = orders::round_robin,
    .order = order,
    .in_flight = in_flight,
    .bubble = bubble,
};

}  // namespace sextant
