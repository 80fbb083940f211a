#include "cli/options/plan_options.hpp"
#include "cli/output.hpp"
#include "cli/plan/flops_view.hpp"
#include "core/spec/model_catalog.hpp"

#include <fmt/format.h>
#include <CLI/App.hpp>

#include <memory>

namespace sextant::cli {
namespace {

struct Options {
    PlanOptions plan;
    OutputOptions output;
};

int flops(Options const& options, CommandContext& context) {
    Format const format = options.output.format();
    ModelSpec const model = find_model(options.plan.model);
    Workload const workload = find_workload(options.plan, model);
    ParallelPlan const plan = single_plan(options.plan, nullptr);
    FlopsSheet const sheet{model, build_step_graph(model, plan, workload)};
    switch (format) {
        case Format::json: deliver(options.output, context, flops_json(sheet)); break;
        case Format::text: deliver(options.output, context, flops_text(sheet)); break;
        default:
            deliver(options.output, context,
                    render(flops_table(sheet), format,
                           {{"model", sheet.model.name},
                            {"seq", fmt::format("{}", sheet.graph.workload.sequence)},
                            {"global_batch", fmt::format("{}", sheet.graph.workload.global_batch)}}));
            break;
    }
    return exit_code::done;
}

Action describe(CLI::App& app, CommandContext& context) {
    auto const options = std::make_shared<Options>();
    add_plan_options(app, options->plan, Axes::single, Machine::none);
    add_adapter_options(app, options->plan);
    add_output_options(app, options->output);
    app.footer(
        "FLOPs and bytes are those of one rank and one microbatch, per op, then per stage and per step.\n\nExamples:\n"
        "  sextant flops --model gpt3-175b --seq 2048 --global-batch 1536\n"
        "  sextant flops --model mixtral-8x7b --tp 2 --ep 4 --dp 4 --seq 4096 --global-batch 64 --format csv\n");
    return [options, &context] { return flops(*options, context); };
}

}  // namespace

extern constinit CommandEntry const flops_command;
constinit CommandEntry const flops_command{
    .name = "flops",
    .summary = "FLOPs and bytes of every op, layer, stage and step, against the usual formulas",
    .describe = describe,
};

}  // namespace sextant::cli
