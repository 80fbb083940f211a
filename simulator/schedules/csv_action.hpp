#pragma once

#include "simulator/schedules/schedule.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sextant {

/// What one cell of a schedule CSV says.
enum class CsvActionKind : std::uint8_t {
    compute,
    send_forward,
    receive_forward,
    send_backward,
    receive_backward,
    sharding
};

struct CsvAction {
    CsvActionKind kind = CsvActionKind::compute;
    Slot slot;  ///< of transfers: stage and microbatch; of sharding (UNSHARD and the like): the stage
};

/// Reads a cell without blanks around it; nothing if it is no action.
std::optional<CsvAction> parse_csv_action(std::string_view cell);

/// `1RECV_F0`.
std::string transfer_text(CsvActionKind kind, std::int32_t stage, std::int32_t microbatch);

}  // namespace sextant
