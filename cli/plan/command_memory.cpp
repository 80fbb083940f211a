#include "cli/export/plan_import.hpp"
#include "cli/options/plan_options.hpp"
#include "cli/output.hpp"
#include "cli/plan/memory_view.hpp"
#include "core/graph/plan_check.hpp"
#include "planner/framework_rules.hpp"
#include "planner/not_expressed.hpp"

#include <CLI/App.hpp>

#include <fmt/format.h>

#include <memory>

namespace sextant::cli {
namespace {

struct Options {
    PlanOptions plan;
    OutputOptions output;
};

/// The plan under each ZeRO stage and recompute policy that it could run with, and with fewer logits at once.
std::vector<MemorySheet::Variant> variants_of(ClosedForm& form, ParallelPlan const& plan) {
    std::vector<MemorySheet::Variant> variants;
    auto const add = [&](std::string name, ParallelPlan const& other) {
        if (!find_problem(form.model(), other, form.workload())) {
            std::vector<StageMemory> const stages = memory_by_stage(form, other);
            variants.push_back({std::move(name), stages[fullest_stage(stages)]});
        }
    };
    for (int zero = 0; zero <= 3; ++zero) {
        ParallelPlan other = plan;
        other.zero = zero;
        add(fmt::format("zero {}", zero), other);
    }
    for (Recompute const policy : {Recompute::none, Recompute::selective, Recompute::full}) {
        ParallelPlan other = plan;
        other.recompute = policy;
        other.recompute_layers = 0;
        add(fmt::format("recompute {}", name_of(policy)), other);
    }
    if (form.model().head != OutputHead::vocabulary) return variants;
    Launcher const launcher = launcher_of(form.framework());
    if (ParallelPlan other = plan; cuts_loss(launcher) && plan.loss_chunks == 1) {
        other.loss_chunks = usual_loss_chunks;
        add(fmt::format("loss in {} chunks", usual_loss_chunks), other);
    }
    if (ParallelPlan other = plan; fuses_loss(launcher) && plan.fused_cross_entropy == Switch::off) {
        other.fused_cross_entropy = Switch::on;
        add("fused cross entropy", other);
    }
    return variants;
}

int memory(Options const& options, CLI::App const& app, CommandContext& context) {
    Format const format = options.output.format();
    PlanOptions const asked = with_import(options.plan, app, context);
    Subject const subject = find_subject(asked);
    ParallelPlan const plan = single_plan(asked, subject);
    StepGraph const graph = build_step_graph(subject.model, plan, subject.workload);
    ClosedForm form(subject.model, subject.workload, subject.cluster, subject.framework, plan.precision);
    std::vector<StageMemory> const stages = memory_by_stage(form, plan);
    PlanQuestion const question{subject.model, subject.cluster, subject.framework, subject.workload};
    MemorySheet const sheet{question,
                            plan,
                            graph,
                            stages,
                            subject.limit,
                            digest(graph),
                            variants_of(form, plan),
                            not_expressed(subject.model, subject.cluster, subject.framework, subject.workload, plan)};
    switch (format) {
        case Format::json: deliver(options.output, context, memory_json(sheet)); break;
        case Format::text: deliver(options.output, context, memory_text(sheet)); break;
        default: deliver(options.output, context, render(memory_table(sheet), format, question_cells(question))); break;
    }
    return subject.limit.admits(stages[fullest_stage(stages)]) ? exit_code::done : exit_code::answer_is_no;
}

Action describe(CLI::App& app, CommandContext& context) {
    auto const options = std::make_shared<Options>();
    add_plan_options(app, options->plan, Axes::single);
    add_adapter_options(app, options->plan);
    add_import_options(app, options->plan);
    add_output_options(app, options->output);
    app.footer(
        "Exit code 1 when the plan does not fit.\n\nExamples:\n"
        "  sextant memory --model llama-3.1-70b --cluster h100-sxm --gpus 64 --tp 8 --pp 2\n"
        "  sextant memory --model mixtral-8x7b --cluster a100-sxm-80gb --gpus 32 --tp 2 --pp 4 --ep 4 --seq 4096 "
        "--format csv\n");
    return [options, &app, &context] { return memory(*options, app, context); };
}

}  // namespace

extern constinit CommandEntry const memory_command;
constinit CommandEntry const memory_command{
    .name = "memory",
    .summary = "the memory budget of every pipeline stage, tensor by tensor, in exact bytes",
    .describe = describe,
};

}  // namespace sextant::cli
