#pragma once

#include "cli/shell/terminal.hpp"

#include <string>

namespace CLI {
class App;
}

namespace sextant::cli {

/// The help of a command as CLI11 writes it, fitted to the terminal.
std::string help_for(CLI::App const& app, Terminal const& terminal);

}  // namespace sextant::cli
