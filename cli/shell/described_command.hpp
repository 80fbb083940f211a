#pragma once

#include "cli/command.hpp"
#include "cli/shell/config_file.hpp"

#include <CLI/App.hpp>

#include <memory>
#include <string>
#include <vector>

namespace sextant::cli {

/// A command with its options set up. `app` outlives `action`, and both the configuration.
struct DescribedCommand {
    std::shared_ptr<ConfigOptions> config;
    std::unique_ptr<CLI::App> app;
    Action action;
};

/// The options of one command, its subcommands, and what every command has: --help, --config, --write-config.
DescribedCommand describe_command(CommandEntry const& entry, CommandContext& context);

/// The innermost subcommand that was parsed.
CLI::App const& chosen_app(CLI::App const& app);

/// "scaling fit": the command and the subcommand that were chosen.
std::string chosen_path(CommandEntry const& entry, CLI::App const& app);

/// Parses what stands after the command's name; what --config names is filled in first.
/// @throws InputError in one sentence; CLI::CallForHelp and CLI::CallForAllHelp as they are.
void parse_arguments(CommandEntry const& entry, DescribedCommand& command, std::vector<std::string> arguments);

/// Long names of all options, with their dashes.
std::vector<std::string> option_names(CLI::App const& app);

}  // namespace sextant::cli
