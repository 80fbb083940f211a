#pragma once

#include "core/spec/parallel_plan.hpp"
#include "simulator/schedules/schedule.hpp"

#include <cstdint>
#include <vector>

/// Pieces that several schedules are made of.
namespace sextant::orders {

// Placements of stages on ranks.
/// Stage s on rank s mod ranks, whatever the microbatch.
std::int64_t round_robin(ScheduleShape shape, std::int64_t stage, std::int64_t microbatch);
/// Two chunks a rank, down and back up: stages r and 2 ranks - 1 - r on rank r.
std::int64_t v_shape(ScheduleShape shape, std::int64_t stage, std::int64_t microbatch);

/// Whether the microbatches go through several chunks of a rank in `MicrobatchGroups`.
constexpr bool takes_groups(Schedule schedule) {
    return schedule == Schedule::interleaved || schedule == Schedule::overlapped;
}

/// The groups of microbatches that an interleaved schedule takes through all chunks of a rank before the next ones:
/// as many as there are ranks, and where that does not divide, as few more as keep the groups even.
class MicrobatchGroups {
public:
    explicit MicrobatchGroups(ScheduleShape shape);
    /// Microbatches of the largest group.
    [[nodiscard]] std::int64_t largest() const { return size_; }
    [[nodiscard]] std::int64_t last() const { return full_ == groups_ ? size_ : size_ - 1; }
    /// Microbatches of a schedule with the same groups, at most `many` of each size: what repeats with every group,
    /// less often.
    [[nodiscard]] std::int64_t shortened(std::int64_t many) const;
    struct Place {
        std::int64_t chunk;
        std::int64_t microbatch;
    };
    /// Where the k-th of a rank's forwards is.
    [[nodiscard]] Place at(std::int64_t k) const;

private:
    std::int64_t chunks_;
    std::int64_t groups_;
    std::int64_t size_;  ///< of the first groups
    std::int64_t full_;  ///< how many have it; the others have one less
};

/// What a rank does of an interleaved schedule, forwards and backwards in their orders: a group of microbatches through
/// the first chunk, the same through the next, and so on; backwards from the last chunk to the first.
class InterleavedPasses {
public:
    InterleavedPasses(ScheduleShape shape, std::int64_t rank) : shape_(shape), rank_(rank), groups_(shape) {}
    [[nodiscard]] std::int64_t count() const { return shape_.microbatches * shape_.chunks; }
    /// The rank's k-th.
    [[nodiscard]] Slot forward(std::int64_t k) const;
    [[nodiscard]] Slot backward(std::int64_t k) const;
    /// Forwards by which a rank is ahead of the first backward: two for every rank after it, and a group for every
    /// chunk but one.
    [[nodiscard]] std::int64_t lead() const {
        return 2 * (shape_.ranks - 1 - rank_) + (shape_.chunks - 1) * groups_.largest();
    }

private:
    ScheduleShape shape_;
    std::int64_t rank_;
    MicrobatchGroups groups_;
};

/// "the schedule cuts the model into one chunk per rank, not 3"; nothing for `chunks` of them.
std::optional<std::string> unless_chunks(ScheduleShape shape, std::int64_t chunks);

Slot forward(std::int64_t stage, std::int64_t microbatch);
Slot backward(std::int64_t stage, std::int64_t microbatch);
Slot backward_input(std::int64_t stage, std::int64_t microbatch);
Slot backward_weight(std::int64_t stage, std::int64_t microbatch);
Slot pair(Slot const& forward, Slot const& backward);

/// A schedule of any shape: nothing is unsupported.
std::optional<std::string> any_shape(ScheduleShape shape);
/// The bubble of filling and draining a pipeline: (p - 1) (F + B) of a chunk.
Seconds fill_and_drain(ScheduleShape shape, UniformTimes const& times);

/// How a forward and the backward that follows it run.
enum class Turns : std::uint8_t { one_by_one, in_pairs };

/// `warm_up` forwards, then a forward and a backward by turns or beside one another, then the backwards that are left.
/// `forward_at(k)`, `backward_at(k)`: the rank's k-th forward and backward of `total`.
template <class ForwardAt, class BackwardAt>
std::vector<Slot> by_turns(std::int64_t total, std::int64_t warm_up, ForwardAt forward_at, BackwardAt backward_at,
                           Turns turns = Turns::one_by_one) {
    std::vector<Slot> order;
    order.reserve(static_cast<std::size_t>(2 * total));
    std::int64_t next = 0;
    while (next < warm_up && next < total)
        order.push_back(forward_at(next++));
    for (std::int64_t done = 0; done < total; ++done) {
        Slot slot = backward_at(done);
        if (next < total) {
            Slot const ahead = forward_at(next++);
            if (turns == Turns::in_pairs)
                slot = pair(ahead, slot);
            else
                order.push_back(ahead);
        }
        order.push_back(slot);
    }
    return order;
}

/// One chunk a rank with split backwards: `warm_up` forwards, then forward, input half and, `delay` microbatches late,
/// weight half by turns; weight halves fill the end, where input halves have to wait for other ranks.
std::vector<Slot> delayed_weights(ScheduleShape shape, std::int64_t rank, std::int64_t warm_up, std::int64_t delay);

/// The stage of a rank for the microbatches that enter the pipeline at one of its ends.
struct Stream {
    std::int64_t stage = 0;
    std::int64_t first_microbatch = 0;
};
/// One end of a pipeline that microbatches enter from both sides: what the rank `place` (0: at the end) of `half` ranks
/// does, with `near` the stream that comes from its own end and `far` the one that comes from the other.
/// @param microbatches of each stream, at least 2 half.
/// Source: arXiv:2412.19437 fig. 5; the phases are those of DeepSeek's published implementation.
std::vector<Slot> two_streams(std::int64_t half, std::int64_t place, std::int64_t microbatches, Stream near,
                              Stream far);

}  // namespace sextant::orders
