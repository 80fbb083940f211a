#include "cli/interrupt.hpp"
#include "cli/options/written_file.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/run_plan/options.hpp"
#include "cli/run_plan/view.hpp"
#include "core/error.hpp"
#include "core/json/text_file.hpp"
#include "core/quantity_text.hpp"
#include "planner/explain.hpp"

#include <CLI/App.hpp>

#include <memory>

namespace sextant::cli {
namespace {

struct Options {
    RunPlanOptions run;
    OutputOptions output;
    std::string plot;
    std::string model_file;
    bool explain = false;
    bool progress = false;
};

/// 6 N D, if it was asked for and the number of accelerators is known.
void add_plain(RunPlanReport& report, RunPlanOptions const& o) {
    if (o.mfu.empty()) return;
    double const mfu = share_or_percent(o.mfu, "--mfu");
    RunAnswer const& answer = report.answer;
    std::int64_t const accelerators =
        answer.run ? answer.run->step.accelerators : report.question.accelerators.value_or(0);
    if (accelerators == 0 || !(answer.tokens > 0)) return;
    FlopsPerSecond const peak =
        report.setting.cluster.accelerator.peak_of(report.setting.constraints.base.precision).value;
    report.plain =
        PlainArithmetic{.parameters = report.question.model ? named_parameters(answer.model) : answer.parameters,
                        .tokens = answer.tokens,
                        .mfu = mfu,
                        .peak = peak,
                        .accelerators = static_cast<double>(accelerators)};
    if (answer.run) report.difference = explain_difference(*report.plain, answer.model, *answer.run);
}

void write_plot(Options const& o, RunPlanReport const& report) {
    if (o.plot.empty() || !report.curve) return;
    write_text_file(
        o.plot, curve_svg(*report.curve, fmt::format("{}, {} tokens, {}", report.answer.model.name,
                                                     human_count(report.answer.tokens), report.setting.cluster.name)));
}

/// Degrees that the model or the machine cannot have are a fault of the question; searches over sizes take them for a
/// size at which nothing is found. @throws InputError as 'sextant plan' does
void require_searchable(RunSetting const& setting, RunQuestion const& q) {
    if (!q.model || !q.accelerators || q.budget) return;
    double const tokens = q.tokens.value_or(20 * named_parameters(*q.model));
    static_cast<void>(make_search_space(*q.model, run_workload(setting, *q.model, tokens), setting.cluster,
                                        *q.accelerators, setting.constraints));
}

/// Both tables, the answer first.
std::string run_plan_markdown(RunPlanReport const& report) {
    std::string text = run_figures_table(report).markdown();
    if (report.curve) text += "\n" + curve_table(*report.curve).markdown();
    return text + assumed_markdown(run_assumptions(report));
}

/// Whether the report has a place for a curve that is usual and was not asked for.
bool shows_usual_curve(Options const& o, Format format) { return format != Format::csv || !o.plot.empty(); }

int run_plan(Options const& o, CommandContext& context) {
    Format const format = o.output.format();
    RunSetting setting = run_setting(o.run);
    RunQuestion const question = run_question(o.run, setting);
    std::vector<std::int64_t> counts = curve_counts(o.run, setting, question);
    bool const curve_asked = !o.run.curve.empty() && !counts.empty();
    if (!curve_asked && !shows_usual_curve(o, format)) counts.clear();
    if (!o.plot.empty() && counts.empty()) throw InputError("--plot: there is no scaling curve (--curve 8,64,512)");
    if (!o.run.mfu.empty()) static_cast<void>(share_or_percent(o.run.mfu, "--mfu"));
    if (!o.run.mfu.empty() && setting.constraints.base.adapters.on())
        throw InputError("--mfu: 6 N D is the work of training every weight, not of adapters (without --lora-rank)");
    if (!o.model_file.empty() && question.model)
        throw InputError("--write-model: {} has a configuration (only for a shape that is chosen)",
                         question.model->name);
    require_searchable(setting, question);
    double const pays_above = share_or_percent(o.run.pays_above, "--pays-above");

    InterruptGuard const interrupt(context);
    setting.stop = &interrupt.flag();
    ProgressLine progress(context, o.progress ? Progress::always : Progress::on_terminals);
    if (progress.shown())
        setting.progress = [&progress](std::string const& what) { progress.show("searching: " + what); };
    RunPlanReport report{.setting = setting,
                         .question = question,
                         .answer = answer_run(setting, question),
                         .plain = {},
                         .difference = {},
                         .curve = {},
                         .advice = {}};
    RunAnswer const& answer = report.answer;
    if (!counts.empty() && answer.tokens > 0 && !answer.interrupted) {
        report.curve = scaling_curve(setting, answer.model, answer.workload, answer.tokens, counts);
        report.curve->pays_above = pays_above;
        fill_efficiencies(*report.curve);
    }
    add_plain(report, o.run);
    report.advice = run_plan_advice(setting, question, answer);
    progress.clear();

    write_plot(o, report);
    if (!o.model_file.empty() && answer.parameters > 0) write_text_file(o.model_file, model_config_json(answer.model));
    constexpr std::size_t few = 3;
    switch (format) {
        case Format::json: deliver(o.output, context, run_plan_json(report)); break;
        case Format::text:
            deliver(o.output, context, run_plan_text(report, o.explain ? run_assumptions(report).size() : few));
            break;
        case Format::html: deliver(o.output, context, run_plan_page(report)); break;
        case Format::markdown: deliver(o.output, context, run_plan_markdown(report)); break;
        case Format::csv: deliver(o.output, context, run_plan_csv(report, curve_asked)); break;
    }
    if (answer.interrupted || (report.curve && report.curve->interrupted)) return interrupted_exit;
    return ends_in_time(question, answer) ? exit_code::done : exit_code::answer_is_no;
}

Action describe(CLI::App& app, CommandContext& context) {
    auto const o = std::make_shared<Options>();
    add_run_plan_options(app, o->run);
    written(app.add_option("--plot", o->plot, "the scaling curve as an SVG picture"))->option_text("FILE.svg");
    written(app.add_option("--write-model", o->model_file,
                           "the chosen shape as a config.json, for --model of other commands"))
        ->option_text("FILE.json");
    app.add_flag("--explain", o->explain, "every assumed value");
    app.add_flag("--progress", o->progress, "progress on standard error also when it is no terminal");
    add_output_options(app, o->output, formats_and_page);
    app.footer(
        "One budget, or a model with its tokens. Without --model the law chooses N and D, and a shape is chosen for\n"
        "N; the best plan is searched as 'sextant plan' does. docs/run-plan.md has the formulas. Exit code 1 when\n"
        "nothing fits or the deadline cannot be met; Ctrl-C reports what there is.\n\nExamples:\n"
        "  sextant run-plan --flops 1e24 --cluster h100-sxm --gpus 1024\n"
        "  sextant run-plan --dollars 2e6 --cluster h100-sxm\n"
        "  sextant run-plan --days 30 --gpus 1024 --cluster a100-sxm-80gb --law chinchilla-huber\n"
        "  sextant run-plan --model llama-2-70b --tokens 2T --gpus 1024 --cluster h100-sxm --mfu 0.5\n"
        "  sextant run-plan --model llama-3.1-8b --tokens 2T --gpus 256 --deadline 20d --cluster h100-sxm\n"
        "  sextant run-plan --model llama-3.1-70b --tokens 15T --deadline 60d --cluster h100-sxm --plot curve.svg\n");
    return [o, &context] { return run_plan(*o, context); };
}

}  // namespace

extern constinit CommandEntry const run_plan_command;
constinit CommandEntry const run_plan_command{
    .name = "run-plan",
    .summary = "from a budget to a run: model, tokens, plan, days, money, energy; or the fewest GPUs for a deadline",
    .describe = describe,
};

}  // namespace sextant::cli
