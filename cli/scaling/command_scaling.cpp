#include "cli/scaling/subcommand.hpp"

#include <CLI/App.hpp>

#include <utility>
#include <vector>

namespace sextant::cli {
namespace {

Action describe(CLI::App& app, CommandContext& context) {
    std::vector<Subcommand> subcommands{
        describe_scaling_fit(app, context),
        describe_scaling_optimum(app, context),
        describe_scaling_predict(app, context),
        describe_scaling_laws(app, context),
    };
    app.require_subcommand(1);
    app.footer(
        "Formulas, sources and what is contested: docs/scaling.md. Every subcommand has a --help of its own.\n\n"
        "Examples:\n"
        "  sextant scaling fit --law chinchilla --data runs.csv --n params --d tokens --loss loss\n"
        "  sextant scaling optimum --flops 5.76e23\n"
        "  sextant scaling optimum --dollars 1e6 --cluster h100-sxm --mfu 0.4\n"
        "  sextant scaling predict --params 70B --tokens 1.4T\n"
        "  sextant scaling laws\n");
    return run_given(std::move(subcommands));
}

}  // namespace

extern constinit CommandEntry const scaling_command;
constinit CommandEntry const scaling_command{
    .name = "scaling",
    .summary = "scaling laws: which N and D for a budget, what loss a run will have, what the laws disagree about",
    .describe = describe,
};

}  // namespace sextant::cli
