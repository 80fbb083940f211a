#pragma once

#include "cli/command.hpp"

#include <vector>

namespace sextant::cli {

/// A subcommand, and what to do when it was the one that was given.
struct Subcommand {
    CLI::App const* app = nullptr;
    Action run;
};

/// Runs the one that was given, of a command that requires one.
Action run_given(std::vector<Subcommand> subcommands);

}  // namespace sextant::cli
