#include "cli/scaling/optimum.hpp"

#include "cli/options/written_file.hpp"
#include "cli/scaling/optimum_options.hpp"
#include "cli/scaling/optimum_svg.hpp"
#include "cli/scaling/pages.hpp"
#include "cli/scaling/subcommand.hpp"
#include "core/json/text_file.hpp"

#include <CLI/App.hpp>

#include <memory>

namespace sextant::cli {
namespace {

using Options = OptimumOptions;

int optimum(Options const& o, CommandContext& context) {
    Format const format = o.output.format();
    OptimumReport const report = answer_optimum(o);
    if (!o.plot.empty()) write_text_file(o.plot, optimum_svg(report));
    switch (format) {
        case Format::json: deliver(o.output, context, optimum_json(report)); break;
        case Format::text: deliver(o.output, context, optimum_text(report)); break;
        case Format::html: deliver(o.output, context, scaling_optimum_page(report)); break;
        default: deliver(o.output, context, render(optimum_table(report), format)); break;
    }
    return exit_code::done;
}

void add_options(CLI::App& app, Options& o) {
    app.add_option("--flops", o.flops, "compute 6 N D; a list, or 1e21..1e25")
        ->option_text("C[,C...]")
        ->group("Budget");
    app.add_option("--dollars", o.dollars, "money for accelerators (with --cluster)")
        ->option_text("USD")
        ->group("Budget");
    app.add_option("--days", o.days, "time (with --cluster and --gpus)")->option_text("D")->group("Budget");
    app.add_option("--loss", o.loss, "the loss to reach, nats per token")->option_text("L")->group("Budget");
    app.add_option("--law", o.laws, "whose constants; several are compared, the first answers (see 'scaling laws')")
        ->option_text("NAME|FILE.json[,...]");
    add_machine_options(app, o.machine);
    app.add_option("--tokens-per-parameter", o.ratio, "the rule of thumb to compare with (default: 20)")
        ->option_text("R");
    app.add_option("--inference-tokens", o.inference_tokens,
                   "tokens the model will generate: the optimum over its life")
        ->option_text("T")
        ->group("Use");
    app.add_option("--prefill-tokens", o.prefill_tokens, "tokens it will read")->option_text("T")->group("Use");
    app.add_option("--inference-price", o.inference_price, "US dollars per accelerator and hour of serving")
        ->option_text("USD")
        ->group("Use");
    app.add_option("--prefill-mfu", o.prefill_mfu, "useful FLOPs over peak while reading")
        ->option_text("SHARE")
        ->group("Use");
    app.add_option("--decode-mfu", o.decode_mfu, "useful FLOPs over peak while generating")
        ->option_text("SHARE")
        ->group("Use");
    app.add_option("--unique-tokens", o.unique_tokens, "tokens there are: how often to repeat them")->option_text("U");
    add_positive(app, "--experts", o.experts, "experts per layer")->option_text("E");
    add_positive(app, "--bits", o.bits, "of weights, activations and cache in training (shape only)")->option_text("P");
    app.add_option("--context", o.context, "tokens per sequence: what attention takes of the budget")->option_text("S");
    app.add_option("--model", o.model, "whose proportions, for --context")->option_text("NAME|config.json");
    app.add_option("--batch", o.batch, "tokens per step: what it costs in steps and data")->option_text("B");
    app.add_option("--counting", o.counting, "what C counts: total, or Kaplan's non-embedding (default: total)")
        ->option_text("RULE");
    written(app.add_option("--plot", o.plot, "draw lines of equal loss, budgets and optima there"))
        ->option_text("FILE.svg");
    add_output_options(app, o.output, formats_and_page);
}

}  // namespace

Subcommand describe_scaling_optimum(CLI::App& scaling, CommandContext& context) {
    auto const o = std::make_shared<Options>();
    CLI::App& app = *scaling.add_subcommand("optimum", "N, D and loss for a budget of compute, money, time or loss");
    add_options(app, *o);
    app.footer(
        "Intervals are percentiles over bootstrap resamples of a law that has them; other laws lie outside.\n"
        "Sizes take K, M, B, T.\n\nExamples:\n"
        "  sextant scaling optimum --flops 5.76e23\n"
        "  sextant scaling optimum --flops 1e21..1e25 --law chinchilla-huber\n"
        "  sextant scaling optimum --dollars 1e6 --cluster h100-sxm --price 2.50 --mfu 0.4\n"
        "  sextant scaling optimum --gpus 1024 --days 30 --cluster h100-sxm --inference-tokens 10T\n"
        "  sextant scaling optimum --loss 2.0 --law mine.json --format json\n"
        "  sextant scaling optimum --flops 9.3e21 --unique-tokens 25B\n");
    return {.app = &app, .run = [o, &context] { return optimum(*o, context); }};
}

}  // namespace sextant::cli
