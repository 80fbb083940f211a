#include "cli/command.hpp"
#include "cli/scaling/subcommand.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <vector>

namespace sextant::cli {
namespace {

Action describe(CLI::App& app, CommandContext& context) {
    auto const subcommands = std::make_shared<std::vector<ScalingSubcommand>>();
    subcommands->push_back(describe_scaling_fit(app, context));
    subcommands->push_back(describe_scaling_optimum(app, context));
    subcommands->push_back(describe_scaling_predict(app, context));
    subcommands->push_back(describe_scaling_laws(app, context));
    app.require_subcommand(1);
    app.footer(
        "Formulas, sources and what is contested: docs/scaling.md. Every subcommand has a --help of its own.\n\n"
        "Examples:\n"
        "  sextant scaling fit --law chinchilla --data runs.csv --n params --d tokens --loss loss\n"
        "  sextant scaling optimum --flops 5.76e23\n"
        "  sextant scaling optimum --dollars 1e6 --cluster h100-sxm --mfu 0.4\n"
        "  sextant scaling predict --params 70B --tokens 1.4T\n"
        "  sextant scaling laws\n");
    return [subcommands] {
        for (ScalingSubcommand const& subcommand : *subcommands)
            if (subcommand.app->parsed()) return subcommand.run();
        return exit_code::our_bug;  // require_subcommand lets none through
    };
}

}  // namespace

extern constinit CommandEntry const scaling_command;
constinit CommandEntry const scaling_command{
    .name = "scaling",
    .summary = "scaling laws: which N and D for a budget, what loss a run will have, what the laws disagree about",
    .describe = describe,
};

}  // namespace sextant::cli
