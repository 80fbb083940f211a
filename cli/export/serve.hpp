#pragma once

#include "cli/subcommand.hpp"

namespace sextant::cli {

/// `sextant export serve`: the command that starts a serving engine.
Subcommand describe_export_serve(CLI::App& app, CommandContext& context);

}  // namespace sextant::cli
