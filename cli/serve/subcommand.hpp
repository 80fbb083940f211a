#pragma once

#include "cli/command.hpp"

namespace sextant::cli {

/// A subcommand of `sextant serve`, and what to do when it was the one that was given.
struct ServeSubcommand {
    CLI::App const* app;
    Action run;
};

// Each is one file, cli/serve/<name>.cpp.
ServeSubcommand describe_serve_estimate(CLI::App& serve, CommandContext& context);
ServeSubcommand describe_serve_simulate(CLI::App& serve, CommandContext& context);
ServeSubcommand describe_serve_plan(CLI::App& serve, CommandContext& context);
ServeSubcommand describe_serve_quality(CLI::App& serve, CommandContext& context);  // cli/serve/quality.cpp

}  // namespace sextant::cli
