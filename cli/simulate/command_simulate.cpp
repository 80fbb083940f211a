#include "cli/export/plan_import.hpp"
#include "cli/interrupt.hpp"
#include "cli/options/plan_options.hpp"
#include "cli/options/written_file.hpp"
#include "cli/output.hpp"
#include "cli/plan/report_view.hpp"
#include "cli/simulate/foreign_schedule.hpp"
#include "cli/simulate/need_simgrid.hpp"
#include "cli/simulate/options.hpp"
#include "cli/simulate/page.hpp"
#include "cli/simulate/svg.hpp"
#include "cli/simulate/timeline.hpp"
#include "cli/simulate/view.hpp"
#include "cli/view/percent_text.hpp"
#include "core/error.hpp"
#include "core/graph/plan_check.hpp"
#include "core/json/text_file.hpp"
#include "core/quantity_text.hpp"
#include "planner/explain.hpp"
#include "planner/microbatch_table.hpp"
#include "planner/not_expressed.hpp"
#include "simulator/chrome_trace.hpp"
#include "simulator/schedules/schedule_csv.hpp"

#include <CLI/App.hpp>

#include <unistd.h>

#include <chrono>
#include <iostream>
#include <memory>

namespace sextant::cli {
namespace {

struct Options {
    PlanOptions plan;
    SimulateOptions simulate;
    OutputOptions output;
    std::string schedule_file;
    std::string write_schedule;
    std::string trace;
    std::string svg;
    bool with_transfers = false;
    bool timeline = true;
    bool tune = false;
    bool links = false;
    std::int64_t width = 80;
};

constexpr std::size_t most_traced_links = 8;

void write_trace(std::string const& path, PlanSimulation const& run, SimulationReport const& report,
                 std::atomic<bool> const& stop) {
    std::vector<LinkSeries> const links = link_series(run.graph, run.simulation.times, *run.fabric, most_traced_links);
    TraceInput const input{.graph = run.graph,
                           .times = run.simulation.times,
                           .title = report.headline,
                           .memory = report.memory,
                           .links = links,
                           .stop = &stop};
    write_text_file(path, [&](std::ostream& out) {
        return write_chrome_trace(out, input) == TraceEnd::complete ? Keep::yes : Keep::no;
    });
}

std::string tuning_text(std::vector<MicrobatchRow> const& rows, std::int64_t chosen) {
    Table table({{"micro-batch", Align::right},
                 {"microbatches", Align::right},
                 {"step time", Align::right},
                 {"bubble", Align::right},
                 {"memory", Align::right},
                 {""}});
    for (MicrobatchRow const& row : rows)
        table.add_row(
            {fmt::format("{}", row.micro_batch), fmt::format("{}", row.microbatches), human(row.time),
             percent(row.bubble), human(row.peak),
             fmt::format("{}{}", row.fits ? "" : "does not fit", row.micro_batch == chosen ? " <- this" : "")});
    return "\nmicro-batch size (nothing contended):\n" + table.text();
}

/// What the simulation leaves out or was told, for the end of the report.
std::vector<std::string> notes_of(Options const& o, PlanSimulation const& run, SimulationRequest const& request,
                                  Subject const& subject) {
    std::vector<std::string> notes;
    if (run.folding == Folding::folded)
        notes.push_back(fmt::format("one rank per pipeline stage stands for {} (--unfold simulates every rank)",
                                    run.graph.ranks.front().stands_for));
    for (std::string const& s : o.simulate.stragglers)
        notes.push_back("straggler " + s);
    for (std::string const& s : o.simulate.slow_nodes)
        notes.push_back("slow node " + s);
    for (std::string const& s : o.simulate.degraded)
        notes.push_back("degraded link " + s);
    if (request.graph.jitter > 0)
        notes.push_back(fmt::format("jitter {} of every compute task, seed {}", request.graph.jitter, o.simulate.seed));
    if (request.engine.other_traffic > 0)
        notes.push_back(
            fmt::format("others use {:.0f} % of the scale-out network", 100 * request.engine.other_traffic));
    auto const& out = subject.cluster.scale_out;
    if (out && out->pod_domains > 0 && out->oversubscription.value > 1 && run.folding == Folding::folded)
        notes.push_back(
            fmt::format("above the leaf switches (oversubscription {}) every folded rank has its static share",
                        out->oversubscription.value));
    return notes;
}

/// What the framework of the plan does not run; a schedule of a file or of forwards alone is none of a plan.
void note_refusal(SimulationReport& report, Subject const& subject, ParallelPlan const& plan,
                  ForeignSchedule const& foreign) {
    if (foreign.schedule) return;
    std::string const sentence = refusal_sentence(
        subject.framework, not_expressed(subject.model, subject.cluster, subject.framework, subject.workload, plan));
    if (!sentence.empty()) report.notes.push_back(sentence);
}

/// What was asked, before anything of what came out.
SimulationReport head_of_simulation(Subject const& subject, StepReport const& closed, ForeignSchedule const& foreign,
                                    PlanSimulation const& run, SimulationRequest const& request) {
    PlanQuestion const question{subject.model, subject.cluster, subject.framework, subject.workload};
    ParallelPlan const& plan = closed.plan;
    SimulationReport report{.graph = run.graph, .times = run.simulation.times};
    report.headline = headline(question, plan.world_size(), plan.precision);
    ParallelPlan unnamed = plan;  // the schedule follows, which may be none of a plan
    unnamed.schedule = ParallelPlan{}.schedule;
    report.plan_label = fmt::format("{}, {} microbatches, {}", plan_label(unnamed), closed.microbatches,
                                    foreign.schedule ? foreign.schedule->name : std::string(name_of(plan.schedule)));
    report.model = subject.model.name;
    report.cluster = subject.cluster.name;
    report.framework = subject.framework.name;
    report.plan = plan;
    if (!foreign.is_the_plans()) report.schedule = foreign.schedule->name;
    report.sequence = subject.workload.sequence;
    report.document = subject.workload.document;
    report.global_batch = subject.workload.global_batch;
    report.network = name_of(request.engine.network);
    report.granularity = name_of(request.graph.granularity);
    report.steps = request.graph.steps;
    report.accelerators = plan.world_size();
    report.state = run.simulation.state;
    return report;
}

SimulationReport report_of(Options const& o, Subject const& subject, ClosedForm& form, ParallelPlan const& plan,
                           ForeignSchedule const& foreign, PlanSimulation const& run,
                           SimulationRequest const& request) {
    StepReport const closed = make_report(form, plan, subject.limit);
    SimulationReport report = head_of_simulation(subject, closed, foreign, run, request);
    Seconds const step = run.simulation.times.makespan() / static_cast<double>(request.graph.steps);
    report.step_time = step;
    report.interval = closed.interval;
    report.tokens_per_second = static_cast<double>(subject.workload.tokens()) / step.base();
    // A forward is a third of the work of a training step.
    report.mfu = closed.mfu * (closed.estimate.time / step) / (foreign.trains() ? 1 : 3);
    if (!foreign.schedule) report.closed_form = closed.estimate.time;
    if (request.engine.network == NetworkMode::fair)
        report.without_contention = run.alone / static_cast<double>(request.graph.steps);
    if (request.repetitions > 1) {
        for (Seconds const time : run.repetitions)
            report.repetitions.push_back(time / static_cast<double>(request.graph.steps));
        report.first_seed = o.simulate.seed;
    }
    report.analysis = analyse(run.graph, run.simulation.times);
    report.path = critical_path(run.graph, run.simulation.times);
    report.memory =
        memory_timelines(run.graph, run.simulation.times, memory_input(form, plan, run.graph, request.graph.prefetch));
    report.usable_memory = subject.limit.usable;
    report.reserved_factors = reserved_factors(form, plan, run.graph, report.memory,
                                               foreign.is_the_plans() ? nullptr : request.graph.schedule);
    report.links = run.simulation.links;
    report.activities = run.simulation.activities;
    report.notes = notes_of(o, run, request, subject);
    note_refusal(report, subject, plan, foreign);
    if (double const beside = form.timing().pp_overlap.value; plan.pp > 1 && beside > 0)
        report.notes.push_back(
            fmt::format("of every transfer between stages {} is beside compute (pp_overlap of {}): links and overlaps "
                        "show the rest",
                        percent(beside), report.framework));
    if (!foreign.trains())
        report.notes.push_back(
            "forward only: no backward, no optimizer; memory still counts gradients and optimizer state");
    return report;
}

std::string link_table(Fabric const& fabric, Format format) {
    if (format == Format::html) throw InputError("--list-links: a list has no page (--format text, csv or markdown)");
    Table table({{"link"}, {"bandwidth", Align::right}});
    for (FabricLink const& link : fabric.links())
        table.add_row(
            {link.name, format == Format::text ? human(link.bandwidth) : fmt::format("{}", link.bandwidth.base())});
    return format == Format::text ? table.text() : render(table, format);
}

void write_schedule(Options const& o, Subject const& subject, ParallelPlan const& plan,
                    ForeignSchedule const& foreign) {
    require_valid(subject.model, plan, subject.workload);
    write_text_file(o.write_schedule,
                    schedule_csv(foreign.schedule ? *foreign.schedule : schedule_of(plan, subject.workload),
                                 o.with_transfers ? ScheduleCsvForm::compute_and_transfers : ScheduleCsvForm::compute));
}

std::string rendered(SimulationReport const& report, Format format) {
    switch (format) {
        case Format::json: return simulation_json(report);
        case Format::html: return simulation_page(report);
        case Format::text: return simulation_text(report);
        default:
            return render(simulation_table(report), format,
                          {{"model", report.model},
                           {"cluster", report.cluster},
                           {"framework", report.framework},
                           {"seq", fmt::format("{}", report.sequence)},
                           {"global_batch", fmt::format("{}", report.global_batch)}});
    }
}

int run_simulation(Options const& given, CLI::App const& app, CommandContext& context) {
    Options o = given;
    o.plan = with_import(given.plan, app, context);
    Format const format = o.output.format();
    if (o.width < 40 || o.width > 1000) throw InputError("--width: {} is out of range (40 to 1000)", o.width);
    Subject const subject = find_subject(o.plan);
    ForeignSchedule foreign;
    ParallelPlan const plan = single_plan(options_with(o.plan, o.schedule_file, foreign), subject);
    finish_schedule(foreign, o.plan, plan, subject.workload);
    ClosedForm form(subject.model, subject.workload, subject.cluster, subject.framework, plan.precision);
    SimulationRequest request = simulation_request(o.simulate, plan, subject.cluster);
    if (foreign.schedule) request.graph.schedule = &*foreign.schedule;
    if (!o.write_schedule.empty()) write_schedule(o, subject, plan, foreign);
    if (o.links) {
        request.graph.granularity = Granularity::stage;
        GraphOptions graph = request.graph;
        graph.folding = o.simulate.fold ? Folding::folded : Folding::unfolded;
        deliver(o.output, context, link_table(Fabric(subject.cluster, build_task_graph(form, plan, graph)), format));
        return exit_code::done;
    }

    need_simgrid("simulate");
    InterruptGuard const interrupt(context);
    request.engine.stop = &interrupt.flag();
    auto const begin = std::chrono::steady_clock::now();
    PlanSimulation const run = simulate_plan(form, plan, request);
    double const wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (!run.finished()) {
        context.err << "sextant: simulate: " << run.simulation.message << "\n";
        if (run.simulation.state == Simulation::State::interrupted) return interrupted_exit;
        if (format == Format::json) {
            StepReport const closed = make_report(form, plan, subject.limit);
            deliver(o.output, context,
                    unfinished_simulation_json(head_of_simulation(subject, closed, foreign, run, request),
                                               run.simulation.message));
        }
        return run.simulation.state == Simulation::State::crashed ? exit_code::our_bug : exit_code::answer_is_no;
    }
    SimulationReport report = report_of(o, subject, form, plan, foreign, run, request);
    if (&context.err == &std::cerr && isatty(STDERR_FILENO) == 1) report.wall_time = wall * units::s;

    if (!o.trace.empty()) write_trace(o.trace, run, report, interrupt.flag());
    if (!o.svg.empty())
        write_text_file(o.svg, simulation_svg(run.graph, run.simulation.times, {.title = report.headline}));
    std::string text = rendered(report, format);
    if (format == Format::text && o.timeline)
        text +=
            "\n" + simulation_timeline(run.graph, run.simulation.times, {.columns = static_cast<std::size_t>(o.width)});
    if (format == Format::text && o.tune)
        text += tuning_text(microbatch_table(form, plan, subject.limit), plan.micro_batch);
    deliver(o.output, context, text);
    if (interrupt.flag()) return interrupted_exit;
    return foreign.trains() && !fits_memory(report) ? exit_code::answer_is_no : exit_code::done;
}

Action describe(CLI::App& app, CommandContext& context) {
    auto const o = std::make_shared<Options>();
    add_plan_options(app, o->plan, Axes::single);
    add_adapter_options(app, o->plan);
    add_import_options(app, o->plan);
    app.add_option("--schedule-file", o->schedule_file,
                   "pipeline schedule in the CSV of torch.distributed.pipelining; gives pp and vpp, too")
        ->option_text("FILE.csv")
        ->group("Plan");
    add_simulate_options(app, o->simulate);
    written(app.add_option("--write-schedule", o->write_schedule, "the pipeline schedule as such a CSV"))
        ->option_text("FILE.csv")
        ->group("Pictures");
    app.add_flag("--with-transfers", o->with_transfers, "write sends and receives into it, too")->group("Pictures");
    written(app.add_option("--trace", o->trace, "Chrome trace, for ui.perfetto.dev"))
        ->option_text("FILE.json")
        ->group("Pictures");
    written(app.add_option("--svg", o->svg, "the timeline as a picture"))->option_text("FILE.svg")->group("Pictures");
    app.add_flag("--timeline,!--no-timeline", o->timeline, "timeline under the text report (default)")
        ->group("Pictures");
    app.add_option("--width", o->width, "columns of the timeline")->option_text("N")->group("Pictures");
    app.add_flag("--tune-micro-batch", o->tune, "table of micro-batch sizes: bubble against memory")->group("Pictures");
    app.add_flag("--list-links", o->links,
                 "names and bandwidths of the links, for --degrade-link; nothing is simulated")
        ->group("What if");
    add_output_options(app, o->output, formats_and_page);
    app.footer(
        "--schedule also takes forward-only here.\n"
        "Ranks that do the same at the same time are simulated once; jitter, stragglers and links that differ make "
        "every\n"
        "rank its own. Exit code 1 when the step cannot finish (a failed link) or does not fit into\n"
        "memory, 130 after Ctrl-C.\n\nExamples:\n"
        "  sextant simulate --model llama-3.1-70b --cluster h100-sxm --gpus 64 --tp 8 --pp 4 --trace step.json\n"
        "  sextant simulate --model llama-3.1-405b --cluster h100-sxm --gpus 16384 --tp 8 --pp 16 --vpp 8 "
        "--global-batch 2048 --recompute full --recompute-layers 2\n"
        "  sextant simulate --model llama-2-7b --cluster a100-sxm-80gb --gpus 16 --tp 2 --pp 2 --jitter 0.03 --repeat "
        "20\n"
        "  sextant simulate --model llama-2-7b --cluster a100-sxm-80gb --gpus 16 --tp 2 --pp 2 --straggler 3:1.3x \\\n"
        "                   --degrade-link 'node1.*.nic.out:0.5'\n"
        "  sextant simulate --model gpt3-175b --cluster h100-sxm --gpus 64 --tp 8 --pp 8 --schedule zb-h1 --svg "
        "step.svg\n");
    return [o, &app, &context] { return run_simulation(*o, app, context); };
}

}  // namespace

extern constinit CommandEntry const simulate_command;
constinit CommandEntry const simulate_command{
    .name = "simulate",
    .summary = "what happens in one step: bubbles, overlap, contention, stragglers, failures (discrete events)",
    .describe = describe,
};

}  // namespace sextant::cli
