#pragma once

#include "cli/command.hpp"

namespace sextant::cli {

/// `sextant export serve`: the command that starts a serving engine.
struct ExportServe {
    CLI::App* app = nullptr;
    Action run;
};
ExportServe describe_export_serve(CLI::App& app, CommandContext& context);

}  // namespace sextant::cli
