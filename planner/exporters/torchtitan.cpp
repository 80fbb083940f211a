#include "cost_models/memory_footprint.hpp"
#include "planner/exporters/exporter.hpp"
#include "planner/exporters/quoting.hpp"

#include <algorithm>

// Tables and keys of torchtitan/config/job_config.py.

namespace sextant {
namespace {

char const* schedule_class(Schedule schedule) {
    switch (schedule) {
        case Schedule::gpipe: return "GPipe";
        case Schedule::interleaved: return "Interleaved1F1B";
        case Schedule::breadth_first: return "LoopedBFS";
        case Schedule::zb_v: return "ZBVZeroBubble";
        case Schedule::dualpipe_v: return "DualPipeV";
        default: return "1F1B";
    }
}

void translate_schedule(Translation& t, std::int64_t microbatches) {
    ParallelPlan& p = t.plan;
    if (p.pp == 1) {
        t.replace(&ParallelPlan::schedule, Schedule::one_f_one_b, "schedule",
                  "one stage: microbatches run one after the other (gradient accumulation)");
        return;
    }
    bool const has_class = std::string_view(schedule_class(p.schedule)) != "1F1B";
    if (p.schedule == Schedule::breadth_first && p.vpp == 1)
        t.replace(&ParallelPlan::schedule, Schedule::gpipe, "schedule",
                  "LoopedBFS takes several chunks per stage; with one it is GPipe");
    else if (!has_class)
        t.replace(
            &ParallelPlan::schedule, Schedule::one_f_one_b, "schedule",
            "torch.distributed.pipelining has no {}; the file runs 1F1B ('sextant simulate --write-schedule' writes "
            "the schedule itself, for pipeline_parallel_schedule_csv)",
            name_of(p.schedule));
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

void translate_experts(Translation& t, ModelSpec const& model) {
    if (!model.moe) return;
    ParallelPlan& p = t.plan;
    if (p.ep == 1)
        t.replace(&ParallelPlan::expert_tp, p.tp, "expert_tp", "without expert parallelism experts are cut over tp");
    else if (p.expert_tp != 1 && p.expert_tp != p.tp)
        t.replace(&ParallelPlan::expert_tp, p.tp, "expert_tp",
                  "experts are cut over all of tp or not at all, not over {}", p.expert_tp);
    if (p.ep > 1 && p.ep % (p.cp * (p.expert_tp == p.tp ? 1 : p.tp)) != 0)
        t.cannot("ep", "torchtitan wants ep to be a multiple of {}: it may refuse {}",
                 p.expert_tp == p.tp ? "cp" : "cp x tp", p.ep);
    if (p.ep == 1)
        t.replace(&ParallelPlan::dispatcher, Dispatcher::all_to_all, "moe_dispatcher",
                  "tokens are not sent anywhere without expert parallelism");
}

/// Every k-th layer of a rank is recomputed; nothing else is said with a number.
void translate_recompute(Translation& t, ModelSpec const& model) {
    ParallelPlan& p = t.plan;
    if (p.recompute == Recompute::selective)
        t.replace(&ParallelPlan::recompute_modules, {RecomputeModule::op}, "recompute_modules",
                  "torchtitan's selective checkpointing keeps the results of expensive operations, not all but {}: the "
                  "file has selective_ac_option 'op', the nearest",
                  modules_text(p.recompute_modules));
    if (p.recompute_layers == 0) return;
    std::vector<std::int64_t> const chunks = chunk_layers(p, model);
    bool even = true;
    for (std::int64_t const layers : chunks)
        even = even && layers == chunks.front();
    if (even && chunks.front() * p.vpp % p.recompute_layers == 0) return;
    t.replace(&ParallelPlan::recompute_layers, std::int64_t{0}, "recompute_layers",
              "torchtitan recomputes every k-th layer; {} of a stage are no k-th part of it, so all are",
              p.recompute_layers);
}

void translate_rest(Translation& t) {
    ParallelPlan& p = t.plan;
    if (p.tp > 1)
        t.replace(&ParallelPlan::sequence_parallel, Switch::on, "sequence_parallel",
                  "tensor parallelism always comes with sequence parallelism");
    if (p.cp > 1 && p.cp_mode == ContextParallel::ulysses)
        t.replace(&ParallelPlan::cp_mode, ContextParallel::all_gather, "cp_mode",
                  "keys and values are gathered or passed around; no Ulysses");
    t.replace(&ParallelPlan::attention, AttentionKernel::flash, "attention", "attention is always a fused kernel");
    t.replace(&ParallelPlan::dropout, Switch::off, "dropout", "the models have no dropout");
    if (p.optimizer != Optimizer::adamw)
        t.replace(&ParallelPlan::optimizer, Optimizer::adamw, "optimizer", "there is no {}: the file has AdamW",
                  name_of(p.optimizer));
    if (offloads_optimizer(p))
        t.cannot("offload",
                 "enable_cpu_offload moves weights and gradients to the host as well, not only the optimizer");
    if (offloads_activations(p))
        t.replace(&ParallelPlan::offload, offloads_optimizer(p) ? Offload::optimizer : Offload::none, "offload",
                  "activations are not offloaded");
    if (p.precision == Precision::tf32)
        t.replace(&ParallelPlan::precision, Precision::fp32, "precision",
                  "TF32 is a switch of PyTorch: torchtitan.sh sets it, the TOML cannot");
    if (p.precision == Precision::fp16 || p.precision == Precision::fp4)
        t.replace(&ParallelPlan::precision, Precision::bf16, "precision", "there is no {}: the file has bf16",
                  name_of(p.precision));
    if (p.precision == Precision::fp8_block)
        t.replace(&ParallelPlan::precision, Precision::fp8, "precision",
                  "scales are of rows, not of blocks: the file has float8");
}

/// What makes products narrow, and how it scales them.
struct Converter {
    char const* name;
    char const* recipe;
};
Converter converter_of(Precision precision) {
    return precision == Precision::mxfp8 ? Converter{"quantize.linear.mx", "mxfp8_cublas"}
                                         : Converter{"quantize.linear.float8", "rowwise"};
}

std::string list_of(std::vector<std::string> const& names) {
    std::string out = "[";
    for (std::string const& name : names)
        out += (out.size() > 1 ? ", " : "") + toml_quoted(name);
    return out + "]";
}

/// Modules of each chunk, as torchtitan names those of its decoders.
std::string module_lists(std::vector<std::int64_t> const& chunks) {
    std::string out = "module_fqns_per_model_part = [\n";
    std::int64_t layer = 0;
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        std::vector<std::string> names;
        if (i == 0) names.emplace_back("tok_embeddings");
        for (std::int64_t k = 0; k < chunks[i]; ++k)
            names.push_back(fmt::format("layers.{}", layer++));
        if (i + 1 == chunks.size()) names.insert(names.end(), {"norm", "output"});
        out += "  " + list_of(names) + ",\n";
    }
    return out + "]\n";
}

std::string parallelism(ParallelPlan const& p, ModelSpec const& model) {
    std::int64_t const ranks = p.dp * p.cp;
    std::int64_t const group = p.zero == 0 ? p.cp : p.shard_group > 0 ? p.shard_group : ranks;
    std::string out = "[parallelism]\n";
    out += fmt::format("data_parallel_replicate_degree = {}\ndata_parallel_shard_degree = {}\n", ranks / group,
                       group / p.cp);
    out += fmt::format("fsdp_reshard_after_forward = \"{}\"\n", p.zero == 3 ? "always" : "never");
    out += fmt::format("tensor_parallel_degree = {}\ncontext_parallel_degree = {}\n", p.tp, p.cp);
    if (p.cp > 1)
        out += fmt::format("context_parallel_rotate_method = \"{}\"\n",
                           p.cp_mode == ContextParallel::ring ? "alltoall" : "allgather");
    out += fmt::format("pipeline_parallel_degree = {}\n", p.pp);
    if (p.pp > 1) {
        out += fmt::format("pipeline_parallel_schedule = \"{}\"\npipeline_parallel_microbatch_size = {}\n",
                           schedule_class(p.schedule), p.micro_batch);
        out += module_lists(chunk_layers(p, model));
    }
    if (model.moe) {
        out += fmt::format("expert_parallel_degree = {}\n", p.ep);
        if (p.ep > 1) {
            out += fmt::format("expert_tensor_parallel_degree = {}\n", p.expert_tp);
            out += fmt::format("expert_parallel_comm_backend = \"{}\"\n",
                               p.dispatcher == Dispatcher::deduplicated ? "deepep" : "standard");
        }
    }
    return out;
}

std::string training(LaunchPlan const& launch, ParallelPlan const& p) {
    std::int64_t const local = p.pp > 1 ? launch.workload.global_batch / p.dp : p.micro_batch;
    bool const full = p.precision == Precision::fp32 || p.precision == Precision::tf32;
    std::string out = fmt::format(
        "[training]\nlocal_batch_size = {}\nglobal_batch_size = {}\nseq_len = {}\nsteps = {}\n"
        "mixed_precision_param = \"{}\"\n",
        local, launch.workload.global_batch, launch.workload.sequence, launch.settings.steps,
        full ? "float32" : "bfloat16");
    out += fmt::format("enable_cpu_offload = {}\n", offloads_optimizer(p));
    out += "dataset = \"c4\"  # replace with the name of your dataset\n";
    out += "dataset_path = " + toml_quoted(launch.settings.data) + "\n\n";
    if (is_narrow(p.precision)) {
        Converter const c = converter_of(p.precision);
        out += fmt::format("[{}]\nrecipe_name = \"{}\"\n\n", c.name, c.recipe);
    }
    return out;
}

std::string checkpoints(LaunchPlan const& launch, ParallelPlan const& p, ModelSpec const& model) {
    std::string out = "[activation_checkpoint]\n";
    std::int64_t const layers = chunk_layers(p, model).front() * p.vpp;
    if (p.recompute == Recompute::none) out += "mode = \"none\"\n";
    if (p.recompute == Recompute::full && p.recompute_layers == 0) out += "mode = \"full\"\n";
    if (p.recompute == Recompute::full && p.recompute_layers > 0)
        out += fmt::format("mode = \"selective\"\nselective_ac_option = \"{}\"  # every so many layers\n",
                           layers / p.recompute_layers);
    if (p.recompute == Recompute::selective) out += "mode = \"selective\"\nselective_ac_option = \"op\"\n";
    out += fmt::format("\n[compile]\nenable = true\ncomponents = [\"model\"{}]\n",
                       p.fused_cross_entropy == Switch::on ? ", \"loss\"" : "");
    out += "\n[checkpoint]\nenable = true\nfolder = " + toml_quoted(launch.settings.checkpoints) + "\n";
    if (launch.checkpoint.steps > 0) out += fmt::format("interval = {}\n", launch.checkpoint.steps);
    return out + "async_mode = \"async\"\n";
}

Export write(LaunchPlan const& launch);

}  // namespace

extern constinit ExporterEntry const torchtitan_exporter;
constinit ExporterEntry const torchtitan_exporter{
    .name = "torchtitan",
    .title = "torchtitan configuration",
    .written = "torchtitan 0.2 (TOML)",
    .write = write,
};

namespace {

Export write(LaunchPlan const& launch) {
    Translation t(launch);
    t.leave_out_adapters();
    t.leave_out_gradients();
    translate_schedule(t, launch.microbatches());
    translate_experts(t, launch.model);
    translate_sharding(t, launch.model);
    translate_recompute(t, launch.model);
    translate_rest(t);
    t.settle(launch);
    ParallelPlan const& p = t.plan;
    std::string const header = file_header(torchtitan_exporter, launch, t.notes);
    std::string toml = header + "\n[job]\ndump_folder = \"outputs\"\n\n[model]\n";
    toml += "# name and flavor are torchtitan's own; this plan is for " + comment_text(launch.model.name) + "\n";
    toml += "name = \"REPLACE_WITH_MODEL_NAME\"\nflavor = \"REPLACE_WITH_MODEL_FLAVOR\"\n";
    toml += "hf_assets_path = " + toml_quoted(launch.settings.tokenizer) + "\n";
    if (is_narrow(p.precision)) toml += fmt::format("converters = [\"{}\"]\n", converter_of(p.precision).name);
    toml += fmt::format("\n[optimizer]\nname = \"AdamW\"\nlr = {}\n\n", launch.settings.learning_rate);
    toml += training(launch, p) + parallelism(p, launch.model) + "\n" + checkpoints(launch, p, launch.model);
    TorchrunScript script{.header = header,
                          .environment = {},
                          .arguments = {},
                          .program = "-m torchtitan.train --job.config_file torchtitan.toml"};
    if (p.precision == Precision::fp32)
        script.environment = {
            {"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", launch.plan.precision == Precision::tf32 ? "1" : "0"}};
    return {.files = {{"torchtitan.toml", toml}, {"torchtitan.sh", torchrun_script(launch, script)}},
            .not_expressed = t.notes,
            .expressed = p,
            .command = {"bash", "torchtitan.sh"}};
}

}  // namespace
}  // namespace sextant
