#include "planner/exporters/launch_plan.hpp"

#include "core/error.hpp"
#include "core/graph/plan_check.hpp"
#include "core/graph/stage_layout.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/parameters.hpp"
#include "core/spec/usual_node.hpp"
#include "cost_models/memory_footprint.hpp"
#include "cost_models/weight_copies.hpp"
#include "planner/exporters/quoting.hpp"
#include "planner/run_plan/run_goodput.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

constexpr std::int64_t most_per_node = 4096;

/// The most accelerators, up to a node's, that divide all evenly and hold whole tensor-parallel groups, or a group
/// holds whole nodes of.
std::int64_t per_node_of(ClusterSpec const& cluster, ParallelPlan const& plan) {
    std::int64_t const world = plan.world_size();
    std::int64_t per_node = std::min(world, usual_gpus_per_node(cluster));
    while (world % per_node != 0 || (per_node % plan.tp != 0 && plan.tp % per_node != 0))
        --per_node;
    return per_node;
}

void check_settings(LaunchSettings const& s) {
    for (auto const& [text, flag] : {std::pair{&s.data, "--data"},
                                     {&s.tokenizer, "--tokenizer"},
                                     {&s.checkpoints, "--checkpoints"},
                                     {&s.image, "--image"}}) {
        if (text->empty()) throw InputError("{}: the value is empty", flag);
        check_exported_text(*text, flag);
    }
    if (s.steps < 1) throw InputError("--steps: {} is too small (at least 1)", s.steps);
    if (!(s.learning_rate > 0 && s.learning_rate <= 1e3))
        throw InputError("--learning-rate: {} (above 0, up to 1000)", s.learning_rate);
    if (s.per_node && (*s.per_node < 1 || *s.per_node > most_per_node))
        throw InputError("--gpus-per-node: {} is out of range (1 to {})", *s.per_node, most_per_node);
}

}  // namespace

LaunchPlan make_launch_plan(ModelSpec model, ClusterSpec cluster, Workload const& workload, ParallelPlan const& plan,
                            LaunchSettings settings) {
    check_exported_text(model.name, "--model");
    check_exported_text(cluster.name, "--cluster");
    check_settings(settings);
    if (model.recurrent || count_mixers(model, Mixer::attention) < model.layer_count())
        throw InputError("{}: launch files for models with recurrent layers are not written", model.name);
    if (model.window_attention)
        throw InputError("{}: launch files for models whose sliding layers have heads of their own are not written",
                         model.name);
    if (model.attention.index)
        throw InputError("{}: launch files for models with sparse attention are not written", model.name);
    if (!model.causal) throw InputError("{}: launch files for encoders are not written", model.name);
    if (model.head != OutputHead::vocabulary)
        throw InputError(
            "{}: launch files for models without logits over a vocabulary are not written (reward models, classifiers "
            "and embedding models are trained by scripts of one's own)",
            model.name);
    if (workload.preference != Preference::none)
        throw InputError("--preference: launch files of {} are not written (they train on the next token)",
                         name_of(workload.preference));
    require_valid(model, plan, workload);
    LaunchPlan launch{.model = std::move(model),
                      .cluster = std::move(cluster),
                      .workload = workload,
                      .plan = plan,
                      .settings = std::move(settings),
                      .checkpoint = {},
                      .summary = {}};
    std::int64_t const world = plan.world_size();
    auto const asked = launch.settings.per_node;
    if (asked && *asked < world && world % *asked != 0)
        throw InputError("--gpus-per-node: {} does not divide the {} accelerators of the plan", *asked, world);
    launch.per_node = asked ? std::min(world, *asked) : per_node_of(launch.cluster, plan);
    launch.nodes = world / launch.per_node;
    return launch;
}

CheckpointPlan checkpoint_plan(ClusterSpec const& cluster, FrameworkProfile const& framework, ModelSpec const& model,
                               ParallelPlan const& plan, Seconds step_time) {
    FailureRecord const& record = failure_catalog().front();
    RunGoodput const goodput = run_goodput(record, cluster, framework, model, plan);
    CheckpointPlan out;
    out.interval = goodput.interval;
    constexpr double most_steps = 1e9;
    double const steps = std::clamp(std::round(goodput.interval / step_time), 1.0, most_steps);
    out.steps = static_cast<std::int64_t>(steps);
    out.basis = fmt::format(
        "every {} of training, {} steps of {}: the interval that loses least when {} of checkpoint are written "
        "asynchronously and failures come as in {} (docs/goodput.md; assumed where you know better)",
        human(goodput.interval), out.steps, human(step_time), human(goodput.checkpoint), record.title);
    return out;
}

std::vector<std::int64_t> chunk_layers(ParallelPlan const& plan, ModelSpec const& model) {
    return plan.stage_layers.empty() ? balanced_split(model, plan.pp, plan.vpp) : plan.stage_layers;
}

std::int64_t most_layers_of_stage(ParallelPlan const& plan, ModelSpec const& model) {
    std::int64_t most = 0;
    for (StageContent const& stage : lay_out_stages(model, plan).stages)
        most = std::max(most, stage.layers);
    return most;
}

ParallelPlan normal_form(ParallelPlan plan, ModelSpec const& model) {
    std::int64_t const ranks = plan.dp * plan.cp;
    if (plan.shard_group == ranks) plan.shard_group = 0;
    bool const shards_experts = model.moe && expert_shards(plan) > 1;
    bool const shares = most_copies(plan, model) > 1 && (plan.shard_group != 1 || shards_experts);
    // Parameters come from host memory by ZeRO 3 on one rank, too.
    if (!shares && !offloads_parameters(plan)) plan.zero = 0;
    if (plan.zero == 0) plan.shard_group = 0;
    plan.gradients = gradient_format(plan);
    if (plan.cp == 1) plan.cp_mode = ContextParallel::ring;
    if (plan.recompute != Recompute::full) plan.recompute_layers = 0;
    if (plan.recompute != Recompute::selective) plan.recompute_modules = attention_core;
    if (!keeps_activations(plan)) plan.kept_activations = {};
    if (!offloads_activations(plan)) plan.offloaded_activations = all_activations;
    if (!offloads_activations(plan) || plan.offload_layers >= model.layer_count()) plan.offload_layers = 0;
    // A plan whose chunks no rule fills (they come out of a translation) is left as it is.
    bool const splits = can_split(model, plan.pp, plan.vpp);
    if (plan.stage_layers.empty() && !splits) return plan;
    if (plan.recompute_layers >= most_layers_of_stage(plan, model)) plan.recompute_layers = 0;
    if (splits && plan.stage_layers == balanced_split(model, plan.pp, plan.vpp)) plan.stage_layers.clear();
    return plan;
}

std::vector<std::string> differing_fields(ParallelPlan const& a, ParallelPlan const& b) {
    std::vector<std::string> fields;
    auto const compare = [&](auto member, char const* name) {
        if (!(a.*member == b.*member)) fields.emplace_back(name);
    };
    compare(&ParallelPlan::dp, "dp");
    compare(&ParallelPlan::tp, "tp");
    compare(&ParallelPlan::pp, "pp");
    compare(&ParallelPlan::cp, "cp");
    compare(&ParallelPlan::ep, "ep");
    compare(&ParallelPlan::expert_tp, "expert_tp");
    compare(&ParallelPlan::vpp, "vpp");
    compare(&ParallelPlan::micro_batch, "micro_batch");
    compare(&ParallelPlan::schedule, "schedule");
    compare(&ParallelPlan::zero, "zero");
    compare(&ParallelPlan::shard_group, "shard_group");
    compare(&ParallelPlan::recompute, "recompute");
    compare(&ParallelPlan::recompute_layers, "recompute_layers");
    compare(&ParallelPlan::recompute_modules, "recompute_modules");
    compare(&ParallelPlan::kept_activations, "kept_activations");
    compare(&ParallelPlan::sequence_parallel, "sequence_parallel");
    compare(&ParallelPlan::cp_mode, "cp_mode");
    compare(&ParallelPlan::dispatcher, "moe_dispatcher");
    compare(&ParallelPlan::offload, "offload");
    compare(&ParallelPlan::offloaded_activations, "offloaded_activations");
    compare(&ParallelPlan::offload_layers, "offload_layers");
    compare(&ParallelPlan::attention, "attention");
    compare(&ParallelPlan::optimizer, "optimizer");
    compare(&ParallelPlan::precision, "precision");
    compare(&ParallelPlan::gradients, "gradients");
    compare(&ParallelPlan::dropout, "dropout");
    compare(&ParallelPlan::fused_cross_entropy, "fused_cross_entropy");
    compare(&ParallelPlan::fp8_activation_input, "fp8_activation_input");
    compare(&ParallelPlan::narrow_copies, "narrow_copies");
    compare(&ParallelPlan::loss_chunks, "loss_chunks");
    compare(&ParallelPlan::stage_layers, "stage_layers");
    if (a.adapters.rank != b.adapters.rank) {
        fields.emplace_back("lora_rank");
    } else {
        if (a.adapters.targets != b.adapters.targets) fields.emplace_back("lora_targets");
        if (a.adapters.base != b.adapters.base) fields.emplace_back("base_weights");
    }
    return fields;
}

}  // namespace sextant
