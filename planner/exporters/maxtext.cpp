#include "planner/exporters/exporter.hpp"
#include "planner/exporters/quoting.hpp"
#include "planner/framework_rules.hpp"
#include "planner/remat_policies.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>

// Keys of maxtext/configs/base.yml, checks of configs/types.py; variables of initialize_jax_for_gpu in
// utils/max_utils.py.

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
    std::int64_t const layers = maxtext_pipelined_layers(launch.model);
    if (p.pp > 1 && layers < launch.model.layer_count())
        t.cannot("pp", "the {} dense layers before those with experts are outside the pipeline, on every stage",
                 launch.model.layer_count() - layers);
    if (layers % (p.pp * p.vpp) != 0)
        t.cannot("pp", "{} layers are not divisible by {} chunks: set pipeline_parallel_layers", layers, p.pp * p.vpp);
    if (p.pp > 1 && launch.microbatches() % p.pp != 0)
        t.cannot("micro_batch", "num_pipeline_microbatches has to be a multiple of the {} stages, {} is not", p.pp,
                 launch.microbatches());
    if (p.cp > 1)
        t.replace(&ParallelPlan::cp_mode, ContextParallel::all_gather, "cp_mode", "keys and values are all-gathered");
}

/// Ranks over which weights are sharded beside the fsdp axis.
std::int64_t maxtext_inner_shards(ParallelPlan const& p) { return p.cp * p.ep; }

/// The context and expert axes shard weights as the fsdp axis does, but for what is an expert's own over the expert
/// axis. Source: 'embed' and 'embed_no_exp' of logical_axis_rules, maxtext/configs/base.yml.
void translate_sharding(Translation& t) {
    ParallelPlan& p = t.plan;
    std::int64_t const inner = maxtext_inner_shards(p);
    std::int64_t const ranks = p.dp * p.cp;
    if (p.zero == 2) t.replace(&ParallelPlan::zero, 3, "zero", "the fsdp axis shards weights as well (ZeRO 3)");
    if (p.zero == 1 && p.shard_group > 0)
        t.replace(&ParallelPlan::shard_group, std::int64_t{0}, "shard_group",
                  "the optimizer is sharded over all of the data axis");
    if (inner == 1) return;
    if (p.zero == 0 && p.pp == 1) {
        t.replace(&ParallelPlan::zero, 3, "zero", "the context and expert axes shard all state, over {} ranks (ZeRO 3)",
                  inner);
        p.shard_group = inner < ranks ? inner : 0;
    } else if (p.zero < 3) {
        t.runs_otherwise("zero",
                         "the context and expert axes shard weights as well, over {} ranks, which takes less memory "
                         "and more time",
                         inner);
    } else if (p.shard_group % inner != 0) {
        std::int64_t group = inner;
        while (group < p.shard_group || ranks % group != 0)
            group += inner;
        t.replace(&ParallelPlan::shard_group, group < ranks ? group : std::int64_t{0}, "shard_group",
                  "the context and expert axes shard as the fsdp axis does: groups are of {} ranks", group);
    }
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

/// The policy that keeps what selective recompute keeps, or least less.
std::string_view saving_policy(ParallelPlan const& p) {
    if (p.recompute == Recompute::none) return "minimal_with_context";
    RecomputeModules const again = p.recompute_modules;
    if (again.has(RecomputeModule::mlp) || again.has(RecomputeModule::moe)) return "save_dot_except_mlp";
    return again.has(RecomputeModule::core_attn) ? "minimal" : "minimal_with_context";
}

void translate_recompute(Translation& t, ModelSpec const& model) {
    ParallelPlan& p = t.plan;
    t.replace(&ParallelPlan::recompute_layers, std::int64_t{0}, "recompute_layers", "a policy holds for all layers");
    if (p.recompute != Recompute::full) {
        std::string_view const policy = saving_policy(p);
        ActivationGroups const kept = remat_policy(policy).kept & activations_of(model);
        t.replace(&ParallelPlan::recompute, Recompute::full, "recompute",
                  "XLA runs again what no policy keeps: the file has {}, which keeps {} (--keep-activations)", policy,
                  activations_text(kept, ", "));
        p.kept_activations = kept;
    }
    t.replace(&ParallelPlan::kept_activations, p.kept_activations & remat_keeps, "kept_activations",
              "a policy keeps {} of a layer, or some of these", activations_text(remat_keeps, ", "));
    t.leave_out_offload_layers();
    t.leave_out_activation_input();
    t.leave_out_narrow_copies();
    if (RematPolicy const policy = remat_policy_of(p); offloads_activations(p)) {
        if (policy.offloaded.empty()) p.offload = without_activations(p.offload);
        p.offloaded_activations = policy.offloaded;
    }
}

void translate_step(Translation& t, LaunchPlan const& launch) {
    ParallelPlan& p = t.plan;
    translate_recompute(t, launch.model);
    if (p.optimizer != Optimizer::adamw_pure_bf16) t.leave_out_gradients();
    t.leave_out_other_optimizers("MaxText");
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
    if (p.precision == Precision::fp8 && launch.microbatches() > 1 && p.pp == 1)
        t.cannot("precision", "MaxText refuses fp8 with gradient accumulation, and a step has {} microbatches",
                 launch.microbatches());
    if (p.attention == AttentionKernel::eager)
        t.replace(&ParallelPlan::attention, AttentionKernel::unfused, "attention", "the compiler fuses the softmax");
    t.replace(&ParallelPlan::fused_cross_entropy, Switch::off, "fused_cross_entropy",
              "XLA decides what is fused (--loss-chunks cuts the loss into pieces)");
}

/// Names of MaxText's own models (files of configs/models) that are presets here.
constexpr std::array<std::string_view, 40> own_models{
    "gemma-2b",      "gemma-7b",       "gemma2-2b",      "gemma2-9b",    "gemma2-27b",    "gemma3-4b",
    "gemma3-12b",    "gemma3-27b",     "gpt-oss-20b",    "gpt-oss-120b", "gpt3-175b",     "llama2-7b",
    "llama2-13b",    "llama2-70b",     "llama3-8b",      "llama3-70b",   "llama3.1-8b",   "llama3.1-70b",
    "llama3.1-405b", "llama3.3-70b",   "mistral-7b",     "mixtral-8x7b", "mixtral-8x22b", "olmo3-7b",
    "olmo3-32b",     "qwen2.5-1.5b",   "qwen2.5-7b",     "qwen2.5-14b",  "qwen3-0.6b",    "qwen3-1.7b",
    "qwen3-4b",      "qwen3-8b",       "qwen3-14b",      "qwen3-32b",    "qwen3-30b-a3b", "qwen3-235b-a22b",
    "deepseek2-16b", "deepseek2-236b", "deepseek3-671b", "kimi-k2-1t",
};
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> other_spellings{
    std::pair{"deepseek-v2-lite", "deepseek2-16b"},
    {"deepseek-v2", "deepseek2-236b"},
    {"deepseek-v3", "deepseek3-671b"},
    {"kimi-k2", "kimi-k2-1t"},
};

/// What MaxText calls this model; empty: it has no file of it.
std::string_view own_name(std::string_view preset) {
    auto const letters = [](std::string_view name) {
        std::string out(name);
        std::erase(out, '-');
        return out;
    };
    for (auto const& [ours, theirs] : other_spellings)
        if (ours == preset) return theirs;
    auto const same = [&](std::string_view name) { return letters(name) == letters(preset); };
    auto const found = std::find_if(own_models.begin(), own_models.end(), same);
    return found == own_models.end() ? std::string_view{} : *found;
}

std::string model_line(std::string const& preset) {
    if (std::string_view const name = own_name(preset); !name.empty()) return fmt::format("model_name: \"{}\"\n", name);
    return "# model_name is one of MaxText's own; this plan is for " + comment_text(preset) +
           "\nmodel_name: \"REPLACE_WITH_MODEL_NAME\"\n";
}

/// Groups of devices that JAX counts as one machine (a slice): a TPU slice, a domain of more than a node, a node.
std::int64_t slices_of(LaunchPlan const& launch) {
    std::int64_t const domain = launch.cluster.domain_size;
    constexpr std::int64_t most_of_node = 8;
    return domain > most_of_node ? (launch.plan.world_size() + domain - 1) / domain : launch.nodes;
}

/// One axis of the mesh: its ranks across slices (dcn) and within one (ici).
struct MeshAxis {
    char const* name;
    std::int64_t across = 1;
    std::int64_t within = 1;
};
struct Mesh {
    std::vector<MeshAxis> axes;
    std::int64_t slices = 1;
    std::int64_t left = 1;  ///< slices that the axes do not divide into
};

/// The axes from the outermost of a plan's ranks to the innermost: the first ones go across slices.
Mesh mesh_of(LaunchPlan const& launch, ParallelPlan const& p) {
    std::int64_t const inner = maxtext_inner_shards(p);
    std::int64_t const ranks = p.dp * p.cp;
    std::int64_t const group = p.zero < 3 ? inner : p.shard_group > 0 ? p.shard_group : ranks;
    std::int64_t const sharded = group / inner;
    std::int64_t const data = ranks / group;
    bool const sequence = p.sequence_parallel == Switch::on;
    Mesh mesh{.axes = {{.name = "pipeline", .within = p.pp},
                       {.name = "data", .within = data},
                       {.name = "fsdp", .within = sharded},
                       {.name = "expert", .within = p.ep},
                       {.name = "context", .within = p.cp},
                       {.name = sequence ? "tensor_sequence" : "tensor", .within = p.tp}},
              .slices = slices_of(launch)};
    mesh.left = mesh.slices;
    for (MeshAxis& axis : mesh.axes) {
        axis.across = std::gcd(mesh.left, axis.within);
        axis.within /= axis.across;
        mesh.left /= axis.across;
    }
    return mesh;
}

void note_mesh(Translation& t, Mesh const& mesh) {
    if (mesh.left == 1) return;
    t.cannot("dp",
             "JAX sees {} slices, which the axes do not divide into: MaxText refuses dcn axes of another product "
             "(whole nodes or domains, --gpus)",
             mesh.slices);
}

std::string axes(LaunchPlan const& launch, ParallelPlan const& p, Mesh const& mesh) {
    std::string out;
    auto const axis = [&](auto const& name, std::int64_t value) { out += fmt::format("{}: {}\n", name, value); };
    for (MeshAxis const& a : mesh.axes)
        if (mesh.slices > 1) axis(fmt::format("dcn_{}_parallelism", a.name), a.across);
    for (MeshAxis const& a : mesh.axes)
        axis(fmt::format("ici_{}_parallelism", a.name), a.within);
    if (p.zero == 1) out += "shard_optimizer_over_data: true\n";
    if (p.pp > 1) {
        axis("num_layers_per_pipeline_stage",
             std::max<std::int64_t>(1, maxtext_pipelined_layers(launch.model) / (p.pp * p.vpp)));
        axis("num_pipeline_repeats", p.vpp);
        axis("num_pipeline_microbatches", launch.microbatches());
    }
    return out;
}

/// A device's share of the sequences, in as few digits as MaxText reads back as all of them: it trains
/// int(devices x share). With a point, or YAML has an integer.
std::string device_share(std::int64_t sequences, std::int64_t devices) {
    auto const all = static_cast<double>(devices);
    double share = static_cast<double>(sequences) / all;
    if (static_cast<std::int64_t>(share * all) < sequences) share = std::nextafter(share, 2 * share);
    std::array<char, 64> digits{};
    auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), share, std::chars_format::fixed).ptr;
    std::string const text(digits.data(), end);
    return text.find('.') == std::string::npos ? text + ".0" : text;
}

std::string remat_lines(ParallelPlan const& p) {
    constexpr std::string_view line = "remat_policy: \"{}\"\n";
    RematPolicy const policy = remat_policy_of(p);
    auto const named = std::find_if(remat_policies.begin(), remat_policies.end(),
                                    [&](NamedRematPolicy const& known) { return known.keeps == policy; });
    if (named != remat_policies.end()) return fmt::format(line, named->name);
    std::string out = fmt::format(line, "custom");
    for (RematTensor const& tensor : remat_tensors) {
        bool const kept = tensor.group == ActivationGroup::layer_input || policy.kept.has(tensor.group);
        out += fmt::format("{}: \"{}\"\n", tensor.name,
                           policy.offloaded.has(tensor.group) ? "offload"
                           : kept                             ? "device"
                                                              : "remat");
    }
    return out;
}

std::string step(LaunchPlan const& launch, ParallelPlan const& p) {
    bool const tpu = launch.cluster.scale_up.kind == ScaleUpKind::torus;
    std::int64_t const sequences = p.pp > 1 ? launch.workload.global_batch : p.micro_batch * p.dp;
    std::string out =
        fmt::format("per_device_batch_size: {}\ngradient_accumulation_steps: {}\n",
                    device_share(sequences, launch.plan.world_size()), p.pp > 1 ? 1 : launch.microbatches());
    out += fmt::format("max_target_length: {}\nsteps: {}\nlearning_rate: {:.4e}\n", launch.workload.sequence,
                       launch.settings.steps, launch.settings.learning_rate);
    out += remat_lines(p);
    out += fmt::format("attention: \"{}\"\n", p.attention == AttentionKernel::unfused ? "dot_product"
                                              : tpu                                   ? "flash"
                                                                                      : "cudnn_flash_te");
    if (!tpu && p.attention != AttentionKernel::unfused)
        out += "max_segments_per_seq: 32  # documents packed into a sequence, at most: cuDNN's attention asks for it\n";
    out += fmt::format("dtype: \"{}\"\n", p.precision == Precision::fp32 ? "float32" : "bfloat16");
    if (p.precision == Precision::fp8)
        out += fmt::format("quantization: \"{}\"\n", launch.cluster.accelerator.vendor == "AMD" ? "nanoo_fp8" : "fp8");
    out += fmt::format("opt_type: \"{}\"\n", p.optimizer == Optimizer::sgd    ? "sgd"
                                             : p.optimizer == Optimizer::muon ? "muon"
                                                                              : "adamw");
    if (p.optimizer == Optimizer::adamw_bf16) out += "mu_dtype: \"bfloat16\"\n";
    if (p.optimizer == Optimizer::adamw_pure_bf16)
        out += "weight_dtype: \"bfloat16\"  # and with it gradients and moments\n";
    if (offloads_optimizer(p)) out += "optimizer_memory_host_offload: true\n";
    if (p.loss_chunks > 1) out += fmt::format("num_vocab_tiling: {}\n", p.loss_chunks);
    out += fmt::format("enable_dropout: {}\ndropout_rate: {}\n", p.dropout == Switch::on,
                       p.dropout == Switch::on ? 0.1 : 0.0);
    return out;
}

Export write(LaunchPlan const& launch);

constexpr std::array<std::string_view, 3> vendors{"Google", "NVIDIA", "AMD"};

}  // namespace

extern constinit ExporterEntry const maxtext_exporter;
constinit ExporterEntry const maxtext_exporter{
    .name = "maxtext",
    .title = "MaxText configuration",
    .written = "MaxText 0.2 (maxtext/configs/base.yml)",
    .vendors = vendors,
    .write = write,
};

namespace {

Export write(LaunchPlan const& launch) {
    Translation t(launch);
    t.leave_out_adapters();
    t.leave_parameters_here(launch.model);
    translate_layout(t, launch);
    translate_experts(t, launch.model);
    translate_sharding(t);
    translate_step(t, launch);
    t.settle(maxtext_exporter, launch);
    Mesh const mesh = mesh_of(launch, t.plan);
    note_mesh(t, mesh);
    bool const tpu = launch.cluster.scale_up.kind == ScaleUpKind::torus;
    std::string yaml = file_header(maxtext_exporter, launch, t.notes);
    yaml += "base_config: \"base.yml\"\n";
    yaml += "run_name: " + yaml_quoted(dns_label(launch.model.name)) + "\n";
    yaml += model_line(launch.model.name);
    yaml += fmt::format("hardware: \"{}\"\n", tpu ? "tpu" : "gpu");
    yaml += "base_output_directory: " + yaml_quoted(launch.settings.checkpoints) + "\n";
    yaml += "dataset_path: " + yaml_quoted(launch.settings.data) + "\n";
    yaml += "tokenizer_path: " + yaml_quoted(launch.settings.tokenizer) + "\n";
    yaml += "enable_checkpointing: true\nasync_checkpointing: true\n";
    if (launch.checkpoint.steps > 0) yaml += fmt::format("checkpoint_period: {}\n", launch.checkpoint.steps);
    yaml += axes(launch, t.plan, mesh) + step(launch, t.plan);
    return {.files = {{"maxtext.yml", yaml}},
            .not_expressed = t.notes,
            .expressed = t.plan,
            .command = {"python3", "-m", "maxtext.trainers.pre_train.train", "maxtext.yml"},
            .reads_coordinator = !tpu && launch.nodes > 1,
            .predictable = t.predictable};
}

}  // namespace
}  // namespace sextant
