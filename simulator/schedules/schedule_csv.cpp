#include "simulator/schedules/schedule_csv.hpp"

#include "core/csv.hpp"
#include "core/error.hpp"
#include "core/json/text_file.hpp"
#include "core/text.hpp"
#include "simulator/schedule_walk.hpp"
#include "simulator/schedules/csv_action.hpp"
#include "simulator/schedules/csv_transfers.hpp"
#include "simulator/schedules/schedule_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace sextant {

namespace {

/// Every slot takes one unit of time: the columns of the compute form.
WalkCosts unit_slots(std::int64_t stages) {
    Seconds const unit = 1 * units::s;
    StageDurations const one =
        with_pair({.forward = unit, .backward = unit, .backward_input = unit, .backward_weight = unit}, unit);
    return {.stages = std::vector<StageDurations>(static_cast<std::size_t>(stages), one), .transfers = {}};
}

/// A file being read: the actions of each row, and the cells that they stand in.
class ScheduleReader {
public:
    explicit ScheduleReader(std::string const& name) : name_(name) {}

    PipelineSchedule read(std::string_view text) {
        std::vector<CsvRecord> const records = parse_csv_records(text, name_);
        if (records.empty()) throw InputError("{}: the file is empty (a row per rank is expected)", name_);
        for (CsvRecord const& record : records)
            read_row(record);
        count();
        PipelineSchedule schedule{.name = name_, .stages = stages_, .microbatches = microbatches_, .ranks = {}};
        for (auto const& row : rows_) {
            auto& slots = schedule.ranks.emplace_back();
            for (CsvAction const& action : row)
                if (action.kind == CsvActionKind::compute) slots.push_back(action.slot);
        }
        check(schedule);
        return schedule;
    }

private:
    void read_row(CsvRecord const& record) {
        std::size_t const rank = rows_.size();
        if (record.line != rank + 1)
            throw InputError("{}: row {} (rank {}): the line is empty (every rank has something to do)", name_,
                             rank + 1, rank);
        rows_.emplace_back();
        cells_.emplace_back();
        for (std::size_t i = 0; i < record.cells.size(); ++i) {
            std::string_view const cell = trimmed(record.cells[i]);
            if (cell.empty()) continue;
            auto const action = parse_csv_action(cell);
            if (!action)
                throw InputError(
                    "{}: row {} (rank {}), cell {}: unknown action '{}' (stage, one of F B I W, microbatch as in 2F0; "
                    "SEND_F, RECV_F, SEND_B or RECV_B as in 2SEND_F0; pairs as in (2F5;1B3)OVERLAP_F_B)",
                    name_, rank + 1, rank, i + 1, cell.substr(0, 60));
            rows_.back().push_back(*action);
            cells_.back().push_back(i);
        }
    }

    /// Stages and microbatches are as many as are named; numbers beyond that have a gap before them.
    void count() {
        std::set<std::int32_t> stages, microbatches;
        std::size_t passes = 0;
        auto const for_each = [&](auto use) {
            for (std::size_t rank = 0; rank < rows_.size(); ++rank)
                for (std::size_t i = 0; i < rows_[rank].size(); ++i) {
                    CsvAction const& action = rows_[rank][i];
                    if (action.kind != CsvActionKind::compute) continue;
                    use(rank, i, action.slot.stage, action.slot.microbatch);
                    if (action.slot.kind == SlotKind::forward_backward)
                        use(rank, i, action.slot.backward_stage, action.slot.backward_microbatch);
                }
        };
        for_each([&](std::size_t, std::size_t, std::int32_t stage, std::int32_t microbatch) {
            stages.insert(stage);
            microbatches.insert(microbatch);
            ++passes;
        });
        stages_ = static_cast<std::int64_t>(stages.size());
        microbatches_ = static_cast<std::int64_t>(microbatches.size());
        if (passes == 0) throw InputError("{}: the file has no action in it (a row per rank is expected)", name_);
        for_each([&](std::size_t rank, std::size_t i, std::int32_t stage, std::int32_t microbatch) {
            if (stage >= stages_)
                fail(rank, i,
                     fmt::format("stage {} is out of range (the file names {}, so they are 0 to {})", stage, stages_,
                                 stages_ - 1));
            if (microbatch >= microbatches_)
                fail(rank, i,
                     fmt::format("microbatch {} is out of range (the file names {}, so they are 0 to {})", microbatch,
                                 microbatches_, microbatches_ - 1));
        });
        if (stages_ * microbatches_ > static_cast<std::int64_t>(passes))
            throw InputError(
                "{}: {} actions for {} stages and {} microbatches (each microbatch goes through each stage)", name_,
                passes, stages_, microbatches_);
    }

    /// @param action position among the actions of the row.
    [[noreturn]] void fail(std::size_t rank, std::size_t action, std::string const& reason) const {
        CsvAction const& what = rows_[rank][action];
        throw InputError("{}: row {} (rank {}), cell {}, '{}': {}", name_, rank + 1, rank, cells_[rank][action] + 1,
                         what.kind == CsvActionKind::compute
                             ? text_of(what.slot)
                             : transfer_text(what.kind, what.slot.stage, what.slot.microbatch),
                         reason);
    }

    /// Position among the actions of a row of its n-th slot.
    [[nodiscard]] std::size_t action_of(std::size_t rank, std::size_t slot) const {
        std::size_t action = 0;
        for (;; ++action)
            if (rows_[rank][action].kind == CsvActionKind::compute && slot-- == 0) return action;
    }

    void check(PipelineSchedule const& schedule) const {
        if (auto const fault = find_fault(schedule)) {
            if (!fault->rank) throw InputError("{}: {}", name_, fault->reason);
            auto const rank = static_cast<std::size_t>(*fault->rank);
            if (fault->position) fail(rank, action_of(rank, *fault->position), fault->reason);
            throw InputError("{}: row {} (rank {}): {}", name_, rank + 1, rank, fault->reason);
        }
        for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank)
            if (schedule.ranks[rank].empty())
                throw InputError("{}: row {} (rank {}): there is no compute in it (every rank has something to do)",
                                 name_, rank + 1, rank);
        ScheduleWalk const walk = walk_schedule(schedule, unit_slots(stages_));
        if (!walk.waiting.empty()) {
            WaitingSlot const& first = walk.waiting.front();
            auto const rank = static_cast<std::size_t>(first.rank);
            fail(rank, action_of(rank, first.position),
                 fmt::format("the schedule deadlocks ({})", text_of(walk.waiting)));
        }
        auto const is_transfer = [](CsvAction const& action) {
            return action.kind != CsvActionKind::compute && action.kind != CsvActionKind::sharding;
        };
        bool const transfers = std::any_of(rows_.begin(), rows_.end(), [&](std::vector<CsvAction> const& row) {
            return std::any_of(row.begin(), row.end(), is_transfer);
        });
        if (!transfers) return;
        if (auto const fault = find_transfer_fault(schedule, rows_)) fail(fault->rank, fault->position, fault->reason);
    }

    std::string const& name_;
    std::vector<std::vector<CsvAction>> rows_;
    std::vector<std::vector<std::size_t>> cells_;
    std::int64_t stages_ = 0;
    std::int64_t microbatches_ = 0;
};

/// Cells of every rank, without blanks: compute, and after each unit of time the transfers of what it made. Receives go
/// into the other rank's row at the moment of the send, so that both ends of a pair of ranks see the same order.
std::vector<std::vector<std::string>> rows_with_transfers(PipelineSchedule const& schedule, ScheduleWalk const& walk) {
    PassRanks const ranks(schedule);
    std::vector<std::vector<std::string>> rows(schedule.ranks.size());
    std::vector<std::size_t> next(schedule.ranks.size(), 0);
    auto const send = [&](std::size_t rank, bool forward, std::int32_t stage, std::int32_t microbatch) {
        std::int32_t const to = forward ? stage + 1 : stage - 1;
        if (to < 0 || to >= schedule.stages) return;
        auto const target = static_cast<std::size_t>(ranks.of(to, microbatch));
        if (target == rank) return;
        rows[rank].push_back(
            transfer_text(forward ? CsvActionKind::send_forward : CsvActionKind::send_backward, stage, microbatch));
        rows[target].push_back(
            transfer_text(forward ? CsvActionKind::receive_forward : CsvActionKind::receive_backward, to, microbatch));
    };
    auto const columns = static_cast<std::int64_t>(walk.makespan.base() + 0.5);
    for (std::int64_t column = 0; column < columns; ++column) {
        std::vector<std::size_t> ran;
        for (std::size_t rank = 0; rank < rows.size(); ++rank) {
            std::size_t const i = next[rank];
            if (i == schedule.ranks[rank].size() ||
                walk.ranks[rank].slots[i].start.base() > static_cast<double>(column))
                continue;
            rows[rank].push_back(text_of(schedule.ranks[rank][i]));
            ++next[rank];
            ran.push_back(rank);
        }
        for (std::size_t const rank : ran) {
            Slot const& slot = schedule.ranks[rank][next[rank] - 1];
            if (slot.kind == SlotKind::forward || slot.kind == SlotKind::forward_backward)
                send(rank, true, slot.stage, slot.microbatch);
            if (slot.kind == SlotKind::backward || slot.kind == SlotKind::backward_input)
                send(rank, false, slot.stage, slot.microbatch);
            if (slot.kind == SlotKind::forward_backward)
                send(rank, false, slot.backward_stage, slot.backward_microbatch);
        }
    }
    return rows;
}

}  // namespace

PipelineSchedule parse_schedule_csv(std::string_view text, std::string const& name) {
    return ScheduleReader(name).read(text);
}

PipelineSchedule read_schedule_csv(std::string const& path) { return parse_schedule_csv(read_text_file(path), path); }

std::string schedule_csv(PipelineSchedule const& schedule, ScheduleCsvForm form) {
    ScheduleWalk const walk = walk_schedule(schedule, unit_slots(schedule.stages));
    std::vector<std::vector<std::string>> rows;
    if (form == ScheduleCsvForm::compute_and_transfers) {
        rows = rows_with_transfers(schedule, walk);
    } else {
        auto const columns = static_cast<std::size_t>(walk.makespan.base() + 0.5);
        rows.assign(schedule.ranks.size(), std::vector<std::string>(columns));
        for (std::size_t rank = 0; rank < rows.size(); ++rank)
            for (std::size_t i = 0; i < schedule.ranks[rank].size(); ++i)
                rows[rank][static_cast<std::size_t>(walk.ranks[rank].slots[i].start.base() + 0.5)] =
                    text_of(schedule.ranks[rank][i]);
    }
    std::string text;
    for (auto const& row : rows)
        text += csv_line(row);
    return text;
}

}  // namespace sextant
