#pragma once

#include "cli/shell/command_tree.hpp"

#include <span>
#include <string>
#include <string_view>

namespace sextant::cli {

/// A script that completes commands, options, and names of models, clusters and listed values, for
/// `source <(sextant completion bash)` and its like. It calls nothing: all names are in it.
std::string bash_completion(std::span<CommandDescription const> commands);
std::string zsh_completion(std::span<CommandDescription const> commands);
std::string fish_completion(std::span<CommandDescription const> commands);

/// `text` in single quotes for bash and zsh.
std::string shell_quoted(std::string_view text);

/// Every command and subcommand, each before its subcommands.
std::vector<CommandDescription const*> flattened(std::span<CommandDescription const> commands);

}  // namespace sextant::cli
