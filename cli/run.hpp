#pragma once

#include <iosfwd>

namespace sextant::cli {

/// The whole program but its process: parses, runs one command, writes its report to `out` and errors to `err`.
///
/// Only the options of the command that was chosen are set up. Returns the exit code: 0 done, 1 the answer is no, 2 bad
/// input, 3 hardware or library missing, 70 an error of ours. Throws nothing.
int run(int argc, char const* const* argv, std::ostream& out, std::ostream& err);

}  // namespace sextant::cli
