#include "cli/trials/subcommand.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <vector>

namespace sextant::cli {
namespace {

Action describe(CLI::App& app, CommandContext& context) {
    auto const subcommands = std::make_shared<std::vector<TrialsSubcommand>>();
    subcommands->push_back(describe_trials_budget(app, context));
    subcommands->push_back(describe_trials_schedule(app, context));
    subcommands->push_back(describe_trials_transfer(app, context));
    app.require_subcommand(1);
    app.footer(
        "Methods, formulas and sources: docs/trials.md. Every subcommand has a --help of its own.\n\nExamples:\n"
        "  sextant trials budget --trials 81 --full 81\n"
        "  sextant trials budget --parameters 1B --tokens 20B --cluster h100-sxm --gpus 64 --gpus-per-trial 8\n"
        "  sextant trials schedule --tokens 1T --lr 3e-4 --shape wsd --batch 4M --warmup-steps 2000\n"
        "  sextant trials transfer --parameters 70B --tokens 15T\n");
    return [subcommands] {
        for (TrialsSubcommand const& subcommand : *subcommands)
            if (subcommand.app->parsed()) return subcommand.run();
        return exit_code::our_bug;  // require_subcommand lets none through
    };
}

}  // namespace

extern constinit CommandEntry const trials_command;
constinit CommandEntry const trials_command{
    .name = "trials",
    .summary =
        "tuning budgets (ASHA, Hyperband, PBT, ...) in units, money and days; calendars of learning rate and batch",
    .describe = describe,
};

}  // namespace sextant::cli
