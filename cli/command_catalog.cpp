#include "cli/command.hpp"

#include <array>

namespace sextant::cli {

extern constinit CommandEntry const hardware_command;

namespace {

constexpr std::array catalog{
    &hardware_command,
};

}  // namespace

std::span<CommandEntry const* const> command_catalog() { return catalog; }

}  // namespace sextant::cli
