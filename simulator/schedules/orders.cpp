#include "simulator/schedules/orders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace sextant::orders {

namespace {

Slot slot(SlotKind kind, std::int64_t stage, std::int64_t microbatch) {
    return {
        .kind = kind, .stage = static_cast<std::int32_t>(stage), .microbatch = static_cast<std::int32_t>(microbatch)};
}

/// Writes down a rank of a two-stream pipeline: counts microbatches and keeps postponed weight halves in order.
class TwoStreamWriter {
public:
    TwoStreamWriter(Stream near, Stream far, std::int64_t microbatches) : streams_{near, far} {
        slots_.reserve(static_cast<std::size_t>(4 * microbatches));
    }
    void run_forward(std::size_t stream) { slots_.push_back(next_forward(stream)); }
    void run_backward(std::size_t stream) { slots_.push_back(next_backward(stream)); }
    void run_input_half(std::size_t stream) {
        Slot const whole = next_backward(stream);
        slots_.push_back(backward_input(whole.stage, whole.microbatch));
        postponed_.push_back(backward_weight(whole.stage, whole.microbatch));
    }
    void run_weight_half() { slots_.push_back(postponed_[done_++]); }
    void run_pair(std::size_t forward_stream, std::size_t backward_stream) {
        Slot const first = next_forward(forward_stream);
        slots_.push_back(pair(first, next_backward(backward_stream)));
    }
    [[nodiscard]] std::vector<Slot> take() { return std::move(slots_); }

private:
    Slot next_forward(std::size_t stream) {
        return forward(streams_[stream].stage, streams_[stream].first_microbatch + forwards_[stream]++);
    }
    Slot next_backward(std::size_t stream) {
        return backward(streams_[stream].stage, streams_[stream].first_microbatch + backwards_[stream]++);
    }

    Stream streams_[2];
    std::int64_t forwards_[2] = {0, 0};
    std::int64_t backwards_[2] = {0, 0};
    std::vector<Slot> slots_;
    std::vector<Slot> postponed_;
    std::size_t done_ = 0;
};

}  // namespace

std::int64_t round_robin(ScheduleShape shape, std::int64_t stage, std::int64_t) { return stage % shape.ranks; }

std::int64_t v_shape(ScheduleShape shape, std::int64_t stage, std::int64_t) {
    return stage < shape.ranks ? stage : 2 * shape.ranks - 1 - stage;
}

MicrobatchGroups::MicrobatchGroups(ScheduleShape shape)
    : chunks_(shape.chunks),
      groups_(std::max<std::int64_t>(1, shape.microbatches / shape.ranks)),
      size_((shape.microbatches + groups_ - 1) / groups_),
      full_(shape.microbatches - (size_ - 1) * groups_) {}

std::int64_t MicrobatchGroups::shortened(std::int64_t many) const {
    return std::min(full_, many) * size_ + std::min(groups_ - full_, many) * (size_ - 1);
}

MicrobatchGroups::Place MicrobatchGroups::at(std::int64_t k) const {
    std::int64_t const passes = full_ * size_ * chunks_;  // of the full groups
    std::int64_t const size = k < passes ? size_ : size_ - 1;
    std::int64_t const rest = k < passes ? k : k - passes;
    std::int64_t const group = rest / (size * chunks_);
    std::int64_t const first = (k < passes ? 0 : full_ * size_) + group * size;
    return {.chunk = rest % (size * chunks_) / size, .microbatch = first + rest % size};
}

std::optional<std::string> unless_chunks(ScheduleShape shape, std::int64_t chunks) {
    if (shape.chunks == chunks) return std::nullopt;
    return fmt::format("{} {} of the model per rank (it needs exactly {})", shape.chunks,
                       shape.chunks == 1 ? "chunk" : "chunks", chunks);
}

std::optional<std::string> any_shape(ScheduleShape) { return std::nullopt; }

Seconds fill_and_drain(ScheduleShape shape, UniformTimes const& times) {
    return (shape.ranks - 1) * (times.forward + times.backward());
}

Slot forward(std::int64_t stage, std::int64_t microbatch) { return slot(SlotKind::forward, stage, microbatch); }
Slot backward(std::int64_t stage, std::int64_t microbatch) { return slot(SlotKind::backward, stage, microbatch); }
Slot backward_input(std::int64_t stage, std::int64_t microbatch) {
    return slot(SlotKind::backward_input, stage, microbatch);
}
Slot backward_weight(std::int64_t stage, std::int64_t microbatch) {
    return slot(SlotKind::backward_weight, stage, microbatch);
}

Slot InterleavedPasses::forward(std::int64_t k) const {
    auto const place = groups_.at(k);
    return orders::forward(place.chunk * shape_.ranks + rank_, place.microbatch);
}

Slot InterleavedPasses::backward(std::int64_t k) const {
    auto const place = groups_.at(k);
    return orders::backward((shape_.chunks - 1 - place.chunk) * shape_.ranks + rank_, place.microbatch);
}

Slot pair(Slot const& first, Slot const& second) {
    return {.kind = SlotKind::forward_backward,
            .stage = first.stage,
            .microbatch = first.microbatch,
            .backward_stage = second.stage,
            .backward_microbatch = second.microbatch};
}

std::vector<Slot> delayed_weights(ScheduleShape shape, std::int64_t rank, std::int64_t warm_up, std::int64_t delay) {
    std::int64_t const total = shape.microbatches;
    std::vector<Slot> order;
    order.reserve(static_cast<std::size_t>(3 * total));
    std::int64_t forwards = 0;
    std::int64_t weights = 0;
    while (forwards < warm_up && forwards < total)
        order.push_back(forward(rank, forwards++));
    for (std::int64_t done = 0; done < total; ++done) {
        bool const drain = forwards == total;
        if (!drain) order.push_back(forward(rank, forwards++));
        order.push_back(backward_input(rank, done));
        if (drain || done >= delay) order.push_back(backward_weight(rank, weights++));
    }
    while (weights < total)
        order.push_back(backward_weight(rank, weights++));
    return order;
}

std::vector<Slot> two_streams(std::int64_t half, std::int64_t place, std::int64_t microbatches, Stream near,
                              Stream far) {
    constexpr std::size_t own = 0, other = 1;
    TwoStreamWriter out(near, far, microbatches);
    std::int64_t const inwards = half - 1 - place;  // ranks between this one and the middle
    std::int64_t const outwards = place + 1;
    // Fill: the own stream alone, then both, then the first backwards of the other stream.
    for (std::int64_t i = 0; i < 2 * inwards; ++i)
        out.run_forward(own);
    for (std::int64_t i = 0; i < outwards; ++i) {
        out.run_forward(own);
        out.run_forward(other);
    }
    for (std::int64_t i = 0; i < inwards; ++i) {
        out.run_input_half(other);
        out.run_weight_half();
        out.run_forward(other);
    }
    // Steady: pairs in both directions. The middle's first pair would hold up what others wait for: one by one.
    std::int64_t const steady = microbatches - 2 * half + outwards;
    for (std::int64_t i = 0; i < steady; ++i) {
        if (i == 0 && inwards == 0) {
            out.run_forward(own);
            out.run_backward(other);
        } else {
            out.run_pair(own, other);
        }
        out.run_pair(other, own);
    }
    // Drain: the other stream's last forwards, then backwards alone; weight halves are put off to fill the end.
    for (std::int64_t i = 0; i < inwards; ++i) {
        out.run_backward(other);
        out.run_pair(other, own);
    }
    // From the middle of these backwards on, only input halves: the switch falls before or after the other stream's.
    std::int64_t const first_split = 2 * (outwards / 2) + (place % 2 == 1 ? 0 : 1);
    for (std::int64_t i = 0; i < 2 * outwards; ++i) {
        std::size_t const stream = i % 2 == 0 ? other : own;
        if (i < first_split)
            out.run_backward(stream);
        else
            out.run_input_half(stream);
    }
    for (std::int64_t i = 0; i < inwards; ++i) {
        out.run_weight_half();
        out.run_input_half(own);
    }
    for (std::int64_t i = 0; i < outwards; ++i)
        out.run_weight_half();
    return out.take();
}

}  // namespace sextant::orders
