#include "cli/scaling/fit.hpp"

#include "cli/interrupt.hpp"
#include "cli/options/seed_option.hpp"
#include "cli/options/written_file.hpp"
#include "cli/progress.hpp"
#include "cli/scaling/pages.hpp"
#include "cli/scaling/subcommand.hpp"
#include "core/error.hpp"
#include "core/json/text_file.hpp"

#include <fmt/format.h>
#include <CLI/App.hpp>

#include <memory>
#include <ostream>

namespace sextant::cli {
namespace {

constexpr int most_resamples = 100000;
constexpr int most_starts = 100000;

struct ColumnFlag {
    char const* flags;
    char const* part;
    char const* what;
};
constexpr ColumnFlag column_flags[] = {
    {"--n", "parameters", "column of the model sizes"},
    {"--d", "tokens", "column of the training tokens"},
    {"--flops,--c", "flops", "column of the training compute"},
    {"--loss", "loss", "column of the loss"},
    {"--unique", "unique_tokens", "column of the unique tokens (data-constrained)"},
    {"--experts", "experts", "column of the number of experts (moe-routed, moe-bilinear)"},
    {"--granularity", "granularity", "column of the granularity (moe-granularity)"},
    {"--weight-bits", "weight_bits", "column of the bits of weights (precision)"},
    {"--activation-bits", "activation_bits", "column of the bits of activations (precision)"},
    {"--cache-bits", "cache_bits", "column of the bits of the KV cache (precision)"},
    {"--batch", "batch", "column of the batch (critical-batch, lr-batch)"},
    {"--steps", "steps", "column of the steps to a loss (critical-batch)"},
    {"--lr", "learning_rate", "column of the learning rate (lr-batch)"},
    {"--weight", "weight", "column of the weight of each row (of the squares)"},
    {"--sd", "sd", "column of the standard deviation of ln N* (allocation)"},
};

void add_column_options(CLI::App& app, std::shared_ptr<ScalingFitRequest> const& request) {
    for (ColumnFlag const& flag : column_flags)
        app.add_option_function<std::string>(
               flag.flags, [request, flag](std::string const& column) { request->columns[flag.part] = column; },
               flag.what)
            ->option_text("COLUMN")
            ->group("Columns (usual names are found without)");
    app.add_option("--where", request->conditions,
                   "only rows that meet it: COLUMN=VALUE, =A|B (one of them), != < <= > >=; may be repeated")
        ->option_text("CONDITION")
        ->group("Columns (usual names are found without)");
}

void add_fit_options(CLI::App& app, ScalingFitRequest& r) {
    app.add_option("--objective", r.objective,
                   "what is made small: huber[:DELTA], lad, lsq-log, lsq-raw, asymmetric[:PENALTY[:DELTA]] (default: "
                   "huber:0.001)")
        ->option_text("NAME");
    app.add_option("--fix", r.fixed, "hold a parameter at a value; may be repeated")->option_text("NAME=VALUE");
    app.add_option("--tie", r.tied, "one exponent equal to another; may be repeated")->option_text("beta=alpha");
    app.add_option("--base", r.base,
                   "data-constrained: the law whose A, B, E, alpha, beta are held (default: muennighoff-c4)")
        ->option_text("NAME|FILE|free");
    app.add_option("--starts", r.starts, "starts that are solved, the best of the screened ones (default: 10)")
        ->option_text("N");
    app.add_option("--bootstrap", r.resamples, "resamples for the intervals, 0 for none (default: 1000)")
        ->option_text("N");
    app.add_option("--bootstrap-by", r.group, "draw whole groups of rows with the same value here, not single rows")
        ->option_text("COLUMN");
    add_seed_option(app, r.seed, "of the resamples (default: 1)");
    app.add_option("--threads", r.threads, "0: all cores (default: 0)")->option_text("N");
    app.add_option("--at", r.at,
                   "compute at which tokens per parameter and losses are given (default: ten times the largest run)")
        ->option_text("FLOPS");
    app.add_option("--cutoff", r.cuts, "back-test: fit below these computes, judge above (default: powers of ten)")
        ->option_text("FLOPS[,FLOPS...]");
    app.add_flag("--quick", r.quick, "without profiles, other objectives, influence and back-test");
    written(app.add_option("--plot", r.plot, "write the losses and the curve as a picture"))->option_text("FILE.svg");
}

void add_curve_options(CLI::App& app, ScalingFitRequest& r) {
    char const* const group = "isoflop, envelope, critical-batch, lr-batch";
    app.add_option("--budgets", r.budgets, "compute levels of isoflop (default: where rows gather)")
        ->option_text("FLOPS[,FLOPS...]")
        ->group(group);
    app.add_option("--budget-tolerance", r.budget_tolerance,
                   "decades within which a row belongs to a level (default: 0.05)")
        ->option_text("DECADES")
        ->group(group);
    app.add_option("--window", r.window, "decades of size around the lowest loss that count, or all (default: all)")
        ->option_text("DECADES|all")
        ->group(group);
    app.add_option("--parabola-of", r.parabola_of, "loss or log-loss (default: loss)")
        ->option_text("NAME")
        ->group(group);
    app.add_option("--levels", r.levels, "compute levels of the envelope (default: 200)")
        ->option_text("N")
        ->group(group);
    app.add_option("--size-tolerance", r.size_tolerance,
                   "share by which rows of one training curve differ in size (default: 0.001)")
        ->option_text("SHARE")
        ->group(group);
    app.add_option("--overhead", r.overhead, "critical-batch: share of steps beyond linear scaling (default: 0.2)")
        ->option_text("SHARE")
        ->group(group);
    app.add_option("--linear-from", r.linear_from, "critical-batch: batch that linear scaling begins at (default: 256)")
        ->option_text("BATCH")
        ->group(group);
    app.add_option("--flat", r.flat, "lr-batch: share above the lowest loss that counts as equal (default: 0.0025)")
        ->option_text("SHARE")
        ->group(group);
}

/// Flags that only some laws read: with another law they would be ignored, so they are refused.
void refuse_idle_flags(CLI::App const& app, std::string const& law) {
    struct Use {
        char const* flag;
        std::string_view laws;
    };
    constexpr Use uses[] = {{"--budgets", "isoflop"},         {"--budget-tolerance", "isoflop"},
                            {"--window", "isoflop"},          {"--parabola-of", "isoflop"},
                            {"--levels", "envelope"},         {"--size-tolerance", "envelope"},
                            {"--overhead", "critical-batch"}, {"--linear-from", "critical-batch"},
                            {"--flat", "lr-batch"},           {"--base", "data-constrained"}};
    for (Use const& use : uses)
        if (law != use.laws && app.get_option(use.flag)->count() > 0)
            throw InputError("{}: the law '{}' has no use for it ('{}' has)", use.flag, law, use.laws);
}

void check(ScalingFitRequest const& r) {
    if (r.resamples < 0 || r.resamples > most_resamples)
        throw InputError("--bootstrap: {} (0 to {})", r.resamples, most_resamples);
    if (r.starts < 1 || r.starts > most_starts) throw InputError("--starts: {} (1 to {})", r.starts, most_starts);
    if (r.threads > 1024) throw InputError("--threads: {} (0 to 1024)", r.threads);
}

/// A law whose loss rises with size, tokens or compute is no law: the best fit of rows that have none.
std::string rising_exponent(ScalingFitReport const& report) {
    LawForm const& form = *report.study->problem.form;
    for (std::size_t k = 0; k < form.parameters.size(); ++k) {
        LawParameter const& p = form.parameters[k];
        if (p.role == LawRole::shape && p.scale == LawScale::linear && report.study->fit.values[k] <= 0)
            return fmt::format(
                "{}: the best fit of '{}' has {} = {:.3g}, so the loss would not fall: the law does not describe these "
                "rows\n",
                report.table.name, report.law, p.name, report.study->fit.values[k]);
    }
    return {};
}

int run(ScalingFitRequest const& request, CommandContext& context) {
    Format const format = request.output.format();
    check(request);
    InterruptGuard const interrupt(context);
    ScalingFitReport report =
        fit_scaling_law(request, interrupt.flag(), progress_lines(context, Progress::on_terminals));
    if (interrupt.flag())
        report.warnings.push_back(fmt::format("interrupted: intervals stand on {} of {} resamples",
                                              report.resamples.size(), request.resamples));
    if (report.study && !report.study->fit.converged) {
        context.err << fmt::format(
            "{}: the fit of '{}' did not converge from any of {} starts, so there are no parameters to show\n",
            request.data, request.law, report.study->fit.starts);
        for (std::string const& warning : report.warnings)
            context.err << "  " << warning << "\n";
        return exit_code::answer_is_no;
    }
    if (std::string const problem = report.study ? rising_exponent(report) : std::string(); !problem.empty()) {
        context.err << problem;
        for (std::string const& warning : report.warnings)
            context.err << "  " << warning << "\n";
        return exit_code::answer_is_no;
    }
    if (!request.plot.empty()) write_text_file(request.plot, scaling_fit_svg(report));
    switch (format) {
        case Format::json: deliver(request.output, context, scaling_fit_json(report)); break;
        case Format::text: deliver(request.output, context, scaling_fit_text(report)); break;
        case Format::html: deliver(request.output, context, scaling_fit_page(report)); break;
        default: deliver(request.output, context, render(scaling_fit_table(report), format)); break;
    }
    return interrupt.flag() ? interrupted_exit : exit_code::done;
}

}  // namespace

Subcommand describe_scaling_fit(CLI::App& scaling, CommandContext& context) {
    auto const request = std::make_shared<ScalingFitRequest>();
    CLI::App& app =
        *scaling.add_subcommand("fit", "fit a law to losses (or steps, or learning rates) that were measured");
    std::string laws = "the law:";
    for (FittableLaw const& law : fittable_laws())
        laws += fmt::format("\n{} - {}", law.name, law.what);
    app.add_option("--law", request->law, laws)->required()->option_text("NAME");
    app.add_option("--data", request->data, "a table with a header; empty cells and NaN leave a row out")
        ->required()
        ->option_text("FILE.csv");
    add_column_options(app, request);
    add_fit_options(app, *request);
    add_curve_options(app, *request);
    add_output_options(app, request->output, formats_and_page);
    app.footer(
        "Starts are screened on a grid and the best are solved; the report says how many agree and what other minima "
        "lie\n"
        "within 1 %. Intervals are of the bootstrap; profile intervals say what the rows do not identify. The json "
        "report\n"
        "is a law file that --law of optimum, predict and run-plan takes. Exit code 1: no convergence. "
        "docs/scaling.md.\n\n"
        "Examples:\n"
        "  sextant scaling fit --law chinchilla --data runs.csv\n"
        "  sextant scaling fit --law chinchilla --data runs.csv --n size --d tokens --loss val_loss --where "
        "'val_loss<5'\n"
        "  sextant scaling fit --law isoflop --data runs.csv --flops compute --window 0.5 --plot isoflop.svg\n"
        "  sextant scaling fit --law chinchilla --data runs.csv --format json --output law.json\n"
        "  sextant scaling optimum --law law.json --flops 1e24\n");
    return {.app = &app, .run = [request, &app, &context] {
                refuse_idle_flags(app, request->law);
                return run(*request, context);
            }};
}

}  // namespace sextant::cli
