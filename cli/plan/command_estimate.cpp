#include "cli/export/plan_import.hpp"
#include "cli/options/number_text.hpp"
#include "cli/options/plan_options.hpp"
#include "cli/output.hpp"
#include "cli/plan/pages.hpp"
#include "cli/plan/report_view.hpp"
#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "planner/explain.hpp"
#include "planner/measured_gap.hpp"
#include "planner/not_expressed.hpp"

#include <CLI/App.hpp>

#include <memory>
#include <optional>

namespace sextant::cli {
namespace {

struct Options {
    PlanOptions plan;
    OutputOptions output;
    bool explain = false;
    std::string measured_time;
    std::optional<double> measured_mfu, measured_tokens;
};

/// Seconds of a step that ran; nothing where none is given.
std::optional<Seconds> measured_step(Options const& o, StepReport const& report) {
    if (!o.measured_time.empty() + o.measured_mfu.has_value() + o.measured_tokens.has_value() > 1)
        throw InputError("{}: says what {} says (give one)", o.measured_mfu ? "--measured-mfu" : "--measured-tokens",
                         o.measured_time.empty() ? "--measured-tokens" : "--measured-time");
    if (o.measured_tokens) {
        if (!(*o.measured_tokens > 0) || *o.measured_tokens > 1e9)
            throw InputError("--measured-tokens: {:g} is out of range (above 0, up to 1e9, per accelerator and second)",
                             *o.measured_tokens);
        double const predicted = report.tokens_per_second / static_cast<double>(report.accelerators);
        return report.estimate.time * (predicted / *o.measured_tokens);
    }
    if (o.measured_mfu) return report.estimate.time * (report.mfu / share_from(*o.measured_mfu, "--measured-mfu"));
    if (o.measured_time.empty()) return {};
    auto const time = parse_quantity<Seconds>(o.measured_time, "--measured-time");
    if (!(time > Seconds{}) || time > 1e6 * units::s)
        throw InputError("--measured-time: '{}' is out of range (above 0, up to 1e6 s)", o.measured_time);
    return time;
}

int estimate(Options const& options, CLI::App const& app, CommandContext& context) {
    Format const format = options.output.format();
    PlanOptions const asked = with_import(options.plan, app, context);
    Subject const subject = find_subject(asked);
    ParallelPlan const plan = single_plan(asked, subject);
    ClosedForm form(subject.model, subject.workload, subject.cluster, subject.framework, plan.precision);
    StepReport report = make_report(form, plan, subject.limit);
    report.not_expressed = not_expressed(subject.model, subject.cluster, subject.framework, subject.workload, plan);
    if (auto const measured = measured_step(options, report)) report.measured = measured_gap(report, form, *measured);
    PlanQuestion const question{subject.model, subject.cluster, subject.framework, subject.workload};
    std::vector<std::string> const reasons = options.explain ? explain(report, form) : std::vector<std::string>{};
    switch (format) {
        case Format::json: deliver(options.output, context, step_report_json(question, report, reasons)); break;
        case Format::text:
            deliver(options.output, context, estimate_text(question, report, reasons) + better_plan_line(asked, app));
            break;
        case Format::html: deliver(options.output, context, estimate_page(question, report, reasons)); break;
        case Format::markdown:
            deliver(options.output, context,
                    headline(question, report.accelerators, plan.precision) + "\n\n" +
                        refusal_markdown(subject.framework, report.not_expressed) + estimate_table(report).markdown() +
                        measured_markdown(report) + assumed_markdown(all_assumptions(report)));
            break;
        case Format::csv: deliver(options.output, context, estimate_table(question, report).csv()); break;
    }
    return report.fits ? exit_code::done : exit_code::answer_is_no;
}

Action describe(CLI::App& app, CommandContext& context) {
    auto const options = std::make_shared<Options>();
    add_plan_options(app, options->plan, Axes::single);
    add_adapter_options(app, options->plan);
    add_import_options(app, options->plan);
    app.add_flag("--explain", options->explain, "say what binds the plan, what would move it, and every assumed value");
    app.add_option("--measured-time", options->measured_time,
                   "how long a step of this plan took: how far the prediction is off, and what would explain it")
        ->option_text("TIME");
    app.add_option("--measured-mfu", options->measured_mfu,
                   "the same by the MFU that it reached, as MFU is counted here")
        ->option_text("SHARE");
    app.add_option("--measured-tokens", options->measured_tokens,
                   "the same by the tokens per second of one accelerator, as logs of FSDP, torchtitan and MaxText have "
                   "them")
        ->option_text("NUMBER");
    add_output_options(app, options->output, formats_and_page);
    app.footer(
        "Exit code 1 when the plan does not fit into memory.\n\nExamples:\n"
        "  sextant estimate --model llama-3.1-70b --cluster h100-sxm --gpus 64 --tp 8 --pp 2 --explain\n"
        "  sextant estimate --model gpt3-175b --cluster a100-sxm-80gb --gpus 512 --tp 8 --pp 8 --vpp 3 --global-batch "
        "1024 --seq 2048 \\\n"
        "                   --no-flash-attention --recompute selective --dropout\n"
        "  sextant estimate --model path/to/config.json --cluster h200-sxm --tp 2 --dp 4 --zero 3 --framework fsdp "
        "--format json\n"
        "  sextant estimate --model llama-2-70b --cluster h100-sxm --tp 8 --pp 4 --dp 4 --global-batch 512 "
        "--measured-mfu 31%\n"
        "  sextant estimate --model llama-3.1-8b --cluster h100-sxm --lora-rank 16 --base-weights nf4 --recompute full "
        "--global-batch 16\n"
        "  sextant estimate --model llama-3.1-70b --cluster h100-sxm --from-megatron train.sh --gpus 64\n");
    return [options, &app, &context] { return estimate(*options, app, context); };
}

}  // namespace

extern constinit CommandEntry const estimate_command;
constinit CommandEntry const estimate_command{
    .name = "estimate",
    .summary = "how fast one plan runs, how much memory it takes, and why",
    .describe = describe,
};

}  // namespace sextant::cli
