#pragma once

#include "cli/subcommand.hpp"

namespace sextant::cli {

// The subcommands of `sextant serve`; each is one file, cli/serve/<name>.cpp.
Subcommand describe_serve_estimate(CLI::App& serve, CommandContext& context);
Subcommand describe_serve_simulate(CLI::App& serve, CommandContext& context);
Subcommand describe_serve_plan(CLI::App& serve, CommandContext& context);
Subcommand describe_serve_quality(CLI::App& serve, CommandContext& context);

}  // namespace sextant::cli
