#pragma once

#include "cli/command.hpp"

namespace sextant::cli {

/// A subcommand of `sextant scaling`, and what to do when it was the one that was given.
struct ScalingSubcommand {
    CLI::App const* app;
    Action run;
};

// Each is one file, cli/scaling/<name>.cpp.
ScalingSubcommand describe_scaling_fit(CLI::App& scaling, CommandContext& context);
ScalingSubcommand describe_scaling_optimum(CLI::App& scaling, CommandContext& context);
ScalingSubcommand describe_scaling_predict(CLI::App& scaling, CommandContext& context);
ScalingSubcommand describe_scaling_laws(CLI::App& scaling, CommandContext& context);

}  // namespace sextant::cli
