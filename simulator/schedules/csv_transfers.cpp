#include "simulator/schedules/csv_transfers.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>

namespace sextant {

namespace {

constexpr std::size_t index_of(CsvActionKind kind) { return static_cast<std::size_t>(kind); }
constexpr std::size_t kinds = index_of(CsvActionKind::sharding);

/// Calls `use` with (forward or not, stage, microbatch) of each pass in a slot that takes and makes something of other
/// stages: all but weight halves.
template <class Use>
void for_each_pass(Slot const& slot, Use use) {
    if (slot.kind == SlotKind::forward || slot.kind == SlotKind::forward_backward)
        use(CsvActionKind::receive_forward, slot.stage, slot.microbatch);
    if (slot.kind == SlotKind::backward || slot.kind == SlotKind::backward_input)
        use(CsvActionKind::receive_backward, slot.stage, slot.microbatch);
    if (slot.kind == SlotKind::forward_backward)
        use(CsvActionKind::receive_backward, slot.backward_stage, slot.backward_microbatch);
}

class TransferChecker {
public:
    TransferChecker(PipelineSchedule const& schedule, std::span<std::vector<CsvAction> const> rows)
        : rows_(rows),
          stages_(static_cast<std::int32_t>(schedule.stages)),
          microbatches_(schedule.microbatches),
          ranks_(schedule) {
        for (auto& flags : done_)
            flags.assign(static_cast<std::size_t>(schedule.stages * schedule.microbatches), 0);
        made_[0] = made_[1] = done_[0];
    }

    std::optional<TransferFault> run() {
        for (std::size_t rank = 0; rank < rows_.size(); ++rank)
            for (std::size_t position = 0; position < rows_[rank].size(); ++position)
                if (auto const reason = add(static_cast<std::int32_t>(rank), rows_[rank][position]))
                    return TransferFault{.rank = rank, .position = position, .reason = *reason};
        if (auto fault = lonely()) return fault;
        return stuck();
    }

private:
    using Flags = std::vector<char>;
    [[nodiscard]] std::size_t at(std::int32_t stage, std::int32_t microbatch) const {
        return static_cast<std::size_t>(microbatch) * static_cast<std::size_t>(stages_) +
               static_cast<std::size_t>(stage);
    }
    Flags& done(CsvActionKind kind) { return done_[index_of(kind)]; }

    /// The other end of a transfer.
    struct End {
        CsvActionKind kind;
        std::int32_t stage;
    };
    static End other_end(CsvActionKind kind, std::int32_t stage) {
        switch (kind) {
            case CsvActionKind::send_forward: return {CsvActionKind::receive_forward, stage + 1};
            case CsvActionKind::receive_forward: return {CsvActionKind::send_forward, stage - 1};
            case CsvActionKind::send_backward: return {CsvActionKind::receive_backward, stage - 1};
            default: return {CsvActionKind::send_backward, stage + 1};
        }
    }

    std::optional<std::string> add(std::int32_t rank, CsvAction const& action) {
        if (action.kind == CsvActionKind::sharding) return std::nullopt;
        if (action.kind == CsvActionKind::compute) return add_compute(rank, action.slot);
        std::int32_t const stage = action.slot.stage, microbatch = action.slot.microbatch;
        if (stage >= stages_ || microbatch >= microbatches_)
            return fmt::format("stage or microbatch out of range (there are {} stages and {} microbatches)", stages_,
                               microbatches_);
        End const other = other_end(action.kind, stage);
        if (other.stage < 0 || other.stage >= stages_)
            return fmt::format("stage {} has nobody at the other end (stages are 0 to {})", stage, stages_ - 1);
        if (ranks_.of(stage, microbatch) != rank)
            return fmt::format(
                "stage {} of microbatch {} is on rank {} (each rank sends and receives for its own stages)", stage,
                microbatch, ranks_.of(stage, microbatch));
        if (ranks_.of(other.stage, microbatch) == rank)
            return fmt::format("stages {} and {} are on the same rank (nothing is sent there)", stage, other.stage);
        char& mine = done(action.kind)[at(stage, microbatch)];
        if (mine != 0) return "the transfer is there already (each runs once)";
        mine = 1;
        bool const forward = action.kind == CsvActionKind::send_forward;
        if ((forward || action.kind == CsvActionKind::send_backward) &&
            made_[forward ? 0 : 1][at(stage, microbatch)] == 0)
            return fmt::format("the send comes before the {} that makes it (which has to precede it in the row)",
                               forward ? "forward" : "backward");
        return std::nullopt;
    }

    std::optional<std::string> add_compute(std::int32_t rank, Slot const& slot) {
        std::optional<std::string> reason;
        for_each_pass(slot, [&](CsvActionKind receive, std::int32_t stage, std::int32_t microbatch) {
            bool const forward = receive == CsvActionKind::receive_forward;
            made_[forward ? 0 : 1][at(stage, microbatch)] = 1;
            End const from = other_end(receive, stage);
            bool const local = from.stage < 0 || from.stage >= stages_ || ranks_.of(from.stage, microbatch) == rank;
            if (!local && done(receive)[at(stage, microbatch)] == 0 && !reason)
                reason = fmt::format("{} has not come before it (what another rank makes has to be received first)",
                                     transfer_text(receive, stage, microbatch));
        });
        return reason;
    }

    /// A transfer with one end.
    std::optional<TransferFault> lonely() {
        for (std::size_t rank = 0; rank < rows_.size(); ++rank)
            for (std::size_t position = 0; position < rows_[rank].size(); ++position) {
                CsvAction const& action = rows_[rank][position];
                if (action.kind == CsvActionKind::compute || action.kind == CsvActionKind::sharding) continue;
                End const other = other_end(action.kind, action.slot.stage);
                if (done(other.kind)[at(other.stage, action.slot.microbatch)] != 0) continue;
                return TransferFault{
                    .rank = rank,
                    .position = position,
                    .reason = fmt::format("{} is missing on rank {} (a transfer has two ends)",
                                          transfer_text(other.kind, other.stage, action.slot.microbatch),
                                          ranks_.of(other.stage, action.slot.microbatch))};
            }
        return std::nullopt;
    }

    /// Carries the rows out, stopping at receives whose send has not run.
    std::optional<TransferFault> stuck() {
        for (auto& flags : done_)
            flags.assign(flags.size(), 0);
        std::vector<std::size_t> next(rows_.size(), 0);
        for (bool moved = true; moved;) {
            moved = false;
            for (std::size_t rank = 0; rank < rows_.size(); ++rank)
                while (next[rank] < rows_[rank].size() && can_run(rows_[rank][next[rank]])) {
                    ++next[rank];
                    moved = true;
                }
        }
        std::optional<TransferFault> fault;
        std::string all;
        for (std::size_t rank = 0; rank < rows_.size(); ++rank) {
            if (next[rank] == rows_[rank].size()) continue;
            CsvAction const& action = rows_[rank][next[rank]];
            if (!fault) fault = {.rank = rank, .position = next[rank], .reason = {}};
            all += fmt::format("{}rank {} waits with {}", all.empty() ? "" : "; ", rank,
                               transfer_text(action.kind, action.slot.stage, action.slot.microbatch));
        }
        if (fault) fault->reason = fmt::format("the transfers deadlock ({})", all);
        return fault;
    }

    bool can_run(CsvAction const& action) {
        bool const receive =
            action.kind == CsvActionKind::receive_forward || action.kind == CsvActionKind::receive_backward;
        if (action.kind == CsvActionKind::compute || action.kind == CsvActionKind::sharding) return true;
        End const other = other_end(action.kind, action.slot.stage);
        if (receive) return done(other.kind)[at(other.stage, action.slot.microbatch)] != 0;
        done(action.kind)[at(action.slot.stage, action.slot.microbatch)] = 1;
        return true;
    }

    std::span<std::vector<CsvAction> const> rows_;
    std::int32_t stages_;
    std::int64_t microbatches_;
    PassRanks ranks_;
    std::array<Flags, kinds> done_;  ///< by kind of transfer
    std::array<Flags, 2> made_;      ///< forwards, backwards that have come in their row
};

}  // namespace

PassRanks::PassRanks(PipelineSchedule const& schedule)
    : stages_(static_cast<std::size_t>(schedule.stages)),
      ranks_(stages_ * static_cast<std::size_t>(schedule.microbatches), -1) {
    for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank)
        for (Slot const& slot : schedule.ranks[rank])
            if (slot.kind == SlotKind::forward || slot.kind == SlotKind::forward_backward)
                ranks_[static_cast<std::size_t>(slot.microbatch) * stages_ + static_cast<std::size_t>(slot.stage)] =
                    static_cast<std::int32_t>(rank);
}

std::optional<TransferFault> find_transfer_fault(PipelineSchedule const& schedule,
                                                 std::span<std::vector<CsvAction> const> rows) {
    return TransferChecker(schedule, rows).run();
}

}  // namespace sextant
