#pragma once

#include <string>
#include <vector>

namespace sextant::bench {

/// sextant-bench with these arguments: 0 done, 1 something failed or was wrong, 2 bad input, 3 hardware or a library is
/// missing.
int run_program(std::vector<std::string> const& arguments);

}  // namespace sextant::bench
