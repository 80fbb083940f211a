#include "planner/exporters/exporter.hpp"
#include "planner/exporters/quoting.hpp"

// Keys of src/MaxText/configs/base.yml; variables of initialize_jax_for_gpu in src/MaxText/max_utils.py.

namespace sextant {
namespace {

void translate_layout(Translation& t, LaunchPlan const& launch) {
    ParallelPlan& p = t.plan;
    Schedule const kept = p.pp == 1 ? Schedule::one_f_one_b : p.vpp > 1 ? Schedule::breadth_first : Schedule::gpipe;
    t.replace(&ParallelPlan::schedule, kept, "schedule",
              "MaxText runs all forwards before the backwards (in circles over the chunks of a pipeline), and no {}",
              name_of(p.schedule));
    t.replace(&ParallelPlan::stage_layers, std::vector<std::int64_t>{}, "stage_layers",
              "stages have equal numbers of layers");
    if (launch.model.layer_count() % (p.pp * p.vpp) != 0)
        t.cannot("pp", "{} layers are not divisible by {} chunks: set pipeline_parallel_layers",
                 launch.model.layer_count(), p.pp * p.vpp);
    if (p.pp > 1 && launch.microbatches() % p.pp != 0)
        t.cannot("micro_batch", "num_pipeline_microbatches has to be a multiple of the {} stages, {} is not", p.pp,
                 launch.microbatches());
    if (p.cp > 1)
        t.replace(&ParallelPlan::cp_mode, ContextParallel::all_gather, "cp_mode", "keys and values are all-gathered");
    if (p.zero == 2) t.replace(&ParallelPlan::zero, 3, "zero", "the fsdp axis shards weights as well (ZeRO 3)");
    if (p.zero == 1 && p.shard_group > 0)
        t.replace(&ParallelPlan::shard_group, std::int64_t{0}, "shard_group",
                  "the optimizer is sharded over all of the data axis");
}

void translate_experts(Translation& t, ModelSpec const& model) {
    if (!model.moe) return;
    ParallelPlan& p = t.plan;
    t.replace(&ParallelPlan::expert_tp, p.tp, "expert_tp", "experts are cut over the tensor axis, {} ranks", p.tp);
    if (p.dp % p.ep != 0) {
        t.cannot("ep",
                 "the expert axis is part of data parallelism: {} does not divide dp {}, so experts are not divided",
                 p.ep, p.dp);
        p.ep = 1;
    }
    t.replace(&ParallelPlan::dispatcher, Dispatcher::all_to_all, "moe_dispatcher", "tokens go by all-to-all");
}

void translate_step(Translation& t) {
    ParallelPlan& p = t.plan;
    t.recompute_attention_core();
    t.leave_out_gradients();
    if (p.recompute == Recompute::none)
        t.cannot("recompute", "XLA always recomputes what is cheap: minimal_with_context is the least");
    t.replace(&ParallelPlan::recompute_layers, std::int64_t{0}, "recompute_layers", "a policy holds for all layers");
    if (p.optimizer == Optimizer::adamw_8bit)
        t.replace(&ParallelPlan::optimizer, Optimizer::adamw, "optimizer", "there are no 8-bit moments");
    if (p.optimizer == Optimizer::adamw_bf16)
        t.cannot("optimizer", "mu_dtype is the first moment's only: the second stays in fp32");
    if (p.precision == Precision::fp16 || p.precision == Precision::fp4 || p.precision == Precision::tf32)
        t.replace(&ParallelPlan::precision, p.precision == Precision::tf32 ? Precision::fp32 : Precision::bf16,
                  "precision", "there is no {}", name_of(p.precision));
    if (unscaled(p.precision) != p.precision)
        t.replace(&ParallelPlan::precision, Precision::fp8, "precision", "there is no {}: the file has fp8",
                  name_of(p.precision));
    if (p.attention == AttentionKernel::eager)
        t.replace(&ParallelPlan::attention, AttentionKernel::unfused, "attention", "the compiler fuses the softmax");
    t.replace(&ParallelPlan::fused_cross_entropy, Switch::off, "fused_cross_entropy",
              "XLA decides what is fused (num_vocab_tiling cuts the loss into pieces)");
    if (offloads_activations(p) && p.recompute == Recompute::full)
        t.cannot("offload", "remat_policy is either full or minimal_offloaded; the file has minimal_offloaded");
}

std::string axes(LaunchPlan const& launch, ParallelPlan const& p) {
    bool const tpu = launch.cluster.scale_up.kind == ScaleUpKind::torus;
    std::int64_t const world = launch.plan.world_size();
    bool const spans = tpu && world > launch.cluster.domain_size && world % launch.cluster.domain_size == 0;
    std::int64_t const slices = spans ? world / launch.cluster.domain_size : 1;
    std::int64_t const ranks = p.dp / p.ep;
    std::int64_t const group = p.zero == 3 ? p.shard_group > 0 ? p.shard_group : ranks * p.cp : p.cp;
    std::int64_t const sharded = std::max<std::int64_t>(1, std::min(ranks, group / p.cp));
    std::int64_t const data = std::max<std::int64_t>(1, ranks / sharded);
    bool const on_data = data % slices == 0;
    std::string out;
    auto const axis = [&](char const* name, std::int64_t value) { out += fmt::format("{}: {}\n", name, value); };
    if (slices > 1) {
        axis("dcn_data_parallelism", on_data ? slices : 1);
        axis("dcn_fsdp_parallelism", on_data ? 1 : slices);
    }
    axis("ici_data_parallelism", on_data ? data / slices : data);
    axis("ici_fsdp_parallelism", on_data ? sharded : std::max<std::int64_t>(1, sharded / slices));
    axis(p.sequence_parallel == Switch::on ? "ici_tensor_sequence_parallelism" : "ici_tensor_parallelism", p.tp);
    axis("ici_context_parallelism", p.cp);
    axis("ici_expert_parallelism", p.ep);
    axis("ici_pipeline_parallelism", p.pp);
    if (p.zero == 1) out += "shard_optimizer_over_data: true\n";
    if (p.pp > 1) {
        axis("num_layers_per_pipeline_stage", std::max<std::int64_t>(1, launch.model.layer_count() / (p.pp * p.vpp)));
        axis("num_pipeline_repeats", p.vpp);
        axis("num_pipeline_microbatches", launch.microbatches());
    }
    return out;
}

std::string step(LaunchPlan const& launch, ParallelPlan const& p) {
    bool const tpu = launch.cluster.scale_up.kind == ScaleUpKind::torus;
    auto const world = static_cast<double>(launch.plan.world_size());
    double const sequences =
        p.pp > 1 ? static_cast<double>(launch.workload.global_batch) : static_cast<double>(p.micro_batch * p.dp);
    std::string out = fmt::format("per_device_batch_size: {:.6f}\ngradient_accumulation_steps: {}\n", sequences / world,
                                  p.pp > 1 ? 1 : launch.microbatches());
    out += fmt::format("max_target_length: {}\nsteps: {}\nlearning_rate: {:.4e}\n", launch.workload.sequence,
                       launch.settings.steps, launch.settings.learning_rate);
    char const* policy = p.recompute == Recompute::full        ? "full"
                         : p.recompute == Recompute::selective ? "minimal"
                                                               : "minimal_with_context";
    if (offloads_activations(p)) policy = "minimal_offloaded";
    out += fmt::format("remat_policy: \"{}\"\n", policy);
    out += fmt::format("attention: \"{}\"\n", p.attention == AttentionKernel::unfused ? "dot_product"
                                              : tpu                                   ? "flash"
                                                                                      : "cudnn_flash_te");
    out += fmt::format("dtype: \"{}\"\n", p.precision == Precision::fp32 ? "float32" : "bfloat16");
    if (p.precision == Precision::fp8)
        out += fmt::format("quantization: \"{}\"\n", launch.cluster.accelerator.vendor == "AMD" ? "nanoo_fp8" : "fp8");
    out += fmt::format("opt_type: \"{}\"\n", p.optimizer == Optimizer::sgd    ? "sgd"
                                             : p.optimizer == Optimizer::muon ? "muon"
                                                                              : "adamw");
    if (p.optimizer == Optimizer::adamw_bf16) out += "mu_dtype: \"bfloat16\"\n";
    if (offloads_optimizer(p)) out += "optimizer_memory_host_offload: true\n";
    out += fmt::format("enable_dropout: {}\ndropout_rate: {}\n", p.dropout == Switch::on,
                       p.dropout == Switch::on ? 0.1 : 0.0);
    return out;
}

Export write(LaunchPlan const& launch);

}  // namespace

extern constinit ExporterEntry const maxtext_exporter;
constinit ExporterEntry const maxtext_exporter{
    .name = "maxtext",
    .title = "MaxText configuration",
    .written = "MaxText of late 2025 (src/MaxText/configs/base.yml)",
    .write = write,
};

namespace {

Export write(LaunchPlan const& launch) {
    Translation t(launch);
    t.leave_out_adapters();
    translate_layout(t, launch);
    translate_experts(t, launch.model);
    translate_step(t);
    t.settle(launch);
    bool const tpu = launch.cluster.scale_up.kind == ScaleUpKind::torus;
    std::string yaml = file_header(maxtext_exporter, launch, t.notes);
    yaml += "base_config: \"base.yml\"\n";
    yaml += "run_name: " + yaml_quoted(dns_label(launch.model.name)) + "\n";
    yaml += "# model_name is one of MaxText's own; this plan is for " + comment_text(launch.model.name) + "\n";
    yaml += "model_name: \"REPLACE_WITH_MODEL_NAME\"\n";
    yaml += fmt::format("hardware: \"{}\"\n", tpu ? "tpu" : "gpu");
    yaml += "base_output_directory: " + yaml_quoted(launch.settings.checkpoints) + "\n";
    yaml += "dataset_path: " + yaml_quoted(launch.settings.data) + "\n";
    yaml += "tokenizer_path: " + yaml_quoted(launch.settings.tokenizer) + "\n";
    yaml += "enable_checkpointing: true\nasync_checkpointing: true\n";
    if (launch.checkpoint.steps > 0) yaml += fmt::format("checkpoint_period: {}\n", launch.checkpoint.steps);
    yaml += axes(launch, t.plan) + step(launch, t.plan);
    return {.files = {{"maxtext.yml", yaml}},
            .not_expressed = t.notes,
            .expressed = t.plan,
            .command = {"python3", "-m", "MaxText.train", "maxtext.yml"},
            .reads_coordinator = !tpu && launch.nodes > 1};
}

}  // namespace
}  // namespace sextant
