#pragma once

#include "simulator/schedules/csv_action.hpp"
#include "simulator/schedules/schedule.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sextant {

/// Rank of every stage and microbatch of a schedule without faults.
class PassRanks {
public:
    explicit PassRanks(PipelineSchedule const& schedule);
    [[nodiscard]] std::int32_t of(std::int32_t stage, std::int32_t microbatch) const {
        return ranks_[static_cast<std::size_t>(microbatch) * stages_ + static_cast<std::size_t>(stage)];
    }

private:
    std::size_t stages_;
    std::vector<std::int32_t> ranks_;
};

/// What is wrong with the transfers of one row.
struct TransferFault {
    std::size_t rank = 0;
    std::size_t position = 0;  ///< in the row's actions
    std::string reason;
};

/// Checks sends and receives that a file writes down: each end belongs to its rank and runs once, a send follows what
/// makes it, a receive precedes what uses it and has a send, none is missing, and no receive waits for ever where ranks
/// stop at receives and not at sends.
/// @param rows all actions of each rank. @pre `schedule`, the rows' compute, has neither fault nor deadlock.
std::optional<TransferFault> find_transfer_fault(PipelineSchedule const& schedule,
                                                 std::span<std::vector<CsvAction> const> rows);

}  // namespace sextant
