#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace sextant::cli {

struct CommandContext;

/// The whole program but its process: parses, runs one command, writes its report to `out` and errors to `err`.
///
/// Only the options of the command that was chosen are set up. Returns the exit code: 0 done, 1 the answer is no, 2 bad
/// input, 3 hardware or library missing, 70 an error of ours, 130 interrupted. Throws nothing.
int run(int argc, char const* const* argv, std::ostream& out, std::ostream& err);

/// The same of the arguments behind the program's name, the command first.
int run(std::vector<std::string> arguments, CommandContext& context);

/// The same on this process's standard output and error, as wide and as coloured as they are.
int run_program(int argc, char const* const* argv);

/// How a command ended.
struct Ending {
    int exit_code = 0;
    std::string error;  ///< one sentence, where it was one: without control characters, and without "error:" before it
};

/// The same for a host that has its own way of telling errors, which are not written to `err`. May be called from
/// several threads at a time, but for 'sweep', which copies the process: nothing else may be at work then. Throws
/// nothing.
Ending run_arguments(std::vector<std::string> arguments, CommandContext& context);

}  // namespace sextant::cli
