#include "simulator/schedules/schedule_check.hpp"

#include <fmt/format.h>

#include <vector>

namespace sextant {

namespace {

/// Ranks that run the passes of one stage and microbatch; -1: none yet.
struct Passes {
    std::int32_t forward = -1, backward = -1, input = -1, weight = -1;
};

char letter(SlotKind kind) {
    switch (kind) {
        case SlotKind::forward: return 'F';
        case SlotKind::backward: return 'B';
        case SlotKind::backward_input: return 'I';
        default: return 'W';
    }
}

class Checker {
public:
    explicit Checker(PipelineSchedule const& schedule)
        : schedule_(schedule),
          passes_(static_cast<std::size_t>(schedule.stages) * static_cast<std::size_t>(schedule.microbatches)) {}

    std::optional<ScheduleFault> run() {
        for (std::size_t rank = 0; rank < schedule_.ranks.size(); ++rank)
            for (std::size_t position = 0; position < schedule_.ranks[rank].size(); ++position)
                if (auto const reason = add(static_cast<std::int32_t>(rank), schedule_.ranks[rank][position]))
                    return ScheduleFault{
                        .rank = static_cast<std::int64_t>(rank), .position = position, .reason = *reason};
        for (std::int32_t stage = 0; stage < schedule_.stages; ++stage)
            for (std::int32_t microbatch = 0; microbatch < schedule_.microbatches; ++microbatch)
                if (auto fault = incomplete(stage, microbatch)) return fault;
        return std::nullopt;
    }

private:
    [[nodiscard]] std::size_t at(std::int32_t stage, std::int32_t microbatch) const {
        return static_cast<std::size_t>(microbatch) * static_cast<std::size_t>(schedule_.stages) +
               static_cast<std::size_t>(stage);
    }

    std::optional<std::string> add(std::int32_t rank, Slot const& slot) {
        if (slot.kind != SlotKind::forward_backward) return add_pass(rank, slot.kind, slot.stage, slot.microbatch);
        if (auto reason = add_pass(rank, SlotKind::forward, slot.stage, slot.microbatch)) return reason;
        return add_pass(rank, SlotKind::backward, slot.backward_stage, slot.backward_microbatch);
    }

    std::optional<std::string> add_pass(std::int32_t rank, SlotKind kind, std::int32_t stage, std::int32_t microbatch) {
        if (stage < 0 || stage >= schedule_.stages)
            return fmt::format("stage {} is out of range (there are {}, numbered from 0)", stage, schedule_.stages);
        if (microbatch < 0 || microbatch >= schedule_.microbatches)
            return fmt::format("microbatch {} is out of range (there are {}, numbered from 0)", microbatch,
                               schedule_.microbatches);
        Passes& passes = passes_[at(stage, microbatch)];
        std::int32_t& mine = kind == SlotKind::forward          ? passes.forward
                             : kind == SlotKind::backward       ? passes.backward
                             : kind == SlotKind::backward_input ? passes.input
                                                                : passes.weight;
        if (mine >= 0)
            return fmt::format("{}{}{} is there already, on rank {} (each action runs once)", stage, letter(kind),
                               microbatch, mine);
        for (std::int32_t const other : {passes.forward, passes.backward, passes.input, passes.weight})
            if (other >= 0 && other != rank)
                return fmt::format(
                    "another pass of stage {} and microbatch {} is on rank {} (all passes of a microbatch over a "
                    "stage run on the same rank)",
                    stage, microbatch, other);
        mine = rank;
        backward_ = backward_ || kind != SlotKind::forward;
        if (passes.backward >= 0 && (passes.input >= 0 || passes.weight >= 0))
            return fmt::format("the backward of stage {} and microbatch {} comes whole and in halves (B, or I and W)",
                               stage, microbatch);
        return std::nullopt;
    }

    [[nodiscard]] std::optional<ScheduleFault> incomplete(std::int32_t stage, std::int32_t microbatch) const {
        Passes const& passes = passes_[at(stage, microbatch)];
        std::string what;
        if (passes.forward < 0)
            what = fmt::format("{}F{}", stage, microbatch);
        else if (backward_ && passes.backward < 0 && passes.input < 0)
            what = fmt::format("{0}B{1} (or {0}I{1} and {0}W{1})", stage, microbatch);
        else if (backward_ && passes.backward < 0 && passes.weight < 0)
            what = fmt::format("{}W{}", stage, microbatch);
        else
            return std::nullopt;
        return ScheduleFault{.rank = holder(stage, passes),
                             .position = std::nullopt,
                             .reason = fmt::format("{} is missing (every microbatch goes through every stage{})", what,
                                                   backward_ ? ", there and back" : "")};
    }

    /// The rank that something of this stage runs on.
    [[nodiscard]] std::optional<std::int64_t> holder(std::int32_t stage, Passes const& passes) const {
        for (std::int32_t const rank : {passes.forward, passes.backward, passes.input, passes.weight})
            if (rank >= 0) return rank;
        for (std::int32_t microbatch = 0; microbatch < schedule_.microbatches; ++microbatch)
            if (std::int32_t const rank = passes_[at(stage, microbatch)].forward; rank >= 0) return rank;
        return std::nullopt;
    }

    PipelineSchedule const& schedule_;
    std::vector<Passes> passes_;
    bool backward_ = false;
};

}  // namespace

std::optional<ScheduleFault> find_fault(PipelineSchedule const& schedule) { return Checker(schedule).run(); }

}  // namespace sextant
