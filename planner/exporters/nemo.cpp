#include "core/is_one_of.hpp"
#include "cost_models/weight_copies.hpp"
#include "planner/exporters/exporter.hpp"
#include "planner/exporters/megatron_attention.hpp"
#include "planner/exporters/megatron_model.hpp"
#include "planner/exporters/megatron_translation.hpp"
#include "planner/exporters/nemo_adapters.hpp"
#include "planner/exporters/quoting.hpp"

#include <array>

// nemo.lightning.MegatronStrategy and nemo.collections.llm of NeMo 2.

namespace sextant {
namespace {

char const* truth(bool value) { return value ? "True" : "False"; }
char const* truth(Switch value) { return truth(value == Switch::on); }

/// Megatron-Core's default is GELU, with a gate as without one; none: the default stays.
char const* activation_function(ModelSpec const& model) {
    switch (activation_of(model)) {
        case Activation::silu: return "torch.nn.functional.silu";
        case Activation::gelu: return "torch.nn.functional.gelu";
        case Activation::relu: return "torch.nn.functional.relu";
        case Activation::squared_relu: return "squared_relu";
        case Activation::other: break;
    }
    return nullptr;
}

void note_missing(Translation& t, ModelSpec const& model) {
    for (std::string const& missing : without_argument(model))
        t.cannot("model", "the recipe has no argument for {}", missing);
    if (corrects_softmax(model)) t.cannot("model", "the recipe has no argument for {}", softmax_correction);
    if (!activation_function(model))
        t.cannot("model", "the recipe has no argument for {}: it has GELU", name_of(activation_of(model)));
    if (model.attention.window > 0) t.cannot("model", "the recipe has no sliding window: every layer sees everything");
    if (model.attention.sinks) t.cannot("model", "the recipe has no attention sinks");
    if (model.mtp_modules > 0) t.cannot("model", "the recipe has no multi-token prediction");
}

constexpr std::array translated_optimizers{Optimizer::adamw, Optimizer::adamw_bf16, Optimizer::adamw_pure_bf16};

void translate_for_nemo(Translation& t, LaunchPlan const& launch) {
    ModelSpec const& model = launch.model;
    ParallelPlan& p = t.plan;
    if (!is_one_of(translated_optimizers, p.optimizer))
        t.replace(&ParallelPlan::optimizer, Optimizer::adamw, "optimizer", "the recipe has Adam, and no {}",
                  name_of(p.optimizer));
    if (p.precision == Precision::tf32 || p.precision == Precision::fp4)
        t.replace(&ParallelPlan::precision, p.precision == Precision::tf32 ? Precision::fp32 : Precision::bf16,
                  "precision", "the recipe has no {}", name_of(p.precision));
    translate_for_megatron(t, launch);
    if (hybrid_ep_ranks(p, launch) > 0)
        t.replace(
            &ParallelPlan::dispatcher, Dispatcher::all_to_all, "moe_dispatcher",
            "the recipe can ask for DeepEP alone, whose domains are hosts of at most eight ranks: it has alltoall");
    if (!divides_evenly(p, model)) {
        t.cannot("stage_layers",
                 "the recipe lets Megatron-Core divide the layers evenly, which it can only if they are "
                 "divisible by {} chunks",
                 p.pp * p.vpp);
        p.stage_layers.clear();
    }
    if (model.attention.latent)
        t.cannot("model", "latent attention: take the recipe of DeepSeek's model class instead");
    if (p.adapters.on()) translate_adapters_for_nemo(t, model);
    if (offloads_activations(p))
        t.replace(&ParallelPlan::offload, without_activations(p.offload), "offload",
                  "activations are not offloaded by the recipe");
    note_head_exchange(t, model);
    note_missing(t, model);
}

/// Kernels that Megatron-LM fuses unless it is told otherwise, and a GPTConfig only if it is told. The activation's is
/// of SwiGLU, and outside of experts of GELU with a gate or a bias; that of rotary positions is not of latent
/// attention's. Source: transformer_config.py and mlp.py of Megatron-Core 0.15.
std::string fusions(ModelSpec const& m) {
    Activation const activation = activation_of(m);
    bool const with_bias = (activation == Activation::silu && m.mlp.gated) ||
                           (activation == Activation::gelu && !m.moe && (m.mlp.gated || m.mlp.bias));
    bool const rotates = m.position == PositionKind::rotary && !m.attention.latent;
    return fmt::format(
        "        bias_activation_fusion={},\n        bias_dropout_fusion=True,\n        apply_rope_fusion={},\n",
        truth(with_bias), truth(rotates));
}

std::string model_config(ParallelPlan const& p, ModelSpec const& m) {
    std::string out = "MODEL = run.Config(\n    llm.GPTModel,\n    config=run.Config(\n        llm.GPTConfig,\n";
    auto const set = [&](char const* name, auto const& value) { out += fmt::format("        {}={},\n", name, value); };
    set("num_layers", m.layer_count());
    set("hidden_size", m.hidden);
    if (m.mlp.intermediate > 0) set("ffn_hidden_size", m.mlp.intermediate);
    set("num_attention_heads", m.attention.heads);
    set("num_query_groups", m.attention.kv_heads);
    set("kv_channels", m.attention.head_dim);
    set("seq_length", "SEQUENCE");
    set("gated_linear_unit", truth(m.mlp.gated));
    if (char const* const function = activation_function(m)) set("activation_func", function);
    set("normalization", m.norm == NormKind::rms ? "\"RMSNorm\"" : "\"LayerNorm\"");
    set("position_embedding_type", m.position == PositionKind::rotary    ? "\"rope\""
                                   : m.position == PositionKind::learned ? "\"learned_absolute\""
                                                                         : "\"none\"");
    set("add_bias_linear", truth(m.mlp.bias));
    set("add_qkv_bias", truth(m.attention.qkv_bias));
    if (m.attention.query_key_norm != AttentionSpec::QueryKeyNorm::none) set("qk_layernorm", "True");
    set("share_embeddings_and_output_weights", truth(m.tied_embeddings));
    set("attention_dropout", p.dropout == Switch::on ? "0.1" : "0.0");
    set("hidden_dropout", p.dropout == Switch::on ? "0.1" : "0.0");
    set("cross_entropy_loss_fusion", truth(p.fused_cross_entropy));
    if (p.fp8_activation_input == Switch::on) set("activation_func_fp8_input_store", "True");
    if (p.zero >= 2) set("gradient_accumulation_fusion", "False");  // which Megatron FSDP refuses
    out += fusions(m);
    if (p.vpp > 1) {
        // Megatron-LM's own choice with several chunks; a batch of transfers cannot be beside products.
        set("overlap_p2p_comm", "True");
        set("batch_p2p_comm", "False");
    }
    if (m.moe) {
        set("num_moe_experts", m.moe->experts);
        set("moe_router_topk", m.moe->top_k);
        if (m.moe->groups > 1) {
            set("moe_router_num_groups", m.moe->groups);
            set("moe_router_group_topk", m.moe->chosen_groups);
        }
        set("moe_ffn_hidden_size", m.moe->intermediate);
        if (!experts_everywhere(m)) set("moe_layer_freq", expert_pattern(m));
        if (m.moe->correction_bias) set("moe_router_enable_expert_bias", "True");
        if (scores_by_sigmoid(m)) set("moe_router_score_function", "\"sigmoid\"");
        if (softmax_before_choice(m)) set("moe_router_pre_softmax", "True");
        set("moe_grouped_gemm", "True");
        set("moe_token_dispatcher_type", p.dispatcher == Dispatcher::deduplicated ? "\"flex\"" : "\"alltoall\"");
        if (p.dispatcher == Dispatcher::deduplicated) set("moe_enable_deepep", "True");
        if (overlaps_experts(p)) set("overlap_moe_expert_parallel_comm", "True");
        if (m.moe->shared_intermediate > 0) set("moe_shared_expert_intermediate_size", m.moe->shared_intermediate);
    }
    if (p.recompute != Recompute::none)
        set("recompute_granularity", p.recompute == Recompute::full ? "\"full\"" : "\"selective\"");
    if (p.recompute == Recompute::selective)
        set("recompute_modules", fmt::format("[\"{}\"]", modules_text(p.recompute_modules, "\", \"")));
    if (p.recompute == Recompute::full) {
        set("recompute_method", p.recompute_layers > 0 ? "\"block\"" : "\"uniform\"");
        set("recompute_num_layers", p.recompute_layers > 0 ? p.recompute_layers / p.vpp : 1);
    }
    set("attention_backend", fmt::format("AttnBackend.{}", megatron_attention_backend(p, m)));
    if (p.attention == AttentionKernel::eager) set("masked_softmax_fusion", "False");
    if (p.cp > 1)
        set("cp_comm_type", p.cp_mode == ContextParallel::ring         ? "\"p2p\""
                            : p.cp_mode == ContextParallel::all_gather ? "\"all_gather\""
                                                                       : "\"a2a\"");
    return out + "    ),\n)\n\n";
}

std::string strategy(ParallelPlan const& p, LaunchPlan const& launch) {
    ModelSpec const& m = launch.model;
    std::string out = "STRATEGY = run.Config(\n    nl.MegatronStrategy,\n";
    auto const set = [&](char const* name, auto const& value) { out += fmt::format("    {}={},\n", name, value); };
    set("tensor_model_parallel_size", p.tp);
    set("pipeline_model_parallel_size", p.pp);
    if (p.pp > 1)
        set("pipeline_dtype", p.precision == Precision::fp32   ? "torch.float32"
                              : p.precision == Precision::fp16 ? "torch.float16"
                                                               : "torch.bfloat16");
    if (p.vpp > 1) set("virtual_pipeline_model_parallel_size", p.vpp);
    if (std::int64_t const group = chunk_group(p, launch.microbatches()); group > 0)
        set("microbatch_group_size_per_vp_stage", group);
    set("context_parallel_size", p.cp);
    set("sequence_parallel", truth(p.sequence_parallel));
    if (p.shard_group > 0) set("num_distributed_optimizer_instances", p.dp * p.cp / p.shard_group);
    if (m.moe) {
        set("expert_model_parallel_size", p.ep);
        set("expert_tensor_parallel_size", p.expert_tp);
    }
    if (p.zero >= 2) set("fsdp", "\"megatron\"");
    set("ckpt_async_save", "True");
    out += "    ddp=run.Config(\n        DistributedDataParallelConfig,\n";
    auto const ddp = [&](char const* name, auto const& value) { out += fmt::format("        {}={},\n", name, value); };
    ddp("use_distributed_optimizer", truth(shares_optimizer(p)));
    ddp("overlap_grad_reduce", truth(most_copies(p, m) > 1));
    ddp("overlap_param_gather", truth(most_copies(p, m) > 1 && shares_optimizer(p)));
    if (p.zero >= 2) ddp("data_parallel_sharding_strategy", p.zero == 2 ? "\"optim_grads\"" : "\"optim_grads_params\"");
    return out + "    ),\n)\n\n";
}

/// The function of nemo.collections.llm.recipes.precision that makes the plugin, nullptr: none does.
char const* plugin(ParallelPlan const& p) {
    switch (p.precision) {
        case Precision::fp32: return nullptr;
        case Precision::fp16: return "fp16_mixed";
        case Precision::fp8: return scales_at_once(p) ? "bf16_with_fp8_current_scaling_mixed" : "bf16_with_fp8_mixed";
        case Precision::fp8_block: return "bf16_with_fp8_subchannel_scaling_mixed";
        case Precision::mxfp8: return "bf16_with_mxfp8_mixed";
        default: return "bf16_mixed";
    }
}

std::string plugin_import(ParallelPlan const& p) {
    char const* const name = plugin(p);
    if (!name) return "";
    return fmt::format("from nemo.collections.llm.recipes.precision.mixed_precision import {}\n", name);
}

std::string plugin_call(ParallelPlan const& p) {
    char const* const name = plugin(p);
    return name ? fmt::format("{}()", name) : "run.Config(nl.MegatronMixedPrecision, precision=\"32\")";
}

std::string recipe(LaunchPlan const& launch, ParallelPlan const& p) {
    std::string out =
        "OPTIMIZER = run.Config(\n    nl.MegatronOptimizerModule,\n    config=run.Config(\n"
        "        OptimizerConfig,\n        optimizer=\"adam\",\n        lr=LEARNING_RATE,\n";
    out += fmt::format("        bf16={},\n        fp16={},\n        use_distributed_optimizer={},\n",
                       truth(p.precision != Precision::fp16 && p.precision != Precision::fp32),
                       truth(p.precision == Precision::fp16), truth(shares_optimizer(p)));
    if (precision_aware(p)) out += "        use_precision_aware_optimizer=True,\n";
    if (p.optimizer == Optimizer::adamw_bf16)
        out += "        exp_avg_dtype=torch.bfloat16,\n        exp_avg_sq_dtype=torch.bfloat16,\n";
    if (offloads_optimizer(p)) out += "        optimizer_cpu_offload=True,\n        optimizer_offload_fraction=1.0,\n";
    bool const tunes = p.adapters.on();
    out += fmt::format("    ),\n)\n\nRECIPE = run.Partial(\n    llm.{},\n    model=MODEL,\n    optim=OPTIMIZER,\n",
                       tunes ? "finetune" : "pretrain");
    if (tunes) out += "    peft=" + nemo_adapters(p.adapters) + ",\n";
    out += tunes ? "    data=run.Config(\n        llm.FineTuningDataModule,\n        dataset_root=DATA_PATH,\n"
                 : "    data=run.Config(\n        llm.PreTrainingDataModule,\n        paths=[DATA_PATH],\n";
    out +=
        "        tokenizer=run.Config(AutoTokenizer, pretrained_model_name=TOKENIZER_PATH),\n"
        "        seq_length=SEQUENCE,\n";
    out += fmt::format("        micro_batch_size={},\n        global_batch_size={},\n    ),\n", p.micro_batch,
                       launch.workload.global_batch);
    out += fmt::format(
        "    trainer=run.Config(\n        nl.Trainer,\n        accelerator=\"gpu\",\n        devices={},\n"
        "        num_nodes={},\n        max_steps=STEPS,\n        plugins={},\n        strategy=STRATEGY,\n"
        "        use_distributed_sampler=False,\n    ),\n",
        launch.per_node, launch.nodes, plugin_call(p));
    out +=
        "    log=run.Config(\n        nl.NeMoLogger,\n        log_dir=CHECKPOINT_FOLDER,\n"
        "        ckpt=run.Config(nl.ModelCheckpoint, every_n_train_steps=CHECKPOINT_INTERVAL, save_last=True),\n"
        "    ),\n";
    out += tunes ? "    resume=run.Config(\n        nl.AutoResume,\n        resume_if_exists=True,\n"
                   "        restore_config=run.Config(nl.RestoreConfig, path=BASE_CHECKPOINT),\n    ),\n)\n\n"
                 : "    resume=run.Config(nl.AutoResume, resume_if_exists=True),\n)\n\n";
    if (p.gradients == GradientFormat::bf16) out += "RECIPE.trainer.plugins.grad_reduce_in_fp32 = False\n\n";
    if (unscaled(p.precision) == Precision::fp8)
        out += fmt::format("RECIPE.trainer.plugins.fp8_param_gather = {}\n\n", truth(holds_narrow_weights(p)));
    if (scales_at_once(p)) out += "RECIPE.trainer.plugins.first_last_layers_bf16 = False\n\n";
    out += "if __name__ == \"__main__\":\n    run.run(RECIPE, direct=True)\n";
    return out;
}

Export write(LaunchPlan const& launch);

constexpr std::array<std::string_view, 1> vendors{"NVIDIA"};

}  // namespace

extern constinit ExporterEntry const nemo_exporter;
constinit ExporterEntry const nemo_exporter{
    .name = "nemo",
    .title = "NeMo 2 recipe",
    .written = "NeMo 2.5",
    .vendors = vendors,
    .write = write,
};

namespace {

Export write(LaunchPlan const& launch) {
    Translation t(launch);
    translate_for_nemo(t, launch);
    t.settle(nemo_exporter, launch);
    std::string python = "#!/usr/bin/env python3\n" + file_header(nemo_exporter, launch, t.notes);
    python +=
        "\nimport nemo_run as run\nimport torch\nfrom megatron.core.distributed import DistributedDataParallelConfig\n"
        "from megatron.core.optimizer import OptimizerConfig\n"
        "from megatron.core.transformer.enums import AttnBackend\nfrom nemo import lightning as nl\n"
        "from nemo.collections import llm\nfrom nemo.collections.common.tokenizers import AutoTokenizer\n";
    python += plugin_import(t.plan);
    if (activation_of(launch.model) == Activation::squared_relu)
        python += "from megatron.core.activations import squared_relu\n";
    if (t.plan.adapters.on()) python += nemo_adapters_import(t.plan.adapters);
    python += "\n";
    if (t.plan.adapters.on()) python += "BASE_CHECKPOINT = \"REPLACE_WITH_BASE_CHECKPOINT\"\n";
    python += fmt::format("DATA_PATH = {}\nTOKENIZER_PATH = {}\nCHECKPOINT_FOLDER = {}\n",
                          python_quoted(launch.settings.data), python_quoted(launch.settings.tokenizer),
                          python_quoted(launch.settings.checkpoints));
    python += fmt::format("SEQUENCE = {}\nSTEPS = {}\nLEARNING_RATE = {}\nCHECKPOINT_INTERVAL = {}  # steps\n\n",
                          launch.workload.sequence, launch.settings.steps, launch.settings.learning_rate,
                          launch.checkpoint.steps > 0 ? launch.checkpoint.steps : launch.settings.steps);
    python += model_config(t.plan, launch.model) + strategy(t.plan, launch) + recipe(launch, t.plan);
    TorchrunScript const script{.header = file_header(nemo_exporter, launch, {}),
                                .environment = megatron_environment(t.plan, launch),
                                .arguments = {},
                                .program = "nemo_recipe.py"};
    return {.files = {{"nemo_recipe.py", python}, {"nemo.sh", torchrun_script(launch, script)}},
            .not_expressed = t.notes,
            .expressed = t.plan,
            .command = {"bash", "nemo.sh"}};
}

}  // namespace
}  // namespace sextant
