#include "simulator/schedules/orders.hpp"

#include <algorithm>

namespace sextant {
namespace {

std::optional<std::string> unsupported(ScheduleShape shape) { return orders::unless_chunks(shape, 2); }

/// Writes slots of a rank's two chunks, leaving out microbatches that the step does not have: the order is that of a
/// step with enough of them.
class Writer {
public:
    Writer(ScheduleShape shape, std::int64_t rank)
        : stage_{rank, 2 * shape.ranks - 1 - rank}, microbatches_(shape.microbatches) {}
    void run_forward(std::size_t chunk) { add(orders::forward(stage_[chunk], forwards[chunk]++)); }
    void run_input_half(std::size_t chunk) { add(orders::backward_input(stage_[chunk], inputs[chunk]++)); }
    void run_weight_half(std::size_t chunk) { add(orders::backward_weight(stage_[chunk], weights[chunk]++)); }
    void run_backward(std::size_t chunk) {
        run_input_half(chunk);
        run_weight_half(chunk);
    }

    std::int64_t forwards[2] = {0, 0};
    std::int64_t inputs[2] = {0, 0};
    std::int64_t weights[2] = {0, 0};
    std::vector<Slot> slots;

private:
    void add(Slot const& slot) {
        if (slot.microbatch < microbatches_) slots.push_back(slot);
    }
    std::int64_t stage_[2];
    std::int64_t microbatches_;
};

// Chunk 0 lies on the way down, chunk 1 on the way back up, so the first rank has both ends of the model and the last
// rank turns round at once. With F = I = W each rank works without a gap from its first slot to its last.
std::vector<Slot> order(ScheduleShape shape, std::int64_t rank) {
    constexpr std::size_t down = 0, up = 1;
    std::int64_t const p = shape.ranks;
    std::int64_t const total = std::max(shape.microbatches, 2 * p - 1);
    Writer out(shape, rank);
    for (std::int64_t i = 0; i < 2 * (p - rank) - 1; ++i)
        out.run_forward(down);
    for (std::int64_t i = 0; i < rank; ++i) {
        out.run_forward(up);
        out.run_forward(down);
    }
    for (std::int64_t i = 0; i < p - rank; ++i) {
        out.run_forward(up);
        out.run_backward(up);
    }
    while (out.forwards[up] < out.forwards[down] || out.forwards[down] < total) {
        if (out.forwards[down] < total) out.run_forward(down);
        out.run_backward(down);
        out.run_forward(up);
        out.run_backward(up);
    }
    // The drain: input halves first, weight halves where the next gradient is not there yet.
    for (std::int64_t i = 0; i < rank; ++i) {
        out.run_input_half(down);
        out.run_input_half(up);
    }
    for (std::int64_t i = 0; i < p - rank; ++i)
        out.run_backward(down);
    while (out.weights[up] < out.inputs[up])
        out.run_weight_half(up);
    while (out.weights[down] < out.inputs[down])
        out.run_weight_half(down);
    return std::move(out.slots);
}

// 2 p chunks: the p microbatches of 1F1B's first rank.
std::int64_t in_flight(ScheduleShape shape, std::int64_t) { return std::min(2 * shape.microbatches, 2 * shape.ranks); }

// None where the three passes take the same time.
std::optional<Seconds> bubble(ScheduleShape shape, UniformTimes const& t) {
    bool const alike = t.forward == t.backward_input && t.forward == t.backward_weight;
    if (!alike || shape.microbatches < 2 * shape.ranks - 1) return std::nullopt;
    return Seconds{};
}

}  // namespace

extern constinit ScheduleEntry const zb_v_schedule{
    .name = "zb-v",
    .summary = "zero bubble, two chunks per rank in a V, with the memory of 1F1B",
    .source = "Qi et al., arXiv:2401.10241 sec. 6; the order for equal times is the one that PyTorch runs",
    .span = BubbleSpan::own_span,
    .unsupported = unsupported,
    .rank_of = orders::v_shape,
    .order = order,
    .in_flight = in_flight,
    .bubble = bubble,
};

}  // namespace sextant
