#include "simulator/schedules/orders.hpp"

#include <fmt/format.h>

namespace sextant {
namespace {

std::optional<std::string> unsupported(ScheduleShape shape) {
    if (auto const chunks = orders::unless_chunks(shape, 2)) return chunks;
    if (shape.microbatches < 2 * shape.ranks)
        return fmt::format("{} microbatches on {} ranks (at least twice as many as ranks, {})", shape.microbatches,
                           shape.ranks, 2 * shape.ranks);
    return std::nullopt;
}

// DualPipe's upper half: what comes from the other end there is the same microbatch on its way back up here, so one
// copy of the parameters is enough.
std::vector<Slot> order(ScheduleShape shape, std::int64_t rank) {
    return orders::two_streams(shape.ranks, rank, shape.microbatches, {.stage = rank, .first_microbatch = 0},
                               {.stage = 2 * shape.ranks - 1 - rank, .first_microbatch = 0});
}

std::int64_t in_flight(ScheduleShape shape, std::int64_t) { return 2 * shape.ranks + 1; }

// DualPipe's on twice the ranks: (ranks - 1) (F&B + B - 3 W) of a chunk, exact where F = I >= W.
std::optional<Seconds> bubble(ScheduleShape shape, UniformTimes const& t) {
    if (t.forward != t.backward_input || t.backward_weight > t.forward) return std::nullopt;
    return (shape.ranks - 1) * (t.pair + t.backward() - 3 * t.backward_weight);
}

}  // namespace

extern constinit ScheduleEntry const dualpipe_v_schedule{
    .name = "dualpipe-v",
    .summary = "DualPipe cut in half: two chunks per rank in a V, one copy of the parameters",
    .source = "DeepSeek-AI, github.com/deepseek-ai/DualPipe, after Sea AI Lab's note 'Cut-in-half'",
    .unsupported = unsupported,
    .rank_of = orders::v_shape,
    .order = order,
    .in_flight = in_flight,
    .bubble = bubble,
};

}  // namespace sextant
