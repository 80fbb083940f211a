#include "simulator/held_passes.hpp"

#include "core/spec/schedule_traits.hpp"
#include "simulator/schedules/orders.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>

namespace sextant {
namespace {

/// Collects what a rank holds, and keeps the moments that no other is above.
class Holding {
public:
    explicit Holding(std::size_t chunks) : now_(chunks, 0) {}
    void take(std::size_t chunk) { ++now_[chunk]; }
    /// What is released was held with the rest until now.
    void release(std::size_t chunk) {
        note();
        --now_[chunk];
    }
    [[nodiscard]] std::vector<HeldPasses> fullest() {
        note();
        return std::move(fullest_);
    }

private:
    static bool covers(HeldPasses const& a, HeldPasses const& b) {
        return std::equal(a.begin(), a.end(), b.begin(), [](std::int64_t x, std::int64_t y) { return x >= y; });
    }
    void note() {
        if (std::any_of(fullest_.begin(), fullest_.end(), [&](HeldPasses const& other) { return covers(other, now_); }))
            return;
        std::erase_if(fullest_, [&](HeldPasses const& other) { return covers(now_, other); });
        fullest_.push_back(now_);
    }

    HeldPasses now_;
    std::vector<HeldPasses> fullest_;
};

/// Of a chunk among those of its rank.
std::size_t place_of(std::int32_t stage, std::span<std::int64_t const> chunks) {
    auto const found = std::lower_bound(chunks.begin(), chunks.end(), stage);
    assert(found != chunks.end() && *found == stage);
    return static_cast<std::size_t>(found - chunks.begin());
}

}  // namespace

std::vector<std::int64_t> chunks_on_rank(Schedule schedule, std::int64_t pp, std::int64_t vpp, std::int64_t rank) {
    ScheduleTraits const& traits = traits_of(schedule);
    std::vector<std::int64_t> chunks;
    for (std::int64_t c = 0; c < pp * vpp; ++c) {
        std::int64_t const first = rank_of_chunk(traits.placement, pp, c);
        if (first == rank || (traits.parameter_copies() > 1 && pp - 1 - first == rank)) chunks.push_back(c);
    }
    return chunks;
}

std::vector<HeldPasses> fullest_moments(std::span<Slot const> order, std::span<std::int64_t const> chunks) {
    Holding holding(chunks.size());
    for (Slot const& slot : order) {
        if (slot.kind == SlotKind::forward || slot.kind == SlotKind::forward_backward)
            holding.take(place_of(slot.stage, chunks));
        if (slot.kind == SlotKind::forward_backward) holding.release(place_of(slot.backward_stage, chunks));
        if (slot.kind == SlotKind::backward || slot.kind == SlotKind::backward_weight)
            holding.release(place_of(slot.stage, chunks));
    }
    return holding.fullest();
}

std::vector<HeldPasses> fullest_moments(Schedule schedule, ScheduleShape shape, std::int64_t rank) {
    assert(orders::takes_groups(schedule));
    // A pair's backward ends beside the next forward: one more is held.
    std::int64_t const ahead =
        orders::InterleavedPasses(shape, rank).lead() + (schedule == Schedule::overlapped ? 2 : 1);
    shape.microbatches = orders::MicrobatchGroups(shape).shortened(ahead / shape.chunks + 2);
    orders::MicrobatchGroups const groups(shape);
    std::int64_t const passes = shape.microbatches * shape.chunks;
    Holding holding(static_cast<std::size_t>(shape.chunks));
    std::int64_t released = 0;
    for (std::int64_t k = 0; k < passes; ++k) {
        holding.take(static_cast<std::size_t>(groups.at(k).chunk));
        if (k + 1 >= ahead) holding.release(static_cast<std::size_t>(shape.chunks - 1 - groups.at(released++).chunk));
    }
    return holding.fullest();
}

double held_microbatches(std::span<HeldPasses const> moments, std::span<double const> shares) {
    double most = 0;
    for (HeldPasses const& held : moments) {
        double sum = 0;
        for (std::size_t c = 0; c < shares.size(); ++c)
            sum += static_cast<double>(held[c]) * shares[c];
        most = std::max(most, sum);
    }
    return most;
}

std::array<double, 3> most_between_halves(std::span<Slot const> order, std::span<std::int64_t const> chunks,
                                          std::span<double const> shares) {
    std::array<double, 3> most{-1, -1, -1};
    std::vector<std::int64_t> held(chunks.size(), 0);
    for (Slot const& slot : order) {
        std::size_t const chunk = place_of(slot.stage, chunks);
        bool const input = slot.kind == SlotKind::backward_input, weight = slot.kind == SlotKind::backward_weight;
        bool const waits = shares[chunk] > 0;
        if (weight && !waits) continue;
        std::size_t const passes = slot.kind == SlotKind::forward_backward ? 2 : (input || weight) && waits ? 0 : 1;
        if (input) ++held[chunk];
        double kept = 0;
        for (std::size_t c = 0; c < held.size(); ++c)
            kept += static_cast<double>(held[c]) * shares[c];
        most[passes] = std::max(most[passes], kept);
        if (weight) --held[chunk];
    }
    return most;
}

Bytes most_bytes_held(std::span<Slot const> order, std::span<std::int64_t const> chunks,
                      std::span<HeldBytes const> bytes) {
    std::vector<std::int64_t> begun(chunks.size(), 0), halved(chunks.size(), 0);
    Bytes most;
    for (Slot const& slot : order) {
        bool const pair = slot.kind == SlotKind::forward_backward;
        std::size_t const chunk = place_of(slot.stage, chunks);
        std::size_t const back = pair ? place_of(slot.backward_stage, chunks) : chunk;
        bool const input = slot.kind == SlotKind::backward_input, weight = slot.kind == SlotKind::backward_weight;
        bool const whole = pair || slot.kind == SlotKind::backward || (input && bytes[back].waiting == Bytes{});
        if (pair || slot.kind == SlotKind::forward) ++begun[chunk];
        if (input) ++halved[chunk];
        Bytes held = whole ? bytes[back].working : Bytes{};
        for (std::size_t c = 0; c < chunks.size(); ++c)
            held += static_cast<double>(begun[c]) * bytes[c].kept + static_cast<double>(halved[c]) * bytes[c].waiting;
        most = std::max(most, held);
        if (weight) --halved[chunk];
        if (pair || weight || slot.kind == SlotKind::backward) --begun[back];
    }
    return most;
}

std::vector<HeldPasses> const& MomentStore::get(Schedule schedule, ScheduleShape shape, std::int64_t rank) {
    auto const [found, is_new] = known_.try_emplace({schedule, shape.ranks, shape.microbatches, shape.chunks, rank});
    if (is_new) found->second = fullest_moments(schedule, shape, rank);
    return found->second;
}

}  // namespace sextant
