#include "cli/serve/subcommand.hpp"

#include <CLI/App.hpp>

#include <utility>
#include <vector>

namespace sextant::cli {
namespace {

Action describe(CLI::App& app, CommandContext& context) {
    std::vector<Subcommand> subcommands{
        describe_serve_estimate(app, context),
        describe_serve_simulate(app, context),
        describe_serve_plan(app, context),
        describe_serve_quality(app, context),
    };
    app.require_subcommand(1);
    app.footer(
        "What is modelled, and what is not: docs/serving.md. Every subcommand has a --help of its own.\n\n"
        "Examples:\n"
        "  sextant serve estimate --model llama-3.1-70b --cluster h100-sxm --tp 4 --prompt 2000 --output-tokens 300\n"
        "  sextant serve plan --model llama-3.1-70b --cluster h100-sxm,h200-sxm --rate 20 --ttft 2s --tpot 50ms\n");
    return run_given(std::move(subcommands));
}

}  // namespace

extern constinit CommandEntry const serve_command;
constinit CommandEntry const serve_command{
    .name = "serve",
    .summary = "serving: time to first token, time per token, throughput, cost; the cheapest deployment",
    .describe = describe,
};

}  // namespace sextant::cli
