#include "cost_models/weight_copies.hpp"
#include "planner/exporters/exporter.hpp"
#include "planner/exporters/megatron_attention.hpp"
#include "planner/exporters/megatron_model.hpp"
#include "planner/exporters/megatron_translation.hpp"

#include <array>

// Arguments of megatron/training/arguments.py.

namespace sextant {
namespace {

/// What Megatron-LM's script refuses and Megatron-Core, which NeMo uses without it, does not.
void translate_for_script(Translation& t, ModelSpec const& model) {
    ParallelPlan& p = t.plan;
    translate_megatron_windows(t, model);
    note_head_exchange(t, model);
    if (p.optimizer == Optimizer::muon)
        t.cannot("optimizer", "Muon came after Megatron-Core 0.15: a later release of it is needed");
    if (!model.moe || groups_experts(p.precision)) return;
    if (p.ep > 1 && p.precision == Precision::fp16)
        t.cannot("precision", "Megatron-LM refuses expert parallelism in fp16 (--precision bf16)");
    if (p.recompute != Recompute::selective || !p.recompute_modules.has(RecomputeModule::moe_act)) return;
    RecomputeModules kept =
        p.recompute_modules & RecomputeModules{RecomputeModule::core_attn, RecomputeModule::layernorm,
                                               RecomputeModule::mlp,       RecomputeModule::mla_up_proj,
                                               RecomputeModule::moe,       RecomputeModule::shared_experts};
    if (kept.empty()) kept = attention_core;
    t.replace(
        &ParallelPlan::recompute_modules, kept, "recompute_modules",
        "moe_act is recomputed where experts are multiplied in one kernel, which {} are not: the file recomputes {}",
        name_of(p.precision), modules_text(kept));
}

void add_layout(ArgumentLines& lines, ParallelPlan const& p, LaunchPlan const& launch) {
    ModelSpec const& model = launch.model;
    lines.option("--tensor-model-parallel-size", p.tp);
    lines.option("--pipeline-model-parallel-size", p.pp);
    if (p.cp > 1) {
        lines.option("--context-parallel-size", p.cp);
        lines.option("--cp-comm-type", p.cp_mode == ContextParallel::ring         ? "p2p"
                                       : p.cp_mode == ContextParallel::all_gather ? "all_gather"
                                                                                  : "a2a");
    }
    if (p.sequence_parallel == Switch::on) lines.flag("--sequence-parallel");
    std::vector<std::int64_t> const chunks = chunk_layers(p, model);
    if (!divides_evenly(p, model))
        lines.option("--pipeline-model-parallel-layout", megatron_layout(chunks, model.mtp_modules));
    else if (p.vpp > 1)
        lines.option("--num-virtual-stages-per-pipeline-rank", p.vpp);
    if (std::int64_t const group = chunk_group(p, launch.microbatches()); group > 0)
        lines.option("--microbatch-group-size-per-virtual-pipeline-stage", group);
    if (!model.moe) return;
    lines.option("--expert-model-parallel-size", p.ep);
    lines.option("--expert-tensor-parallel-size", p.expert_tp);
    bool const flexible = p.dispatcher == Dispatcher::deduplicated;
    lines.option("--moe-token-dispatcher-type", flexible ? "flex" : "alltoall");
    if (flexible && hybrid_ep_ranks(p, launch) > 0)
        lines.option("--moe-flex-dispatcher-backend", "hybridep");
    else if (flexible)
        lines.flag("--moe-enable-deepep");
    if (overlaps_experts(p)) lines.flag("--overlap-moe-expert-parallel-comm");
}

void add_optimizer(ArgumentLines& lines, ParallelPlan const& p) {
    bool const muon = p.optimizer == Optimizer::muon;
    char const* const muon_name = p.zero >= 1 ? "dist_muon" : "muon";
    lines.option("--optimizer", muon ? muon_name : p.optimizer == Optimizer::sgd ? "sgd" : "adam");
    if (precision_aware(p)) lines.flag("--use-precision-aware-optimizer");
    if (p.optimizer == Optimizer::adamw_bf16 || p.optimizer == Optimizer::adamw_8bit) {
        char const* const type = p.optimizer == Optimizer::adamw_bf16 ? "bf16" : "fp8";
        lines.option("--exp-avg-dtype", type);
        lines.option("--exp-avg-sq-dtype", type);
    }
    if (offloads_optimizer(p)) lines.flag("--optimizer-cpu-offload");
}

void add_state(ArgumentLines& lines, ParallelPlan const& p, ModelSpec const& model) {
    bool const sharded = shares_optimizer(p);
    if (sharded) lines.flag("--use-distributed-optimizer");
    if (p.zero >= 2) {
        lines.flag("--use-megatron-fsdp");
        lines.option("--data-parallel-sharding-strategy", p.zero == 2 ? "optim_grads" : "optim_grads_params");
        lines.flag("--no-gradient-accumulation-fusion");
        lines.option("--ckpt-format", "fsdp_dtensor");
    }
    if (p.shard_group > 0) lines.option("--num-distributed-optimizer-instances", p.dp * p.cp / p.shard_group);
    bool const copied = most_copies(p, model) > 1;
    if (copied) lines.flag("--overlap-grad-reduce");
    if (copied && sharded) lines.flag("--overlap-param-gather");
    if (holds_narrow_weights(p)) {
        lines.flag(p.precision == Precision::fp4 ? "--fp4-param-gather" : "--fp8-param-gather");
        if (p.precision == Precision::mxfp8) lines.flag("--reuse-grad-buf-for-mxfp8-param-ag");
    }
    add_optimizer(lines, p);
    if (offloads_activations(p))
        lines.option("--cpu-offloading-num-layers", p.offload_layers > 0 ? p.offload_layers : model.layer_count() - 1);
}

void add_step(ArgumentLines& lines, LaunchPlan const& launch, ParallelPlan const& p) {
    lines.option("--seq-length", launch.workload.sequence);
    lines.option("--micro-batch-size", p.micro_batch);
    lines.option("--global-batch-size", launch.workload.global_batch);
    if (p.recompute != Recompute::none)
        lines.option("--recompute-granularity", p.recompute == Recompute::full ? "full" : "selective");
    if (p.recompute == Recompute::selective) lines.words("--recompute-modules", modules_text(p.recompute_modules, " "));
    if (p.recompute == Recompute::full) {
        lines.option("--recompute-method", p.recompute_layers > 0 ? "block" : "uniform");
        lines.option("--recompute-num-layers", p.recompute_layers > 0 ? p.recompute_layers / p.vpp : 1);
    }
    lines.option("--attention-backend", megatron_attention_backend(p, launch.model));
    if (p.attention == AttentionKernel::eager) lines.flag("--no-masked-softmax-fusion");
    if (p.fused_cross_entropy == Switch::on) lines.flag("--cross-entropy-loss-fusion");
    if (p.fp8_activation_input == Switch::on) lines.flag("--activation-func-fp8-input-store");
    lines.option("--attention-dropout", p.dropout == Switch::on ? "0.1" : "0");
    lines.option("--hidden-dropout", p.dropout == Switch::on ? "0.1" : "0");
    bool const half = p.precision != Precision::fp32 && p.precision != Precision::tf32;
    if (half) lines.flag(p.precision == Precision::fp16 ? "--fp16" : "--bf16");
    if (p.gradients == GradientFormat::bf16) lines.flag("--grad-reduce-in-bf16");
    if (unscaled(p.precision) == Precision::fp8) {
        // e4m3 is exact enough for gradients where scales are of few values.
        lines.option("--fp8-format", p.precision == Precision::fp8 ? "hybrid" : "e4m3");
        if (p.precision != Precision::fp8)
            lines.option("--fp8-recipe", p.precision == Precision::mxfp8 ? "mxfp8" : "blockwise");
        else if (scales_at_once(p))
            lines.option("--fp8-recipe", "tensorwise");
    }
    if (p.precision == Precision::fp4) lines.option("--fp4-format", "e2m1");
}

/// Checkpoints are written beside training but for its FSDP and for Muon, whose format cannot be.
void add_run(ArgumentLines& lines, LaunchPlan const& launch, ParallelPlan const& p) {
    lines.comment("the run");
    lines.option("--train-iters", launch.settings.steps);
    lines.option("--lr", fmt::format("{}", launch.settings.learning_rate));
    lines.variable("--data-path", "data");
    lines.option("--tokenizer-type", "HuggingFaceTokenizer");
    lines.variable("--tokenizer-model", "tokenizer");
    lines.variable("--save", "checkpoints");
    lines.variable("--load", "checkpoints");
    if (launch.checkpoint.steps > 0) lines.option("--save-interval", launch.checkpoint.steps);
    bool const muon = p.optimizer == Optimizer::muon;
    if (muon) lines.option("--ckpt-format", "torch");
    if (p.zero < 2 && !muon) lines.flag("--async-save");
}

Export write(LaunchPlan const& launch);

constexpr std::array<std::string_view, 2> vendors{"NVIDIA", "AMD"};

}  // namespace

extern constinit ExporterEntry const megatron_exporter;
constinit ExporterEntry const megatron_exporter{
    .name = "megatron",
    .title = "Megatron-LM arguments",
    .written = "Megatron-Core 0.15",
    .vendors = vendors,
    .write = write,
};

namespace {

Export write(LaunchPlan const& launch) {
    Translation t(launch);
    t.leave_out_adapters();
    translate_for_megatron(t, launch);
    translate_for_script(t, launch.model);
    t.settle(megatron_exporter, launch);
    ArgumentLines lines;
    lines.comment("how the model is split");
    add_layout(lines, t.plan, launch);
    lines.comment("state of training");
    add_state(lines, t.plan, launch.model);
    lines.comment("one step");
    add_step(lines, launch, t.plan);
    for (std::string const& missing : add_megatron_model(lines, launch, t.plan.precision))
        t.cannot("model", "Megatron-LM has no argument for {}", missing);
    add_run(lines, launch, t.plan);
    TorchrunScript const script{.header = file_header(megatron_exporter, launch, t.notes),
                                .environment = megatron_environment(t.plan, launch),
                                .arguments = lines.text(),
                                .program = "pretrain_gpt.py"};
    return {.files = {{"megatron.sh", torchrun_script(launch, script)}},
            .not_expressed = t.notes,
            .expressed = t.plan,
            .command = {"bash", "megatron.sh"}};
}

}  // namespace
}  // namespace sextant
