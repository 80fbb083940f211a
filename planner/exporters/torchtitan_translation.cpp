#include "planner/exporters/torchtitan_translation.hpp"

#include "cost_models/memory_footprint.hpp"
#include "cost_models/weight_copies.hpp"
#include "planner/exporters/quoting.hpp"
#include "planner/framework_rules.hpp"

#include <algorithm>

namespace sextant {
namespace {

/// Schedules with weight halves of their own, which PyTorch refuses for compiled layers.
/// Source: torch/distributed/pipelining/schedules.py of PyTorch 2.15, _check_torch_compile_compatibility.
bool puts_weights_off(Schedule schedule) { return schedule == Schedule::zb_v || schedule == Schedule::dualpipe_v; }

/// Layers that torchtitan refuses to compile.
bool splits_mxfp8(ParallelPlan const& p) { return p.precision == Precision::mxfp8 && p.tp > 1; }

void translate_schedule(Translation& t, std::int64_t microbatches) {
    ParallelPlan& p = t.plan;
    if (p.pp == 1) {
        t.replace(&ParallelPlan::schedule, Schedule::one_f_one_b, "schedule",
                  "one stage: microbatches run one after the other (gradient accumulation)");
        return;
    }
    bool const has_class = std::string_view(torchtitan_schedule(p.schedule)) != "1F1B";
    Schedule const usual = p.vpp > 1 ? Schedule::interleaved : Schedule::one_f_one_b;  // 1F1B has one chunk on a rank
    if (p.schedule == Schedule::breadth_first && p.vpp == 1)
        t.replace(&ParallelPlan::schedule, Schedule::gpipe, "schedule",
                  "LoopedBFS takes several chunks per stage; with one it is GPipe");
    else if (!has_class)
        t.replace(
            &ParallelPlan::schedule, usual, "schedule",
            "torch.distributed.pipelining has no {}; the file runs {} ('sextant simulate --write-schedule' writes "
            "the schedule itself, for pipeline_parallel_schedule_csv)",
            name_of(p.schedule), torchtitan_schedule(usual));
    if (puts_weights_off(p.schedule))
        t.cannot("schedule",
                 "PyTorch refuses compiled layers in {}: they run op by op, slower and with more memory than predicted",
                 torchtitan_schedule(p.schedule));
    std::int64_t const rounds = std::max<std::int64_t>(1, microbatches / p.pp);
    if (p.schedule == Schedule::one_f_one_b && microbatches < p.pp)
        t.cannot("micro_batch", "1F1B wants as many microbatches as stages: PyTorch refuses {} on {}", microbatches,
                 p.pp);
    if (p.schedule == Schedule::interleaved && microbatches % rounds != 0)
        t.cannot("micro_batch", "interleaving runs {} rounds of equal length: PyTorch refuses {} microbatches", rounds,
                 microbatches);
}

/// Without a pipeline FSDP2 frees the weights after the forward pass (ZeRO 3) or keeps them (ZeRO 2); with one, it
/// keeps them and reduces gradients once a step, which is what ZeRO 1 costs. It always shards over context-parallel
/// ranks, too, and experts over what expert parallelism leaves of one replica.
void translate_sharding(Translation& t, ModelSpec const& model) {
    ParallelPlan& p = t.plan;
    std::int64_t const ranks = p.dp * p.cp;
    if (most_copies(p, model) == 1) return;
    if (ranks == 1 && p.zero == 0) {
        t.cannot("zero", "ranks that hold copies of experts always share their state; the file shards over them");
        p.zero = p.pp > 1 ? 1 : 2;
        return;
    }
    if (p.zero == 0 && p.cp > 1) {
        t.cannot("zero", "context-parallel ranks always share the state; the file shards over them");
        p.zero = p.pp > 1 ? 1 : 2;
        t.replace(&ParallelPlan::shard_group, p.dp > 1 ? p.cp : std::int64_t{0}, "shard_group",
                  "the state is sharded over context-parallel groups");
        return;
    }
    if (p.zero == 1 && p.pp == 1)
        t.replace(&ParallelPlan::zero, 2, "zero", "FSDP2 shards gradients with the optimizer state (ZeRO 2)");
    if (p.shard_group > 0 && p.shard_group % p.cp != 0) {
        std::int64_t const group = p.shard_group * p.cp;
        t.replace(&ParallelPlan::shard_group, ranks % group == 0 && group < ranks ? group : std::int64_t{0},
                  "shard_group", "groups hold whole context-parallel groups of {}", p.cp);
    }
    if (p.shard_group == 1 && model.moe && expert_shards(p) > 1) {
        t.cannot("zero", "copies of experts inside a group of one data-parallel rank are replicas in the file");
        p.zero = 0;
        p.shard_group = 0;
    }
}

/// Plain replicas are PyTorch's DDP in 0.2, which goes with no other parallelism, and FSDP's of one rank each in 0.3;
/// the experts of a group of ranks that shares its state are divided over these ranks, and over tensor-parallel ones
/// that hold whole experts.
void translate_groups(Translation& t, ModelSpec const& model, TorchtitanRelease release) {
    ParallelPlan& p = t.plan;
    bool const of_0_2 = release == TorchtitanRelease::v0_2;
    if (p.zero == 0 && p.dp > 1 && p.cp == 1 && (p.ep > 1 || (of_0_2 && (p.tp > 1 || p.pp > 1)))) {
        t.cannot("zero",
                 "torchtitan has replicas that share nothing without {} only: the file shards over all {} ranks",
                 of_0_2 ? "any other parallelism (DDP)" : "expert parallelism", p.dp);
        p.zero = p.pp > 1 ? 1 : 2;
    }
    if (!model.moe || p.ep == 1) return;
    std::int64_t const borrowed = p.expert_tp == p.tp ? 1 : p.tp;
    if (p.shard_group * borrowed % p.ep != 0)
        t.replace(
            &ParallelPlan::shard_group, std::int64_t{0}, "shard_group",
            "torchtitan divides experts over the ranks of a shard group, which are no multiple of ep {}: the file "
            "shards over all ranks",
            p.ep);
    if (p.dp * p.cp * borrowed % p.ep != 0)
        t.cannot("ep", "torchtitan divides experts over {} ranks here, and refuses ep {} (a divisor of them)",
                 p.dp * p.cp * borrowed, p.ep);
}

void translate_experts(Translation& t, ModelSpec const& model, TorchtitanRelease release) {
    if (!model.moe) return;
    ParallelPlan& p = t.plan;
    bool const of_0_2 = release == TorchtitanRelease::v0_2;
    if (p.ep == 1)
        t.replace(&ParallelPlan::expert_tp, p.tp, "expert_tp", "without expert parallelism experts are cut over tp");
    else if (!of_0_2)
        t.replace(&ParallelPlan::expert_tp, std::int64_t{1}, "expert_tp",
                  "with expert parallelism each rank holds whole experts");
    else if (p.expert_tp != 1 && p.expert_tp != p.tp)
        t.replace(&ParallelPlan::expert_tp, p.tp, "expert_tp",
                  "experts are cut over all of tp or not at all, not over {}", p.expert_tp);
    if (of_0_2 && p.ep > 1 && !torchtitan_divides_experts(p))
        t.cannot("ep", "torchtitan wants ep to be a multiple of {}: it may refuse {}",
                 p.expert_tp == p.tp ? "cp" : "cp x tp", p.ep);
    if (p.ep == 1)
        t.replace(&ParallelPlan::dispatcher, Dispatcher::all_to_all, "moe_dispatcher",
                  "tokens are not sent anywhere without expert parallelism");
    if (p.expert_tp > 1)
        t.replace(&ParallelPlan::dispatcher, Dispatcher::all_to_all, "moe_dispatcher",
                  "torchtitan has no DeepEP with tensor parallelism inside experts: tokens go by all-to-all");
    if (of_0_2 && p.schedule == Schedule::dualpipe_v && p.ep > 1 && p.recompute != Recompute::none)
        t.cannot("recompute",
                 "torchtitan 0.2.1 and later refuse recompute with expert parallelism and DualPipeV: set "
                 "pipeline_parallel_expert_parallel_overlap = false there");
}

/// 0.2 recomputes every k-th layer of a rank where it is told to; nothing else is said with a number.
void translate_recompute(Translation& t, ModelSpec const& model, TorchtitanRelease release) {
    ParallelPlan& p = t.plan;
    if (p.recompute == Recompute::selective)
        t.replace(&ParallelPlan::recompute_modules, {RecomputeModule::op}, "recompute_modules",
                  "torchtitan's selective checkpointing keeps the results of expensive operations, not all but {}: the "
                  "file has that by operation, the nearest",
                  modules_text(p.recompute_modules));
    if (p.recompute_layers == 0) return;
    if (release == TorchtitanRelease::v0_3) {
        t.replace(&ParallelPlan::recompute_layers, std::int64_t{0}, "recompute_layers",
                  "torchtitan 0.3 recomputes all layers or none, and not {} of a stage: all are", p.recompute_layers);
        return;
    }
    if (recomputes_every_kth_layer(p, model)) return;
    t.replace(&ParallelPlan::recompute_layers, std::int64_t{0}, "recompute_layers",
              "torchtitan recomputes every k-th layer; {} of a stage are no k-th part of it, so all are",
              p.recompute_layers);
}

void note_narrow(Translation& t, ModelSpec const& model, TorchtitanRelease release) {
    ParallelPlan const& p = t.plan;
    if (!is_narrow(p.precision)) return;
    if (model.moe && !torchtitan_narrows_experts(p, model, release))
        t.cannot("precision", "torchtitan {}: here in bf16",
                 release == TorchtitanRelease::v0_2
                     ? "multiplies experts in float8 without pipeline and context parallelism only"
                     : "does not multiply experts in NVFP4");
    if (splits_mxfp8(p))
        t.cannot("precision",
                 "torchtitan refuses to compile layers in mxfp8 with tensor parallelism: they run as they are, slower "
                 "than predicted");
}

/// Whether torchtitan wraps the model in FSDP: 0.3 always, 0.2 where dense weights are sharded or experts are.
/// Source: torchtitan 0.2.0, fsdp_enabled and ep_enabled in models/*/infra/parallelize.py.
bool shards(ParallelPlan const& p, TorchtitanRelease release) {
    if (release == TorchtitanRelease::v0_3) return true;
    std::int64_t const group = p.shard_group > 0 ? p.shard_group : p.dp * p.cp;
    return p.cp > 1 || p.ep > 1 || (p.zero > 0 && group > 1);
}

/// Source: seq_len_divisor of 0.2's distributed/parallel_dims.py and of 0.3's trainer.py.
void note_sequence(Translation& t, std::int64_t sequence, TorchtitanRelease release) {
    ParallelPlan const& p = t.plan;
    bool const of_0_2 = release == TorchtitanRelease::v0_2;
    std::int64_t const of_tp = of_0_2 || p.sequence_parallel == Switch::on ? p.tp : 1;
    std::int64_t const divisor = of_tp * (of_0_2 || p.cp > 1 ? 2 * p.cp : 1);
    if (sequence % divisor != 0)
        t.cannot(p.cp > 1 ? "cp" : "tp",
                 "torchtitan refuses sequences of {} tokens, which tp and two parts for each cp rank do not divide (a "
                 "multiple of {})",
                 sequence, divisor);
}

/// What a rank of a context-parallel group sees of the others' keys and values.
void translate_context(Translation& t, TorchtitanRelease release) {
    if (t.plan.cp == 1) return;
    if (release == TorchtitanRelease::v0_3)
        t.replace(&ParallelPlan::cp_mode, ContextParallel::all_gather, "cp_mode",
                  "torchtitan 0.3 gathers keys and values");
    else if (t.plan.cp_mode == ContextParallel::ulysses)
        t.replace(&ParallelPlan::cp_mode, ContextParallel::all_gather, "cp_mode",
                  "keys and values are gathered or passed around; no Ulysses");
}

void translate_format(Translation& t, TorchtitanRelease release) {
    bool const of_0_2 = release == TorchtitanRelease::v0_2;
    Precision const precision = t.plan.precision;
    if (precision == Precision::tf32)
        t.replace(&ParallelPlan::precision, Precision::fp32, "precision",
                  "TF32 is a switch of PyTorch: the script sets it, the configuration cannot");
    if (precision == Precision::fp16 || (of_0_2 && precision == Precision::fp4))
        t.replace(&ParallelPlan::precision, Precision::bf16, "precision", "there is no {}: the file has bf16",
                  name_of(precision));
    if (precision == Precision::fp8_block)
        t.replace(&ParallelPlan::precision, Precision::fp8, "precision",
                  "scales are of rows, not of blocks: the file has float8");
}

void translate_rest(Translation& t, TorchtitanRelease release) {
    ParallelPlan& p = t.plan;
    bool const of_0_2 = release == TorchtitanRelease::v0_2;
    if (p.tp > 1 && of_0_2)
        t.replace(&ParallelPlan::sequence_parallel, Switch::on, "sequence_parallel",
                  "tensor parallelism always comes with sequence parallelism");
    t.replace(&ParallelPlan::attention, AttentionKernel::flash, "attention", "attention is always a fused kernel");
    t.replace(&ParallelPlan::dropout, Switch::off, "dropout", "the models have no dropout");
    t.replace(&ParallelPlan::fused_cross_entropy, Switch::on, "fused_cross_entropy",
              "the loss is compiled, as torchtitan does by default and the memory of a logit counts");
    if (of_0_2)
        t.replace(&ParallelPlan::loss_chunks, std::int64_t{1}, "loss_chunks",
                  "torchtitan 0.2 has all logits at once (0.3 has ChunkedLossWrapper: --format torchtitan-0.3)");
    if (p.optimizer == Optimizer::adamw_pure_bf16) {
        if (p.dp * p.cp > 1)
            t.cannot("gradients",
                     "training.dtype has gradients in bf16, but FSDP2 sends them in fp32 (mixed_precision_reduce takes "
                     "nothing else), which takes longer");
    } else if (p.optimizer != Optimizer::adamw) {
        t.replace(&ParallelPlan::optimizer, Optimizer::adamw, "optimizer", "there is no {}: the file has AdamW",
                  name_of(p.optimizer));
    }
    if (offloads_activations(p))
        t.replace(&ParallelPlan::offload, without_activations(p.offload), "offload", "activations are not offloaded");
    if (offloads_optimizer(p) && !shards(p, release))
        t.replace(&ParallelPlan::offload, Offload::none, "offload",
                  "enable_cpu_offload is FSDP's, which one rank and plain replicas do without: nothing is offloaded "
                  "(several data-parallel ranks with --zero 2 or 3 have it)");
    t.offload_as_fsdp("enable_cpu_offload");
}

}  // namespace

char const* torchtitan_schedule(Schedule schedule) {
    switch (schedule) {
        case Schedule::gpipe: return "GPipe";
        case Schedule::interleaved: return "Interleaved1F1B";
        case Schedule::breadth_first: return "LoopedBFS";
        case Schedule::zb_v: return "ZBVZeroBubble";
        case Schedule::dualpipe_v: return "DualPipeV";
        default: return "1F1B";
    }
}

bool torchtitan_narrows_experts(ParallelPlan const& p, ModelSpec const& model, TorchtitanRelease release) {
    bool const can = release == TorchtitanRelease::v0_3 ? p.precision != Precision::fp4
                                                        : p.precision == Precision::mxfp8 || (p.pp == 1 && p.cp == 1);
    return model.moe && is_narrow(p.precision) && can;
}

bool torchtitan_compiles(ParallelPlan const& p) { return !puts_weights_off(p.schedule) && !splits_mxfp8(p); }

TorchtitanShards torchtitan_shards(ParallelPlan const& p) {
    std::int64_t const ranks = p.dp * p.cp;
    std::int64_t const group = p.zero == 0 ? p.cp : p.shard_group > 0 ? p.shard_group : ranks;
    return {ranks / group, group / p.cp, p.zero == 3 ? "always" : "never"};
}

std::int64_t torchtitan_local_batch(LaunchPlan const& launch, ParallelPlan const& p) {
    return p.pp > 1 ? launch.workload.global_batch / p.dp : p.micro_batch;
}

std::string torchtitan_list(std::vector<std::string> const& names) {
    std::string out = "[";
    for (std::string const& name : names)
        out += (out.size() > 1 ? ", " : "") + toml_quoted(name);
    return out + "]";
}

char const* torchtitan_parameters(ParallelPlan const& p) {
    return p.precision == Precision::fp32 ? "float32" : "bfloat16";
}

std::string torchtitan_components(ParallelPlan const& p) {
    std::vector<std::string> compiled;
    if (torchtitan_compiles(p)) compiled.emplace_back("model");
    compiled.emplace_back("loss");
    return torchtitan_list(compiled);
}

std::string torchtitan_script(LaunchPlan const& launch, ParallelPlan const& p, std::string const& header,
                              std::string const& program) {
    TorchrunScript script{.header = header, .environment = {}, .arguments = {}, .program = program};
    if (p.precision == Precision::fp32)
        script.environment = {
            {"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", launch.plan.precision == Precision::tf32 ? "1" : "0"}};
    return torchrun_script(launch, script);
}

void translate_for_torchtitan(Translation& t, LaunchPlan const& launch, TorchtitanRelease release) {
    t.leave_out_adapters();
    t.leave_out_named_activations();
    t.leave_out_offload_layers();
    t.leave_out_activation_input();
    t.leave_out_narrow_copies();
    if (t.plan.optimizer != Optimizer::adamw_pure_bf16) t.leave_out_gradients();
    translate_schedule(t, launch.microbatches());
    translate_experts(t, launch.model, release);
    translate_sharding(t, launch.model);
    translate_groups(t, launch.model, release);
    translate_recompute(t, launch.model, release);
    translate_context(t, release);
    translate_format(t, release);
    translate_rest(t, release);
    note_narrow(t, launch.model, release);
    note_sequence(t, launch.workload.sequence, release);
}

}  // namespace sextant
