#pragma once

#include "cli/subcommand.hpp"

namespace sextant::cli {

// The subcommands of `sextant calibrate`; each is one file, cli/calibrate/<name>.cpp.
Subcommand describe_calibrate_run(CLI::App& calibrate, CommandContext& context);
Subcommand describe_calibrate_import(CLI::App& calibrate, CommandContext& context);
Subcommand describe_calibrate_fit(CLI::App& calibrate, CommandContext& context);
Subcommand describe_calibrate_report(CLI::App& calibrate, CommandContext& context);
Subcommand describe_calibrate_diff(CLI::App& calibrate, CommandContext& context);

}  // namespace sextant::cli
