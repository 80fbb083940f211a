#pragma once

#include "core/units.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// Size of a pipeline: `ranks` accelerators in a row, `microbatches` a step, `chunks` pieces of the model on each rank.
struct ScheduleShape {
    std::int64_t ranks = 1;
    std::int64_t microbatches = 1;
    std::int64_t chunks = 1;
    /// Pieces that the model is cut into, numbered in model order: `ranks` times `chunks`.
    [[nodiscard]] std::int64_t stages() const { return ranks * chunks; }
    bool operator==(ScheduleShape const&) const = default;
};

/// What a rank does in one slot. `backward` is the gradient of input and weights in one go; `backward_input` and
/// `backward_weight` are its halves; `forward_backward` is a forward and a whole backward, of two stages on the same
/// rank, run beside one another so that the communication of each hides behind the compute of the other.
enum class SlotKind : std::uint8_t { forward, backward, backward_input, backward_weight, forward_backward };

/// One piece of a rank's work. Of a `forward_backward` pair, `stage` and `microbatch` are the forward's.
struct Slot {
    SlotKind kind = SlotKind::forward;
    std::int32_t stage = 0;
    std::int32_t microbatch = 0;
    std::int32_t backward_stage = -1;  ///< of the pair's backward; -1 for the other kinds
    std::int32_t backward_microbatch = -1;
    bool operator==(Slot const&) const = default;
};

/// `2F0`: stage, action, microbatch, with F forward, B backward, I input half, W weight half; a pair is
/// `(2F5;1B3)OVERLAP_F_B`. As PyTorch's pipelining writes them.
std::string text_of(Slot const& slot);

/// A schedule for one pipeline: what each rank does, in order.
struct PipelineSchedule {
    std::string name;
    std::int64_t stages = 1;
    std::int64_t microbatches = 1;
    std::vector<std::vector<Slot>> ranks;
};

/// Times of one chunk and one microbatch where all stages are alike.
struct UniformTimes {
    Seconds forward;
    Seconds backward_input;
    Seconds backward_weight;
    Seconds pair;  ///< of a forward and a whole backward beside one another
    [[nodiscard]] Seconds backward() const { return backward_input + backward_weight; }
};

/// What a published bubble counts as waiting. `step`: from the first slot of any rank to the last of any. `own_span`:
/// from a rank's first slot to its own last one; the time by which ranks start and end one after the other is not
/// counted, because it vanishes when steps follow each other without a barrier (arXiv:2401.10241 sec. 4).
enum class BubbleSpan : std::uint8_t { step, own_span };

/// A published schedule. An entry is one file and one line of the catalog.
struct ScheduleEntry {
    std::string_view name;
    std::string_view summary;
    std::string_view source;
    BubbleSpan span = BubbleSpan::step;

    /// The sentence why this shape cannot be scheduled, or nothing.
    std::optional<std::string> (*unsupported)(ScheduleShape) = nullptr;
    /// Rank that runs a stage for a microbatch.
    std::int64_t (*rank_of)(ScheduleShape, std::int64_t stage, std::int64_t microbatch) = nullptr;
    /// What a rank does, in order. @pre the shape is supported.
    std::vector<Slot> (*order)(ScheduleShape, std::int64_t rank) = nullptr;
    /// Most chunk passes whose activations a rank holds at once: from the start of the forward to the end of the
    /// backward, of its weight half where it is split. A bound; the fullest rank reaches it.
    std::int64_t (*in_flight)(ScheduleShape, std::int64_t rank) = nullptr;
    /// The published bubble of the rank that waits longest, counted over `span`; nothing for shapes or times that the
    /// publication's formula is not for.
    std::optional<Seconds> (*bubble)(ScheduleShape, UniformTimes const&) = nullptr;
    /// Copies of each stage's parameters over all ranks: 2 for bidirectional pipelines.
    std::int64_t parameter_copies = 1;
};

}  // namespace sextant
