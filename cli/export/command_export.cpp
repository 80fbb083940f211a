#include "cli/export/plan_file.hpp"
#include "cli/export/plan_import.hpp"
#include "cli/export/report.hpp"
#include "cli/export/serve.hpp"
#include "cli/options/plan_options.hpp"
#include "cli/plan/report_view.hpp"
#include "core/error.hpp"
#include "core/nearest.hpp"
#include "core/quantity_text.hpp"
#include "planner/exporters/job_files.hpp"

#include <fmt/format.h>
#include <CLI/App.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <ostream>

namespace sextant::cli {
namespace {

struct Options {
    PlanOptions plan;
    ExportOutput output;
    LaunchSettings settings;
    std::vector<std::string> formats;
    std::string plan_file;
    std::int64_t rank = 1;
};

constexpr char const* slurm = "slurm";
constexpr char const* kubernetes = "kubernetes";

/// What the file says of a model and a cluster is their names. @throws InputError where those of the catalogue are not
/// the ones that the plan was made with, as the graph of a step says. Where its time differs, it says so.
void check_subject(PlanFile const& file, Options const& o, Subject const& subject, Given const& given,
                   CommandContext& context) {
    if (given("--model")) return;
    ClosedForm form(subject.model, file.workload, subject.cluster, subject.framework, file.plan.precision);
    StepReport const report = make_report(form, file.plan, subject.limit);
    if (!file.digest.empty() && report.digest != file.digest)
        throw InputError(
            "--plan: the model of {} is another than '{}' of the catalogue, or the file is of another "
            "version of this program {}",
            o.plan_file, file.model, give_again(o.plan_file));
    if (given("--cluster") || given("--framework") || file.seconds <= 0) return;
    constexpr double same = 1e-3;
    Seconds const before = file.seconds * units::s;
    if (std::abs(report.estimate.time / before - 1) > same)
        context.err << fmt::format(
            "sextant: export: {} predicts {} a step, here it is {} on '{}' of the catalogue {}\n", o.plan_file,
            human(before), human(report.estimate.time), file.cluster, give_again(o.plan_file));
}

/// The options with the plan of a file, of this program or of another, in all that is not given.
/// @param steps gets what the file says of them
PlanOptions asked_plan(Options const& o, CLI::App const& app, CommandContext& context, std::int64_t& steps) {
    if (o.plan_file.empty()) {
        if (o.plan.model.empty()) throw InputError("--model: which model is trained? (or --plan FILE)");
        if (o.plan.cluster.empty()) throw InputError("--cluster: on which machines? (or --plan FILE)");
        return with_import(o.plan, app, context);
    }
    if (names_import(o.plan)) throw InputError("--plan: the plan comes from one file (not from --from-... as well)");
    PlanFile const file = read_plan_file(o.plan_file, o.rank);
    Given const given = given_options(app);
    PlanOptions filled = with_plan(o.plan, file.plan, file.plan.world_size(), given);
    if (!given("--steps")) steps = file.steps.value_or(steps);
    if (!given("--model")) filled.model = file.model;
    if (!given("--cluster")) filled.cluster = file.cluster;
    if (!given("--framework")) filled.framework = file.framework;
    if (!given("--seq")) filled.sequence = file.workload.positions();
    if (!given("--preference")) filled.preference = name_of(file.workload.preference);
    if (!given("--global-batch")) filled.global_batch = file.workload.global_batch;
    bool const packs = file.workload.document > 0 && file.workload.preference == Preference::none;
    if (!given("--document-tokens") && packs) filled.document = file.workload.document;
    require_known_names(filled.model, filled.cluster, o.plan_file);
    check_subject(file, o, find_subject(filled), given, context);
    return filled;
}

/// The launcher that a framework of ours goes with.
std::string usual_format(std::string const& framework) {
    if (framework == "fsdp" || framework == "pytorch" || framework == "transformers") return "fsdp2";
    for (ExporterEntry const* entry : exporter_catalog())
        if (framework == entry->name) return framework;
    return "megatron";
}

struct Wanted {
    std::vector<ExporterEntry const*> training;
    bool slurm = false;
    bool kubernetes = false;
    bool training_asked = false;  ///< not only for the jobs to start
};

Wanted wanted_formats(Options const& o, std::string const& framework) {
    Wanted wanted;
    for (std::string const& name : o.formats) {
        if (name == slurm) {
            wanted.slurm = true;
        } else if (name == kubernetes) {
            wanted.kubernetes = true;
        } else if (name == "all") {
            wanted.slurm = wanted.kubernetes = wanted.training_asked = true;
            wanted.training.assign(exporter_catalog().begin(), exporter_catalog().end());
        } else {
            std::vector<std::string> known{slurm, kubernetes, "all"};
            for (ExporterEntry const* entry : exporter_catalog())
                known.emplace_back(entry->name);
            if (std::find(known.begin(), known.end(), name) == known.end())
                throw InputError("--format: unknown format '{}'{} (known: {})", name, did_you_mean(name, known),
                                 join(known));
            ExporterEntry const* const entry = &find_exporter(name, "--format");
            wanted.training_asked = true;
            if (std::find(wanted.training.begin(), wanted.training.end(), entry) == wanted.training.end())
                wanted.training.push_back(entry);
        }
    }
    if (wanted.training.empty()) {
        wanted.training.push_back(&find_exporter(usual_format(framework), "--framework"));
        wanted.training_asked = o.formats.empty();
    }
    return wanted;
}

std::string prediction(StepReport const& r, std::string const& framework) {
    return fmt::format(
        "step {} (80 %: {} to {}), {} tokens/s, MFU {:.1f} %, {} of {} usable memory{}, by the constants "
        "of {}",
        human(r.estimate.time), human(r.interval.low * r.estimate.time), human(r.interval.high * r.estimate.time),
        human_count(r.tokens_per_second), 100 * r.mfu, human(r.estimate.peak()), human(r.limit.usable),
        r.fits ? "" : fmt::format(" ({})", fit_words(r.estimate.memory, r.limit)), framework);
}

StepReport report_of(Subject const& subject, ParallelPlan const& plan) {
    ClosedForm form(subject.model, subject.workload, subject.cluster, subject.framework, plan.precision);
    return make_report(form, plan, subject.limit);
}

/// What a format makes of the plan; where that runs otherwise, the files predict what they run. @param launch gets that
/// prediction
/// @param misfits gets what that needs where it does not fit into memory
Export write_predicted(ExporterEntry const& entry, LaunchPlan& launch, Subject const& subject,
                       std::vector<std::string>& misfits) {
    Export exported = entry.write(launch);
    if (exported.not_expressed.empty()) return exported;
    constexpr std::string_view of_plan = "of the plan, not of what this file runs: ";
    if (!exported.predictable) {
        launch.summary.insert(0, of_plan);
        return entry.write(launch);
    }
    try {
        StepReport const report = report_of(subject, exported.expressed);
        launch.summary = fmt::format("of what this file runs, not of all that the plan says: {}",
                                     prediction(report, subject.framework.name));
        launch.checkpoint = checkpoint_plan(subject.cluster, subject.framework, subject.model, exported.expressed,
                                            report.estimate.time);
        if (!report.fits)
            misfits.push_back(
                fmt::format("{} ({} of {})", entry.name, human(report.estimate.peak()), human(report.limit.usable)));
    } catch (InputError const&) {
        launch.summary.insert(0, of_plan);
    }
    return entry.write(launch);
}

/// @param checkpoint gets that of the first format
std::vector<ExportedFormat> write_formats(Wanted const& wanted, LaunchPlan const& plan, Subject const& subject,
                                          ExportOutput const& output, std::optional<CheckpointPlan>& checkpoint,
                                          std::vector<std::string>& misfits) {
    std::vector<ExportedFormat> out;
    // A job needs the files that it starts: they come along wherever there is a folder for them.
    bool const with_training = wanted.training_asked || !output.folder.empty();
    for (ExporterEntry const* entry : wanted.training) {
        LaunchPlan launch = plan;
        Export const exported = write_predicted(*entry, launch, subject, misfits);
        if (entry == wanted.training.front()) checkpoint = launch.checkpoint;
        if (with_training) out.push_back({entry->name, exported.files, exported.not_expressed});
        auto const job = [&](char const* format, ExportedFile file) {
            file.name = fmt::format("{}-{}", entry->name, file.name);
            out.push_back(
                {format, {std::move(file)}, with_training ? std::vector<NotExpressed>{} : exported.not_expressed});
        };
        if (wanted.slurm) job(slurm, slurm_job(launch, exported));
        if (wanted.kubernetes) job(kubernetes, kubernetes_job(launch, exported));
    }
    return out;
}

int run(Options const& o, CLI::App const& app, CommandContext& context) {
    LaunchSettings settings = o.settings;
    PlanOptions const asked = asked_plan(o, app, context, settings.steps);
    Subject const subject = find_subject(asked);
    Wanted const wanted = wanted_formats(o, family_name(subject.framework));
    ParallelPlan const plan = single_plan(asked, subject);
    LaunchPlan launch = make_launch_plan(subject.model, subject.cluster, subject.workload, plan, settings);
    StepReport const report = report_of(subject, plan);
    launch.summary = prediction(report, subject.framework.name);
    launch.checkpoint = checkpoint_plan(subject.cluster, subject.framework, subject.model, plan, report.estimate.time);
    PlanQuestion const question{subject.model, subject.cluster, subject.framework, subject.workload};
    ExportFacts facts{.headline = headline(question, plan.world_size(), plan.precision),
                      .checkpoint = {},
                      .nodes = launch.nodes,
                      .per_node = launch.per_node};
    std::vector<std::string> misfits;
    std::vector<ExportedFormat> const formats =
        write_formats(wanted, launch, subject, o.output, facts.checkpoint, misfits);
    deliver_export(o.output, formats, facts, context);
    if (!report.fits)
        context.err << fmt::format("sextant: export: the plan does not fit into memory ({} of {})\n",
                                   human(report.estimate.peak()), human(report.limit.usable));
    else if (!misfits.empty())
        context.err << fmt::format(
            "sextant: export: the plan fits into memory, what the files make of it does not: {}\n",
            fmt::join(misfits, ", "));
    return report.fits && misfits.empty() ? exit_code::done : exit_code::answer_is_no;
}

void add_settings(CLI::App& app, LaunchSettings& s) {
    auto const add = [&](char const* flag, auto& target, char const* what, char const* kind) {
        app.add_option(flag, target, what)->option_text(kind)->group("Launch");
    };
    add("--data", s.data, "training data (default: a marked placeholder)", "PATH");
    add("--tokenizer", s.tokenizer, "tokenizer (default: a marked placeholder)", "PATH");
    add("--checkpoints", s.checkpoints, "folder of checkpoints (default: a marked placeholder)", "DIR");
    add("--image", s.image, "container image of the Kubernetes job (default: a marked placeholder)", "NAME");
    add("--steps", s.steps, "optimizer steps (default: those of a run-plan file, else 1000, a placeholder)", "N");
    add("--learning-rate", s.learning_rate, "peak learning rate (default: 3e-4, a placeholder)", "RATE");
    add("--gpus-per-node", s.per_node, "accelerators of a node (default: a domain of up to 8, else 4)", "N");
}

Action describe(CLI::App& app, CommandContext& context) {
    auto const o = std::make_shared<Options>();
    add_plan_options(app, o->plan, Axes::single);
    add_adapter_options(app, o->plan);
    app.get_option("--model")->required(false);
    app.get_option("--cluster")->required(false);
    add_import_options(app, o->plan);
    app.add_option("--plan", o->plan_file, "what 'sextant plan', 'estimate' or 'run-plan' wrote with --format json")
        ->option_text("FILE");
    app.add_option("--rank", o->rank, "which of its plans (default: 1, the best)")->option_text("N");
    app.add_option(
           "--format", o->formats,
           "megatron, deepspeed, torchtitan, torchtitan-0.3, fsdp2, nemo, maxtext, slurm, kubernetes, or all (default: "
           "the framework's)")
        ->delimiter(',')
        ->option_text("NAME[,NAME...]");
    add_settings(app, o->settings);
    add_export_output(app, o->output);
    app.require_subcommand(0, 1);
    Subcommand const serve = describe_export_serve(app, context);
    app.footer(
        "What a framework has no words for is said: in the file, on standard error, and in --report json. slurm and\n"
        "kubernetes start the files of the formats beside them. Exit code 1 when the plan does not fit into memory.\n"
        "docs/export.md.\n\nExamples:\n"
        "  sextant export --model llama-3.1-70b --cluster h100-sxm --gpus 64 --tp 8 --pp 2 --format megatron\n"
        "  sextant plan --model llama-3.1-8b --cluster h100-sxm --gpus 64 --format json --output plan.json\n"
        "  sextant export --plan plan.json --rank 2 --format torchtitan,slurm --output launch\n"
        "  sextant export --plan plan.json --format all --output launch --data /data/tokens --steps 50000\n"
        "  sextant export serve --engine vllm --model llama-3.1-70b --cluster h100-sxm --tp 4\n");
    return [o, serve, &app, &context] { return serve.app->parsed() ? serve.run() : run(*o, app, context); };
}

}  // namespace

extern constinit CommandEntry const export_command;
constinit CommandEntry const export_command{
    .name = "export",
    .summary =
        "launch files of a plan: Megatron-LM, DeepSpeed, torchtitan, FSDP2, NeMo, MaxText, Slurm, Kubernetes, serving",
    .describe = describe,
};

}  // namespace sextant::cli
