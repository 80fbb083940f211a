#pragma once

#include "simulator/schedules/schedule.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace sextant {

/// `compute`: what ranks compute, one column per slot of equal length, idle ones blank. `compute_and_transfers`: as a
/// runtime carries it out, with `0SEND_F0`, `1RECV_F0`, `1SEND_B0` and `0RECV_B0` and without blanks.
enum class ScheduleCsvForm : std::uint8_t { compute, compute_and_transfers };

/// Reads the schedule CSV of torch.distributed.pipelining, in either form: no header, a row per rank, actions
/// `<stage><F|B|I|W><microbatch>` or `(<F>;<B>)OVERLAP_F_B`, blanks for idle slots. Rows may differ in length: PyTorch
/// writes them so. Transfers are checked and left out, for they follow from the order; UNSHARD, RESHARD and REDUCE_GRAD
/// are left out.
///
/// @throws InputError with the row, the cell and the reason: unknown action, stage or microbatch out of range (they are
/// numbered from 0 without a gap), repeated or missing action, an action on the wrong rank, a transfer that is missing,
/// comes too early or has no other end, a deadlock with all ranks that wait.
/// Source: PyTorch, torch/distributed/pipelining/schedules.py (`_Action`, `_load_csv`).
PipelineSchedule parse_schedule_csv(std::string_view text, std::string const& name);
/// The same from a file. @throws InputError also when it cannot be read.
PipelineSchedule read_schedule_csv(std::string const& path);

/// The text that `parse_schedule_csv` and PyTorch read. @pre the schedule has no fault and no deadlock.
std::string schedule_csv(PipelineSchedule const& schedule, ScheduleCsvForm form);

}  // namespace sextant
