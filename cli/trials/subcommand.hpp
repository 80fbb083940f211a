#pragma once

#include "cli/command.hpp"

namespace sextant::cli {

/// A subcommand of `sextant trials`, and what to do when it was the one that was given.
struct TrialsSubcommand {
    CLI::App const* app;
    Action run;
};

// Each is one file, cli/trials/<name>.cpp.
TrialsSubcommand describe_trials_budget(CLI::App& trials, CommandContext& context);
TrialsSubcommand describe_trials_schedule(CLI::App& trials, CommandContext& context);
TrialsSubcommand describe_trials_transfer(CLI::App& trials, CommandContext& context);

}  // namespace sextant::cli
