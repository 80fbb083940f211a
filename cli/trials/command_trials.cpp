#include "cli/trials/subcommand.hpp"

#include <CLI/App.hpp>

#include <utility>
#include <vector>

namespace sextant::cli {
namespace {

Action describe(CLI::App& app, CommandContext& context) {
    std::vector<Subcommand> subcommands{
        describe_trials_budget(app, context),
        describe_trials_schedule(app, context),
        describe_trials_transfer(app, context),
    };
    app.require_subcommand(1);
    app.footer(
        "Methods, formulas and sources: docs/trials.md. Every subcommand has a --help of its own.\n\nExamples:\n"
        "  sextant trials budget --trials 81 --full 81\n"
        "  sextant trials budget --parameters 1B --tokens 20B --cluster h100-sxm --gpus 64 --gpus-per-trial 8\n"
        "  sextant trials schedule --tokens 1T --lr 3e-4 --shape wsd --batch 4M --warmup-steps 2000\n"
        "  sextant trials transfer --parameters 70B --tokens 15T\n");
    return run_given(std::move(subcommands));
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
