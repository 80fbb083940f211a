#include "cli/options/plan_options.hpp"

#include <CLI/App.hpp>

#include <fmt/format.h>

namespace sextant::cli {
namespace {

/// Model, machine and workload.
void add_subject_options(CLI::App& app, PlanOptions& o, Axes axes, Machine machine) {
    bool const search = axes == Axes::search;
    app.add_option("-m,--model", o.model, "preset (see 'sextant models') or a Hugging Face config.json")
        ->required()
        ->option_text("NAME|FILE");
    if (machine == Machine::required)
        app.add_option("-c,--cluster", o.cluster, "cluster (see 'sextant hardware') or a cluster file")
            ->required()
            ->option_text("NAME|FILE.json");
    app.add_option("-n,--gpus", o.accelerators,
                   search ? "accelerators; a list searches each" : "accelerators (default: what the degrees need)")
        ->option_text(search ? "N[,N...]" : "N");
    app.add_option("--seq", o.sequence, "tokens per sequence, such as 8192 or 8Ki (default: the model's, up to 8192)")
        ->option_text("TOKENS");
    app.add_option("--global-batch", o.global_batch, "sequences per step (default: about 4 M tokens)")
        ->option_text("N");
    app.add_option("--document-tokens", o.document,
                   "tokens per document where documents are packed into sequences, each attending to itself alone "
                   "(default: a sequence is one document)")
        ->option_text("TOKENS");
    app.add_option("--preference", o.preference,
                   "train on pairs of a chosen and a rejected sequence of --seq tokens each: dpo (with a frozen "
                   "reference) or reference-free (SimPO, ORPO, or DPO with stored log-probabilities of the reference); "
                   "--global-batch and --micro-batch then count pairs (default: none)")
        ->option_text("NAME");
    if (machine == Machine::required) {
        app.add_option("--framework", o.framework,
                       "whose constants to use: megatron, fsdp, torchtitan, nanotron, deepspeed, maxtext, pytorch, "
                       "transformers, generic, or a file (default: megatron; an older release: megatron:release=24.07)")
            ->option_text("NAME");
        app.add_option("--max-memory", o.max_memory,
                       "of each accelerator: '90%' or '70 GB' (default: the framework's usable fraction)")
            ->option_text("SIZE");
        app.add_option("--price", o.price, "US dollars per accelerator and hour (default: the profile's, indicative)")
            ->option_text("USD");
    }
}

/// Degrees, schedule and policies: what a search varies.
void add_axes(CLI::App& app, PlanOptions& o, Axes axes) {
    bool const search = axes == Axes::search;
    auto const add_axis = [&](char const* flag, std::string& target, char const* what, char const* usual = "1") {
        app.add_option(flag, target, fmt::format("{} (default: {})", what, search ? "search" : usual))
            ->option_text(search ? "AXIS" : "N")
            ->group("Plan");
    };
    add_axis("--tp", o.tp, "tensor parallelism");
    add_axis("--pp", o.pp, "pipeline parallelism");
    add_axis("--dp", o.dp, "data parallelism", "what is left");
    add_axis("--cp", o.cp, "context parallelism");
    add_axis("--ep", o.ep, "expert parallelism");
    add_axis("--vpp", o.vpp, "model chunks per stage (interleaved, breadth-first; 2 in a V)");
    add_axis("--micro-batch", o.micro_batch, "sequences per microbatch");
    add_axis("--zero", o.zero, "ZeRO stage 0, 1, 2 or 3 (3: FSDP)",
             "the framework's: 3 for fsdp, torchtitan and maxtext without pp, 0 for pytorch and transformers, else 1");
    char const* const list = search ? ", comma-separated" : "";
    auto const usual = [&](char const* of_search, char const* of_one) { return search ? of_search : of_one; };
    app.add_option(
           "--schedule", o.schedule,
           fmt::format(
               "gpipe, 1f1b, interleaved, 1f1b-overlap (exchanges of experts hide), breadth-first, zb-h1, zb-h2, zb-v, "
               "dualpipe or dualpipe-v{} (default: {})",
               list,
               usual("1f1b and interleaved, with experts under Megatron 1f1b-overlap; MaxText: gpipe and breadth-first",
                     "1f1b, or interleaved with --vpp; MaxText: gpipe, or breadth-first with --vpp")))
        ->group("Plan");
    app.add_option(
           "--recompute", o.recompute,
           fmt::format("none, selective (attention core) or full{} (default: {})", list, usual("search", "none")))
        ->group("Plan");
    app.add_option("--recompute-modules", o.recompute_modules,
                   "with selective: what runs again of a layer, as in Megatron-Core: core_attn (default), layernorm, "
                   "mla_up_proj, mlp, moe, moe_act, shared_experts; also mlp_act, or op (torchtitan's)")
        ->option_text("NAME,...")
        ->group("Plan");
    app.add_option("--recompute-layers", o.recompute_layers, "with full: layers per stage that are recomputed (0: all)")
        ->group("Plan");
    app.add_option(
           "--keep-activations", o.keep_activations,
           "with full: what is kept of a layer all the same, and not run again, as in MaxText's custom policies: "
           "norm_out, qkv, context (attention's output), attention_out, expert_in, mlp_up, mlp_act")
        ->option_text("NAME,...")
        ->group("Plan");
    app.add_option(
           "--offload", o.offload,
           fmt::format("none, optimizer, activations, parameters (weights, gradients and optimizer, with ZeRO 3), "
                       "optimizer+activations or parameters+activations{} (default: none)",
                       list))
        ->group("Plan");
    app.add_option("--offload-activations", o.offload_activations,
                   "with activations: which of those that are kept go to host memory: layer_input, those of "
                   "--keep-activations, other (default: all)")
        ->option_text("NAME,...")
        ->group("Plan");
    app.add_option("--offload-layers", o.offload_layers,
                   "with activations: those of so many layers of the model, spread evenly, go to host memory (0: all)")
        ->group("Plan");
    app.add_option("--cp-mode", o.cp_mode,
                   fmt::format("ring, all-gather or ulysses{} (default: all-gather with sliding windows, torchtitan "
                               "and MaxText, ulysses with DeepSpeed, else ring)",
                               list))
        ->group("Plan");
}

/// What a search takes as given: kernels, precision, optimizer, layout of shards and experts.
void add_kernel_options(CLI::App& app, PlanOptions& o, Axes axes) {
    app.add_option("--moe-dispatcher", o.moe_dispatcher,
                   axes == Axes::search ? "alltoall or deduplicated (once per domain, as DeepEP) (default: the faster, "
                                          "where the framework and the network have both and experts span domains)"
                                        : "alltoall (default) or deduplicated (once per domain, as DeepEP)")
        ->group("Plan");
    app.add_option("--expert-tp", o.expert_tp,
                   fmt::format("tensor parallelism inside an expert (default: {})",
                               axes == Axes::search ? "1, or tp where torchtitan and MaxText cut experts" : "1"))
        ->group("Plan");
    app.add_option("--expert-imbalance", o.expert_imbalance,
                   "tokens of the busiest expert rank over the mean, at most what its experts can get (default: 1)")
        ->option_text("RATIO")
        ->group("Plan");
    app.add_option("--shard-group", o.shard_group, "ranks that ZeRO shards over (HSDP; 0: all)")->group("Plan");
    app.add_option(
           "--precision", o.precision,
           "fp32, tf32, fp16, bf16, fp8, fp8-block (scales by tiles of 128, as DeepSeek), mxfp8 (by 32 values) or fp4 "
           "(default: bf16, or what the accelerator has)")
        ->group("Plan");
    app.add_option("--gradients", o.gradients,
                   "usual (default: the framework's own, often fp32) or bf16 (added up and reduced in bf16)")
        ->group("Plan");
    app.add_option(
           "--optimizer", o.optimizer,
           "adamw, adamw-bf16 (moments), adamw-8bit (moments), adamw-pure-bf16 (all in bf16, no fp32 copy of the "
           "weights), sgd, muon, lion, lion-8bit or adafactor (default: adamw)")
        ->group("Plan");
    app.add_flag_function(
           "--sequence-parallel,!--no-sequence-parallel", [&o](std::int64_t count) { o.sequence_parallel = count > 0; },
           "split norms and residuals over tp (default with tp > 1)")
        ->group("Plan");
    app.add_option("--attention", o.attention,
                   "flash (default), unfused (scores in memory, fused softmax) or eager (softmax in fp32, op by op)")
        ->option_text("KERNEL")
        ->group("Plan");
    app.add_flag_function(
           "--flash-attention,!--no-flash-attention", [&o](std::int64_t count) { o.flash_attention = count > 0; },
           "the same as --attention flash, --attention unfused")
        ->group("Plan");
    app.add_flag("--dropout,!--no-dropout", o.dropout, "dropout in the model (default: none)")->group("Plan");
    app.add_flag("--fused-cross-entropy,!--no-fused-cross-entropy", o.fused_cross_entropy,
                 "loss in one kernel (default: not)")
        ->group("Plan");
    app.add_flag("--fp8-activation-input,!--no-fp8-activation-input", o.fp8_activation_input,
                 "keep what the activation of a gated feed-forward reads in fp8 (Megatron-Core's "
                 "activation_func_fp8_input_store; default: not)")
        ->group("Plan");
    app.add_flag("--narrow-copies,!--no-narrow-copies", o.narrow_copies,
                 "keep fp8 or fp4 copies of weights, and their transposes, beside 16-bit weights (Megatron-LM without "
                 "--fp8-param-gather; default: weights in the format alone)")
        ->group("Plan");
    app.add_option("--loss-chunks", o.loss_chunks,
                   "parts of a microbatch whose logits, loss and gradients are made one by one (chunked cross entropy: "
                   "torchtitan 0.3 has 8; default: 1)")
        ->group("Plan");
}

}  // namespace

void add_plan_options(CLI::App& app, PlanOptions& o, Axes axes, Machine machine) {
    add_subject_options(app, o, axes, machine);
    add_axes(app, o, axes);
    add_kernel_options(app, o, axes);
    if (axes == Axes::single)
        app.add_option(
               "--stage-layers", o.stage_layers,
               "layers of each pipeline chunk in model order, comma-separated (default: even, fewer at the ends "
               "where they do not divide evenly, on the last where it holds prediction modules; nanotron: by cost)")
            ->delimiter(',')
            ->option_text("N,N,...")
            ->group("Plan");
}

void add_adapter_options(CLI::App& app, PlanOptions& o) {
    char const* const group = "Adapters on frozen weights (LoRA, QLoRA)";
    app.add_option("--lora-rank", o.lora_rank, "train adapters of this rank only (default: train every weight)")
        ->option_text("N")
        ->group(group);
    app.add_option("--lora-targets", o.lora_targets,
                   "attention (q,k,v,o), all (and gate,up,down), or a list of q, k, v, qkv, o, gate, up, gate_up, down "
                   "(default: attention)")
        ->option_text("NAME[,NAME...]")
        ->group(group);
    app.add_option("--base-weights", o.base_weights,
                   "format of the frozen matrices: bf16, fp8, int8 or nf4 (default: bf16)")
        ->option_text("FORMAT")
        ->group(group);
}

}  // namespace sextant::cli
