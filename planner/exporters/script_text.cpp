#include "planner/exporters/exporter.hpp"

#include "core/graph/plan_check.hpp"
#include "core/is_one_of.hpp"
#include "core/nearest.hpp"
#include "planner/exporters/quoting.hpp"
#include "planner/left_out.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace sextant {

void Translation::leave_out_adapters() {
    replace(&ParallelPlan::adapters, LowRankAdapters{}, "lora_rank",
            "these files have no low-rank adapters: they train every weight, which takes more time and memory");
}

void Translation::recompute_attention_core() {
    if (plan.recompute != Recompute::selective) return;
    replace(&ParallelPlan::recompute_modules, attention_core, "recompute_modules",
            "selective recompute is that of the attention core here, not of {}", modules_text(plan.recompute_modules));
}

void Translation::leave_out_named_activations() {
    replace(&ParallelPlan::kept_activations, ActivationGroups{}, "kept_activations",
            "full recompute keeps the inputs of layers alone: {} are made again",
            activations_text(plan.kept_activations, ", "));
    replace(&ParallelPlan::offloaded_activations, all_activations, "offloaded_activations",
            "all activations that are kept are offloaded, and not {} alone",
            activations_text(plan.offloaded_activations, ", "));
}

void Translation::offload_as_fsdp(std::string_view setting) {
    if (!offloads_optimizer(plan) || offloads_parameters(plan)) return;
    ParallelPlan with_weights = plan;
    with_weights.offload = Offload::parameters;
    constexpr auto note = "{} moves weights and gradients to the host as well, not only the optimizer";
    if (offload_suits_sharding(with_weights))
        replace(&ParallelPlan::offload, with_weights.offload, "offload", note, setting);
    else
        runs_otherwise("offload", note, setting);
}

void Translation::leave_parameters_here(ModelSpec const& model) {
    if (!offloads_parameters(plan)) return;
    replace(&ParallelPlan::offload, without_parameters(plan.offload), "offload",
            "weights stay on the accelerator: the file offloads the optimizer's state alone");
    plan = normal_form(plan, model);
}

void Translation::leave_out_offload_layers() {
    replace(&ParallelPlan::offload_layers, std::int64_t{0}, "offload_layers",
            "activations of all layers are offloaded, and not those of {}", plan.offload_layers);
}

void Translation::leave_out_activation_input() {
    replace(&ParallelPlan::fp8_activation_input, Switch::off, "fp8_activation_input",
            "what an activation reads is kept as it is, in 16 bit");
}

void Translation::leave_out_other_optimizers(std::string_view framework) {
    if (plan.optimizer == Optimizer::lion || plan.optimizer == Optimizer::lion_8bit ||
        plan.optimizer == Optimizer::adafactor)
        replace(&ParallelPlan::optimizer, Optimizer::adamw, "optimizer", "{} has no {}: the files have Adam", framework,
                name_of(plan.optimizer));
}

void Translation::leave_out_narrow_copies() {
    replace(&ParallelPlan::narrow_copies, Switch::off, "narrow_copies",
            "weights are cast as each product is run, and no narrow copy of them is kept");
}

void Translation::leave_out_gradients() {
    replace(&ParallelPlan::gradients, GradientFormat::usual, "gradients",
            "these files do not choose what gradients are added up and sent in");
}

void Translation::settle(ExporterEntry const& entry, LaunchPlan const& launch) {
    AcceleratorProfile const& device = launch.cluster.accelerator;
    if (!device.vendor.empty() && !is_one_of(entry.vendors, device.vendor))
        cannot("accelerator",
               "these files do not start on {}: they are for accelerators of {} (another --format or --cluster)",
               device.title, fmt::join(entry.vendors, ", "));
    plan = normal_form(plan, launch.model);
    if (launch.workload.document > 0)
        cannot("document_tokens",
               "documents of {} tokens that attend to themselves alone: how the data is packed is "
               "set with the dataset",
               launch.workload.document);
    for (std::string const& field : differing_fields(plan, normal_form(launch.plan, launch.model))) {
        bool const said =
            std::any_of(notes.begin(), notes.end(), [&](NotExpressed const& n) { return n.field == field; });
        if (!said) cannot(field, "with what is said above this is another value than the plan's");
    }
}

namespace {

/// What was left at its default.
std::string placeholders(LaunchSettings const& s) {
    LaunchSettings const usual;
    std::vector<std::string> names;
    if (s.data == usual.data) names.emplace_back("REPLACE_WITH_DATA_PATH");
    if (s.tokenizer == usual.tokenizer) names.emplace_back("REPLACE_WITH_TOKENIZER_PATH");
    if (s.checkpoints == usual.checkpoints) names.emplace_back("REPLACE_WITH_CHECKPOINT_FOLDER");
    if (s.steps == usual.steps) names.push_back(fmt::format("{} steps", s.steps));
    if (s.learning_rate == usual.learning_rate) names.push_back(fmt::format("learning rate {}", s.learning_rate));
    return names.empty() ? "none" : join(names);
}

/// Of a model whose dimensions the file writes, what training of real weights needs besides: no time goes with it, and
/// a plan does not have it. Other files name the model, or its config.json.
std::string values_of_model(ExporterEntry const& entry, ModelSpec const& model) {
    constexpr std::array writes_dimensions{std::string_view("megatron"), std::string_view("deepspeed"),
                                           std::string_view("nemo")};
    if (!is_one_of(writes_dimensions, entry.name)) return "";
    std::string values = "epsilon of its norms";
    if (model.position == PositionKind::rotary) values = "rotary base and scaling, " + values;
    if (model.moe) values += ", scale of the router's weights";
    return comment_lines("Of the model, not in the plan and not in this file (see its config.json): " + values + ".");
}

}  // namespace

std::string file_header(ExporterEntry const& entry, LaunchPlan const& launch, std::vector<NotExpressed> const& notes) {
    ParallelPlan const& p = launch.plan;
    std::string text = fmt::format("# {}, written by 'sextant export --format {}' for {}.\n#\n", entry.title,
                                   entry.name, entry.written);
    text += comment_lines(
        fmt::format("{} on {} x {}: dp {}, tp {}, pp {}, cp {}, ep {}; sequence {}, global batch {}, "
                    "micro-batch {} ({} microbatches a step)",
                    named(launch.model), p.world_size(), launch.cluster.name, p.dp, p.tp, p.pp, p.cp, p.ep,
                    launch.workload.sequence, launch.workload.global_batch, p.micro_batch, launch.microbatches()));
    if (!launch.summary.empty()) text += comment_lines("Predicted: " + launch.summary);
    if (!launch.checkpoint.basis.empty()) text += comment_lines("Checkpoints " + launch.checkpoint.basis + ".");
    text += comment_lines("Placeholders, which the plan does not hold: " + placeholders(launch.settings) + ".");
    text += values_of_model(entry, launch.model);
    if (notes.empty()) {
        text += "# Every part of the plan is expressed.\n";
    } else {
        text += "# NOT EXPRESSED:\n";
        for (NotExpressed const& note : notes)
            text += comment_lines(fmt::format("- {}: {}", note.field, note.message));
    }
    return text;
}

std::string torchrun_script(LaunchPlan const& launch, TorchrunScript const& script) {
    std::string text = "#!/usr/bin/env bash\n" + script.header + "set -euo pipefail\n";
    for (auto const& [name, value] : script.environment)
        text += fmt::format("export {}={}\n", name, shell_quoted(value));
    if (!script.arguments.empty()) {
        auto const variable = [&](char const* name, char const* environment, std::string const& value) {
            if (script.arguments.find(fmt::format("\"${}\"", name)) == std::string::npos) return std::string();
            return fmt::format("{0}_default={1}\n{0}=${{{2}:-${0}_default}}\n", name, shell_quoted(value), environment);
        };
        text += "\n# The environment may override these.\n";
        text += variable("data", "DATA_PATH", operand(launch.settings.data));
        text += variable("tokenizer", "TOKENIZER_PATH", operand(launch.settings.tokenizer));
        text += variable("checkpoints", "CHECKPOINT_FOLDER", operand(launch.settings.checkpoints));
        text += "\narguments=(\n" + script.arguments + ")\n";
    }
    text += "\nnode_rank=${NODE_RANK:-${SLURM_NODEID:-${JOB_COMPLETION_INDEX:-0}}}\n";
    text += fmt::format(
        "exec torchrun --nnodes {} --nproc-per-node {} --node-rank \"$node_rank\" \\\n"
        "  --master-addr \"${{MASTER_ADDR:-localhost}}\" --master-port \"${{MASTER_PORT:-29500}}\" \\\n  {}{}\n",
        launch.nodes, launch.per_node, script.program, script.arguments.empty() ? "" : " \"${arguments[@]}\"");
    return text;
}

void ArgumentLines::comment(std::string_view text) { text_ += fmt::format("  # {}\n", comment_text(text)); }
void ArgumentLines::flag(std::string_view option) { text_ += fmt::format("  {}\n", option); }
void ArgumentLines::option(std::string_view option, std::string_view value) {
    text_ += fmt::format("  {} {}\n", option, shell_quoted(value));
}
void ArgumentLines::option(std::string_view option, std::int64_t value) {
    text_ += fmt::format("  {} {}\n", option, value);
}
void ArgumentLines::words(std::string_view option, std::string_view names) {
    text_ += fmt::format("  {} {}\n", option, names);
}
void ArgumentLines::variable(std::string_view option, std::string_view name) {
    text_ += fmt::format("  {} \"${}\"\n", option, name);
}

}  // namespace sextant
