#pragma once

#include <string_view>

namespace sextant::cli {

/// Loads SimGrid. @throws UnavailableError "<where>: ..." with the reason and what to install when the machine has
/// none.
void need_simgrid(std::string_view where);

}  // namespace sextant::cli
