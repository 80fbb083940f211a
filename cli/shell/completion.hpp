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

/// Every command and subcommand, each before its subcommands.
std::vector<CommandDescription const*> flattened(std::span<CommandDescription const> commands);

/// "fit" of the path "scaling fit".
std::string last_word(std::string const& path);

}  // namespace sextant::cli
