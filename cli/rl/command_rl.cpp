#include "cli/interrupt.hpp"
#include "cli/output.hpp"
#include "cli/rl/options.hpp"
#include "cli/rl/rows_view.hpp"
#include "cli/rl/view.hpp"

#include <CLI/App.hpp>

#include <memory>

namespace sextant::cli {
namespace {

struct Options {
    RlOptions rl;
    std::string measured;
    OutputOptions output;
};

/// Published steps against what is said of them.
int measured_steps(Options const& o, CommandContext& context) {
    Format const format = o.output.format();
    double const variation = o.rl.variation.value_or(assumed_variation);
    check_lengths({.kind = LengthKind::lognormal, .mean = 1, .variation = variation, .maximum = 1});
    std::vector<RlRow> const rows = predict_rl_rows(read_csv(o.measured), variation, rl_overheads_from(o.rl.overheads));
    switch (format) {
        case Format::json: deliver(o.output, context, rl_rows_json(rows)); break;
        case Format::text: deliver(o.output, context, rl_rows_text(rows)); break;
        default: deliver(o.output, context, render(rl_rows_table(rows), format)); break;
    }
    return exit_code::done;
}

int rl(Options const& o, CommandContext& context) {
    if (!o.measured.empty()) return measured_steps(o, context);
    Format const format = o.output.format();
    RlQuestion question = rl_question(o.rl);
    InterruptGuard const interrupt(context);
    question.machine.stop = &interrupt.flag();
    RlSearch search = rl_search(o.rl, question);
    search.stop = [&interrupt] { return interrupt.flag().load(std::memory_order_relaxed); };
    RlPlanner planner(question);
    RlReport const report{.question = question,
                          .search = search,
                          .answer = search_rl(planner, search),
                          .longest = longest_of(question.lengths, question.responses()),
                          .longest_of_group = longest_of_group(planner.lengths(), question.whole_group())};
    switch (format) {
        case Format::json: deliver(o.output, context, rl_json(report)); break;
        case Format::text: deliver(o.output, context, rl_text(report)); break;
        default:
            deliver(o.output, context,
                    render(rl_table(report), format,
                           {{"model", report.question.policy.name},
                            {"cluster", report.question.machine.cluster.name},
                            {"framework", report.question.machine.framework.name},
                            {"engine", report.question.engine.name}}));
            break;
    }
    if (report.answer.interrupted) return interrupted_exit;
    return report.answer.best() != nullptr ? exit_code::done : exit_code::answer_is_no;
}

Action describe(CLI::App& app, CommandContext& context) {
    auto const o = std::make_shared<Options>();
    add_rl_options(app, o->rl);
    app.add_option("--measured", o->measured,
                   "predict the published steps of a table (docs/rl.md) and compare; of the others only --variation "
                   "and --overheads count")
        ->option_text("FILE.csv");
    add_output_options(app, o->output);
    app.footer(
        "A step: engines generate responses, the trainer scores them and updates the weights, the engines get these.\n"
        "Degrees such as --tp and --zero are the trainer's; those of the engines begin with --rollout. docs/rl.md has\n"
        "the formulas. Exit code 1 when nothing fits.\n\nExamples:\n"
        "  sextant rl -m llama-3.1-8b -c h100-sxm -n 16 --prompts 64 --group 32 --prompt-tokens 130 \\\n"
        "      --output-tokens 1060 --max-output 3966 --global-batch 512\n"
        "  sextant rl -m qwen3-32b -c h100-sxm -n 64 --prompts 128 --prompt-tokens 500 --output-tokens 6000 \\\n"
        "      --staleness 2 --staleness-penalty 0.02\n"
        "  sextant rl -m llama-2-7b -c a100-sxm-80gb -n 16 --algorithm ppo --prompts 1024 --prompt-tokens 512 \\\n"
        "      --output-tokens 512 --max-output 1024 --reward-model llama-2-7b --mode colocated --format json\n"
        "  sextant rl --measured steps.csv\n");
    return [o, &context] { return rl(*o, context); };
}

}  // namespace

extern constinit CommandEntry const rl_command;
constinit CommandEntry const rl_command{
    .name = "rl",
    .summary = "reinforcement learning: generation, scoring, training, weight sync; division of GPUs; asynchrony",
    .describe = describe,
};

}  // namespace sextant::cli
