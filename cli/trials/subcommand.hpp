#pragma once

#include "cli/subcommand.hpp"

namespace sextant::cli {

// The subcommands of `sextant trials`; each is one file, cli/trials/<name>.cpp.
Subcommand describe_trials_budget(CLI::App& trials, CommandContext& context);
Subcommand describe_trials_schedule(CLI::App& trials, CommandContext& context);
Subcommand describe_trials_transfer(CLI::App& trials, CommandContext& context);

}  // namespace sextant::cli
