#pragma once

#include "cli/subcommand.hpp"

namespace sextant::cli {

// The subcommands of `sextant scaling`; each is one file, cli/scaling/<name>.cpp.
Subcommand describe_scaling_fit(CLI::App& scaling, CommandContext& context);
Subcommand describe_scaling_optimum(CLI::App& scaling, CommandContext& context);
Subcommand describe_scaling_predict(CLI::App& scaling, CommandContext& context);
Subcommand describe_scaling_laws(CLI::App& scaling, CommandContext& context);

}  // namespace sextant::cli
