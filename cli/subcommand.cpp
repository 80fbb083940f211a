#include "cli/subcommand.hpp"

#include <CLI/App.hpp>

#include <utility>

namespace sextant::cli {

Action run_given(std::vector<Subcommand> subcommands) {
    return [subcommands = std::move(subcommands)] {
        for (Subcommand const& subcommand : subcommands)
            if (subcommand.app->parsed()) return subcommand.run();
        return exit_code::our_bug;  // require_subcommand lets none through
    };
}

}  // namespace sextant::cli
