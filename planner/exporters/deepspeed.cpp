#include "cost_models/weight_copies.hpp"
#include "planner/exporters/deepspeed_settings.hpp"
#include "planner/exporters/exporter.hpp"
#include "planner/exporters/megatron_model.hpp"
#include "planner/framework_rules.hpp"

#include <algorithm>
#include <array>

// DeepSpeed's JSON holds the ZeRO stage, batch sizes and precision. How the model itself is split is up to the model:
// here Megatron-DeepSpeed (megatron/arguments.py of deepspeedai/Megatron-DeepSpeed).

namespace sextant {
namespace {

void translate_pipeline(Translation& t, ModelSpec const& model) {
    t.replace(&ParallelPlan::schedule, Schedule::one_f_one_b, "schedule",
              "DeepSpeed's pipeline engine runs 1F1B and no {}", name_of(t.plan.schedule));
    t.replace(&ParallelPlan::vpp, std::int64_t{1}, "vpp", "DeepSpeed's pipeline has one chunk per stage, not {}",
              t.plan.vpp);
    if (!t.plan.stage_layers.empty() && t.plan.stage_layers.size() != static_cast<std::size_t>(t.plan.pp)) {
        t.cannot("stage_layers", "layers are divided evenly over the stages");
        t.plan.stage_layers.clear();
    }
    t.replace(&ParallelPlan::stage_layers, std::vector<std::int64_t>{}, "stage_layers",
              "DeepSpeed divides layers evenly, or by parameters or type; no list of them");
    t.plan = normal_form(t.plan, model);
}

void translate_parallelism(Translation& t, ModelSpec const& model) {
    ParallelPlan& p = t.plan;
    if (p.cp > 1) {
        t.replace(&ParallelPlan::cp_mode, ContextParallel::ulysses, "cp_mode",
                  "DeepSpeed splits sequences the Ulysses way and no other");
        if (!deepspeed_splits_sequences(p))
            t.cannot("cp",
                     "Megatron-DeepSpeed refuses Ulysses with tensor or pipeline parallelism (tp {}, pp {}): the "
                     "file says what the plan says, and will not start",
                     p.tp, p.pp);
        t.replace(&ParallelPlan::sequence_parallel, Switch::off, "sequence_parallel",
                  "Megatron's sequence parallelism does not go with DeepSpeed's");
    }
    if (!model.moe) return;
    if (p.zero == 3)
        t.replace(&ParallelPlan::zero, 2, "zero",
                  "DeepSpeed refuses experts with ZeRO 3: the file has ZeRO 2, which takes more memory");
    if (p.pp > 1)
        t.cannot("pp",
                 "Megatron-DeepSpeed does not support experts in a pipeline: the file says what the plan says, {} "
                 "stages, and may not start",
                 p.pp);
    t.replace(&ParallelPlan::dispatcher, Dispatcher::all_to_all, "moe_dispatcher",
              "DeepSpeed sends tokens once per expert (all-to-all)");
    if (p.expert_tp != 1 && p.expert_tp != p.tp)
        t.replace(&ParallelPlan::expert_tp, p.tp, "expert_tp",
                  "experts are cut over all {} tensor-parallel ranks or none, not {}", p.tp, p.expert_tp);
}

void translate_state(Translation& t, ModelSpec const& model) {
    ParallelPlan& p = t.plan;
    if (p.zero != 3)
        t.replace(&ParallelPlan::shard_group, std::int64_t{0}, "shard_group",
                  "DeepSpeed shards over groups (MiCS) with ZeRO-3 only, here over all ranks");
    t.leave_out_other_optimizers("Megatron-DeepSpeed, which makes its own,");
    if (p.optimizer == Optimizer::muon)
        t.replace(&ParallelPlan::optimizer, Optimizer::adamw, "optimizer",
                  "Megatron-DeepSpeed makes its own Adam, and no Muon");
    if (p.optimizer == Optimizer::adamw_pure_bf16)
        t.replace(&ParallelPlan::optimizer, Optimizer::adamw, "optimizer",
                  "DeepSpeed 0.17 keeps fp32 weights and moments, which takes more time and memory than {}",
                  name_of(p.optimizer));
    if (p.optimizer == Optimizer::adamw_bf16 || p.optimizer == Optimizer::adamw_8bit)
        t.replace(&ParallelPlan::optimizer, Optimizer::adamw, "optimizer",
                  "DeepSpeed's AdamW keeps its moments in fp32, not as {}", name_of(p.optimizer));
    if (offloads_optimizer(p) && p.zero == 0 && most_copies(p, model) > 1)
        t.replace(&ParallelPlan::offload, without_optimizer(p.offload), "offload",
                  "the optimizer is offloaded with ZeRO 1, 2 or 3 only");
    if (offloads_optimizer(p) && p.optimizer == Optimizer::sgd)
        t.replace(&ParallelPlan::offload, without_optimizer(p.offload), "offload",
                  "Megatron-DeepSpeed offloads Adam's state only; SGD's stays (--optimizer adamw)");
    if (offloads_parameters(p) && p.zero != 3)
        t.replace(&ParallelPlan::offload, without_parameters(p.offload), "offload",
                  "DeepSpeed offloads weights with ZeRO 3 only: they stay");
    if (offloads_activations(p) && p.recompute != Recompute::full)
        t.replace(&ParallelPlan::offload, without_activations(p.offload), "offload",
                  "DeepSpeed offloads the checkpoints of recomputed layers and no other activations");
}

void translate_step(Translation& t) {
    ParallelPlan& p = t.plan;
    t.recompute_attention_core();
    if (p.pp > 1)
        t.replace(&ParallelPlan::recompute_layers, std::int64_t{0}, "recompute_layers",
                  "Megatron-DeepSpeed's pipeline recomputes all layers of a stage or none: the file has all");
    t.leave_out_gradients();
    if (is_narrow(p.precision))
        t.replace(&ParallelPlan::precision, Precision::bf16, "precision", "DeepSpeed has no {}: the file has bf16",
                  name_of(p.precision));
    t.replace(&ParallelPlan::fused_cross_entropy, Switch::off, "fused_cross_entropy",
              "Megatron-DeepSpeed has no argument for it");
    t.replace(&ParallelPlan::loss_chunks, std::int64_t{1}, "loss_chunks", "Megatron-DeepSpeed has all logits at once");
}

void add_layout(ArgumentLines& lines, ParallelPlan const& p, ModelSpec const& model) {
    lines.option("--tensor-model-parallel-size", p.tp);
    lines.option("--pipeline-model-parallel-size", p.pp);
    if (p.pp == 1) lines.flag("--no-pipeline-parallel");
    if (p.cp > 1) lines.option("--ds-sequence-parallel-size", p.cp);
    if (p.sequence_parallel == Switch::on) lines.flag("--sequence-parallel");
    if (!model.moe) return;
    lines.option("--moe-expert-parallel-size", p.ep);
    if (p.expert_tp > 1) lines.flag("--enable-expert-tensor-parallelism");
    lines.flag("--create-moe-param-group");
    lines.flag("--disable-moe-token-dropping");
}

void add_step(ArgumentLines& lines, LaunchPlan const& launch, ParallelPlan const& p) {
    lines.option("--zero-stage", deepspeed_stage(launch, p));
    lines.option("--seq-length", launch.workload.sequence);
    lines.option("--micro-batch-size", p.micro_batch);
    lines.option("--global-batch-size", launch.workload.global_batch);
    if (p.recompute == Recompute::selective) lines.option("--recompute-granularity", "selective");
    if (p.recompute == Recompute::full) {
        lines.flag("--deepspeed-activation-checkpointing");
        lines.option("--recompute-granularity", "full");
        lines.option("--recompute-method", p.recompute_layers > 0 ? "block" : "uniform");
        lines.option("--recompute-num-layers", p.recompute_layers > 0 ? p.recompute_layers : 1);
    }
    if (p.attention == AttentionKernel::flash) lines.flag("--use-flash-attn-v2");
    if (p.attention == AttentionKernel::eager) lines.flag("--no-masked-softmax-fusion");
    lines.option("--attention-dropout", p.dropout == Switch::on ? "0.1" : "0");
    lines.option("--hidden-dropout", p.dropout == Switch::on ? "0.1" : "0");
    if (p.precision == Precision::bf16) lines.flag("--bf16");
    if (p.precision == Precision::fp16) lines.flag("--fp16");
    lines.option("--optimizer", p.optimizer == Optimizer::sgd ? "sgd" : "adam");
    if (offloads_optimizer(p)) lines.flag("--cpu-optimizer");
}

/// Every n-th layer has experts (n - 1, 2n - 1, ... counted from 0): n; 0 for any other pattern.
std::int64_t expert_interval(ModelSpec const& model) {
    std::int64_t first = 0;
    while (first < model.layer_count() && !model.layers[static_cast<std::size_t>(first)].moe)
        ++first;
    for (std::int64_t layer = 0; layer < model.layer_count(); ++layer)
        if (model.layers[static_cast<std::size_t>(layer)].moe != ((layer + 1) % (first + 1) == 0)) return 0;
    return first + 1;
}

/// One width serves dense layers and experts.
void add_experts(ArgumentLines& lines, Translation& t, ModelSpec const& model) {
    MoeSpec const& moe = *model.moe;
    std::int64_t const interval = expert_interval(model);
    lines.option("--num-experts", moe.experts);
    lines.option("--topk", moe.top_k);
    lines.option("--expert-interval", std::max<std::int64_t>(interval, 1));
    if (interval == 0)
        t.cannot("model", "Megatron-DeepSpeed has experts in every n-th layer: the file has them in every one");
    if (!experts_everywhere(model) && moe.intermediate != model.mlp.intermediate)
        t.cannot("model",
                 "Megatron-DeepSpeed has one feed-forward width for dense layers and experts: experts are {} "
                 "wide, the file has {}",
                 moe.intermediate, model.mlp.intermediate);
    if (moe.shared_intermediate > 0) t.cannot("model", "Megatron-DeepSpeed has no shared experts");
    if (moe.correction_bias) t.cannot("model", "Megatron-DeepSpeed has no correction of the experts' scores");
}

/// What newer Megatron-LM has arguments for.
void note_missing(Translation& t, ModelSpec const& model) {
    AttentionSpec const& a = model.attention;
    for (std::string const& missing : without_argument(model))
        t.cannot("model", "Megatron-DeepSpeed has no argument for {}", missing);
    if (a.latent) t.cannot("model", "Megatron-DeepSpeed has no latent attention");
    if (a.window > 0) t.cannot("model", "Megatron-DeepSpeed has no sliding window");
    if (a.sinks) t.cannot("model", "Megatron-DeepSpeed has no attention sinks");
    if (a.query_key_norm == AttentionSpec::QueryKeyNorm::shared_head)
        t.cannot("model", "Megatron-DeepSpeed has no norm of queries and keys");
    if (a.qkv_bias && !model.mlp.bias)
        t.cannot("model",
                 "Megatron-DeepSpeed has biases everywhere or nowhere: those of queries, keys and values are "
                 "left out");
    if (model.position == PositionKind::none)
        t.cannot("model", "Megatron-DeepSpeed has no model without positions: the file has learned ones");
    if (model.mtp_modules > 0) t.cannot("model", "Megatron-DeepSpeed has no multi-token prediction");
}

/// The architecture, as far as Megatron-DeepSpeed's older arguments have words for it.
void add_model(ArgumentLines& lines, Translation& t, LaunchPlan const& launch) {
    ModelSpec const& model = launch.model;
    lines.comment("model; rotary base and epsilon are not part of the plan: see its config.json");
    lines.option("--num-layers", model.layer_count());
    lines.option("--hidden-size", model.hidden);
    std::int64_t const width =
        model.moe && experts_everywhere(model) ? model.moe->intermediate : model.mlp.intermediate;
    if (width > 0) lines.option("--ffn-hidden-size", width);
    lines.option("--num-attention-heads", model.attention.heads);
    if (model.attention.kv_heads != model.attention.heads && !model.attention.latent)
        lines.option("--num-key-value-heads", model.attention.kv_heads);
    if (model.attention.head_dim * model.attention.heads != model.hidden && !model.attention.latent)
        lines.option("--kv-channels", model.attention.head_dim);
    lines.option("--max-position-embeddings", positions_argument(launch));
    if (model.position == PositionKind::rotary) lines.flag("--use-rotary-position-embeddings");
    lines.option("--normalization", model.norm == NormKind::rms ? "rmsnorm" : "layernorm");
    std::vector<std::string> unknown;
    add_megatron_activation(lines, unknown, model);
    for (std::string const& missing : unknown)
        t.cannot("model", "Megatron-DeepSpeed has no argument for {}", missing);
    if (!model.mlp.bias) lines.flag("--disable-bias-linear");
    if (!model.tied_embeddings) lines.flag("--untie-embeddings-and-output-weights");
    lines.option("--vocab-size", model.vocab);
    if (model.moe) add_experts(lines, t, model);
    note_missing(t, model);
}

void add_run(ArgumentLines& lines, LaunchPlan const& launch) {
    lines.comment("the run");
    lines.flag("--deepspeed");
    lines.option("--deepspeed_config", "ds_config.json");
    lines.option("--train-iters", launch.settings.steps);
    lines.option("--lr", fmt::format("{}", launch.settings.learning_rate));
    lines.variable("--data-path", "data");
    lines.option("--tokenizer-type", "HFTokenizer");
    lines.variable("--tokenizer-model", "tokenizer");
    lines.variable("--save", "checkpoints");
    lines.variable("--load", "checkpoints");
    if (launch.checkpoint.steps > 0) lines.option("--save-interval", launch.checkpoint.steps);
}

Export write(LaunchPlan const& launch);

constexpr std::array<std::string_view, 4> vendors{"NVIDIA", "AMD", "Intel", "Huawei"};

}  // namespace

extern constinit ExporterEntry const deepspeed_exporter;
constinit ExporterEntry const deepspeed_exporter{
    .name = "deepspeed",
    .title = "DeepSpeed configuration and the arguments of Megatron-DeepSpeed",
    .written = "DeepSpeed 0.17",
    .vendors = vendors,
    .write = write,
};

namespace {

Export write(LaunchPlan const& launch) {
    Translation t(launch);
    t.leave_out_adapters();
    t.leave_out_named_activations();
    t.leave_out_offload_layers();
    t.leave_out_activation_input();
    t.leave_out_narrow_copies();
    translate_pipeline(t, launch.model);
    translate_parallelism(t, launch.model);
    translate_state(t, launch.model);
    translate_step(t);
    t.settle(deepspeed_exporter, launch);
    ArgumentLines lines;
    lines.comment("how the model is split");
    add_layout(lines, t.plan, launch.model);
    lines.comment("one step; the same numbers as in ds_config.json");
    add_step(lines, launch, t.plan);
    add_model(lines, t, launch);
    add_run(lines, launch);
    TorchrunScript script{.header = file_header(deepspeed_exporter, launch, t.notes),
                          .environment = {},
                          .arguments = lines.text(),
                          .program = "pretrain_gpt.py"};
    auto const set = [&](char const* name, char const* value) { script.environment.emplace_back(name, value); };
    if (t.plan.precision == Precision::fp32) set("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "0");
    if (t.plan.precision == Precision::tf32) set("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "1");
    // Megatron-DeepSpeed refuses sequence parallelism without one queue of work, whatever the accelerator.
    if (t.plan.sequence_parallel == Switch::on) set("CUDA_DEVICE_MAX_CONNECTIONS", "1");
    return {.files = {{"ds_config.json", deepspeed_config(launch, t.plan)},
                      {"deepspeed.sh", torchrun_script(launch, script)}},
            .not_expressed = t.notes,
            .expressed = t.plan,
            .command = {"bash", "deepspeed.sh"}};
}

}  // namespace
}  // namespace sextant
