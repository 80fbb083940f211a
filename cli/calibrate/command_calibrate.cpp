#include "cli/calibrate/subcommand.hpp"

#include <CLI/App.hpp>

#include <utility>
#include <vector>

namespace sextant::cli {
namespace {

Action describe(CLI::App& app, CommandContext& context) {
    std::vector<Subcommand> subcommands{
        describe_calibrate_run(app, context),  describe_calibrate_import(app, context),
        describe_calibrate_fit(app, context),  describe_calibrate_report(app, context),
        describe_calibrate_diff(app, context),
    };
    app.require_subcommand(1);
    app.footer(
        "Measure, fit, look, use: docs/calibration.md. Every subcommand has a --help of its own.\n\nExamples:\n"
        "  sextant calibrate run --out rows.csv --describe-host host.json\n"
        "  sextant calibrate fit --kernels rows.csv --device host.json --out mine.json\n"
        "  sextant calibrate report mine.json --rows rows.csv --device host.json\n"
        "  sextant validate kernels rows.csv --profile host.json --calibration mine.json\n");
    return run_given(std::move(subcommands));
}

}  // namespace

extern constinit CommandEntry const calibrate_command;
constinit CommandEntry const calibrate_command{
    .name = "calibrate",
    .summary = "measure a machine, fit the cost models to it, and see how well they hold",
    .describe = describe,
};

}  // namespace sextant::cli
