#pragma once

#include "cli/sweep/table.hpp"

#include <string>
#include <string_view>

namespace sextant::cli {

// Rows as they go from a worker to the process that writes: a length of eight bytes, then that many bytes. Both ends
// are the same program on the same kind of machine.

void append_row(std::string& bytes, SweepRow const& row);

/// Takes one whole row off the front. False, and nothing taken, when there is none yet.
/// @throws std::runtime_error when the bytes are no row.
bool take_row(std::string_view& bytes, SweepRow& row);

}  // namespace sextant::cli
