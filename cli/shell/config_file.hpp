#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace sextant::cli {

/// What every command takes beside its own options.
struct ConfigOptions {
    std::string read;   ///< --config: options from this file
    std::string write;  ///< --write-config: all options into this file, and nothing else is done
};

/// Adds --config and --write-config to the command and to each of its subcommands (not to one that only holds
/// subcommands).
void add_config_options(CLI::App& app, ConfigOptions& options);

/// The arguments after the command's name, with what the files of --config say of options that they do not give
/// themselves: the command line wins.
///
/// A file is TOML: `gpus = 64` for `--gpus 64`, `dropout = true` for a flag, a list for an option that takes several.
/// What stands before the first table is for any command, `[plan]` and `[scaling.fit]` for that command alone.
/// @throws InputError: a key that is no option (with the nearest), a table that is no command, what is no TOML.
std::vector<std::string> with_config(std::string const& command, CLI::App& app, std::vector<std::string> arguments);

/// A file for --config: the options that were given, and the others with what they mean, commented out.
std::string config_text(std::string_view path, CLI::App const& chosen);

}  // namespace sextant::cli
