#pragma once

#include "cli/shell/command_tree.hpp"

#include <span>
#include <string>

namespace sextant::cli {

/// The manual page sextant(1) in roff (man macros), from the same descriptions as --help.
std::string man_page(std::span<CommandDescription const> commands, std::string_view version);

}  // namespace sextant::cli
