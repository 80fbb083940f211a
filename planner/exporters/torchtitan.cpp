#include "planner/exporters/exporter.hpp"
#include "planner/exporters/quoting.hpp"
#include "planner/exporters/torchtitan_translation.hpp"

#include <array>

// Tables and keys of torchtitan/config/job_config.py.

namespace sextant {
namespace {

/// What makes products narrow, and how it scales them.
struct Converter {
    char const* name;
    char const* recipe;
    char const* of_experts;
};
Converter converter_of(Precision precision) {
    return precision == Precision::mxfp8 ? Converter{"quantize.linear.mx", "mxfp8_cublas", "quantize.grouped_mm.mx"}
                                         : Converter{"quantize.linear.float8", "rowwise", "quantize.grouped_mm.float8"};
}

std::vector<std::string> converters(ParallelPlan const& p, ModelSpec const& model) {
    Converter const c = converter_of(p.precision);
    std::vector<std::string> names{c.name};
    if (torchtitan_narrows_experts(p, model, TorchtitanRelease::v0_2)) names.emplace_back(c.of_experts);
    return names;
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
        out += "  " + torchtitan_list(names) + ",\n";
    }
    return out + "]\n";
}

std::string parallelism(ParallelPlan const& p, ModelSpec const& model) {
    TorchtitanShards const shards = torchtitan_shards(p);
    std::string out = "[parallelism]\n";
    out += fmt::format(
        "data_parallel_replicate_degree = {}\ndata_parallel_shard_degree = {}\nfsdp_reshard_after_forward = \"{}\"\n",
        shards.replicas, shards.shards, shards.reshard);
    out += fmt::format("tensor_parallel_degree = {}\ncontext_parallel_degree = {}\n", p.tp, p.cp);
    if (p.cp > 1)
        out += fmt::format("context_parallel_rotate_method = \"{}\"\n",
                           p.cp_mode == ContextParallel::ring ? "alltoall" : "allgather");
    out += fmt::format("pipeline_parallel_degree = {}\n", p.pp);
    if (p.pp > 1) {
        out += fmt::format("pipeline_parallel_schedule = \"{}\"\npipeline_parallel_microbatch_size = {}\n",
                           torchtitan_schedule(p.schedule), p.micro_batch);
        out += module_lists(chunk_layers(p, model));
    }
    if (model.moe) {
        out += fmt::format("expert_parallel_degree = {}\n", p.ep);
        if (p.ep > 1) {
            out += fmt::format("expert_tensor_parallel_degree = {}\n", p.expert_tp);
            if (p.dispatcher == Dispatcher::deduplicated)
                out += "expert_parallel_comm_backend = \"deepep\"  # torchtitan 0.2.1 or later\n";
        }
    }
    return out;
}

std::string training(LaunchPlan const& launch, ParallelPlan const& p) {
    std::string out = fmt::format(
        "[training]\nlocal_batch_size = {}\nglobal_batch_size = {}\nseq_len = {}\nsteps = {}\n"
        "mixed_precision_param = \"{}\"\n",
        torchtitan_local_batch(launch, p), launch.workload.global_batch, launch.workload.sequence,
        launch.settings.steps, torchtitan_parameters(p));
    if (p.optimizer == Optimizer::adamw_pure_bf16) out += "dtype = \"bfloat16\"  # weights, gradients and moments\n";
    out += fmt::format("enable_cpu_offload = {}\n", offloads_optimizer(p));
    out += "dataset = \"c4\"  # replace with the name of your dataset\n";
    out += "dataset_path = " + toml_quoted(launch.settings.data) + "\n\n";
    if (is_narrow(p.precision)) {
        Converter const c = converter_of(p.precision);
        out += fmt::format("[{}]\nrecipe_name = \"{}\"\n\n", c.name, c.recipe);
        if (torchtitan_narrows_experts(p, launch.model, TorchtitanRelease::v0_2))
            out += fmt::format("[{}]\nfqns = [\"experts\"]\n\n", c.of_experts);
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
    out += fmt::format("\n[compile]\nenable = true\ncomponents = {}\n", torchtitan_components(p));
    out += "\n[checkpoint]\nenable = true\nfolder = " + toml_quoted(launch.settings.checkpoints) + "\n";
    if (launch.checkpoint.steps > 0) out += fmt::format("interval = {}\n", launch.checkpoint.steps);
    return out + "async_mode = \"async\"\n";
}

std::string model_lines(std::string const& preset) {
    if (TorchtitanModel const* const found = torchtitan_model(preset, TorchtitanRelease::v0_2))
        return fmt::format("name = \"{}\"\nflavor = \"{}\"\n", found->family, found->flavor);
    return "# name and flavor are torchtitan's own; this plan is for " + comment_text(preset) +
           "\nname = \"REPLACE_WITH_MODEL_NAME\"\nflavor = \"REPLACE_WITH_MODEL_FLAVOR\"\n";
}

Export write(LaunchPlan const& launch);

constexpr std::array<std::string_view, 4> vendors{"NVIDIA", "AMD", "Intel", "Huawei"};

}  // namespace

extern constinit ExporterEntry const torchtitan_exporter;
constinit ExporterEntry const torchtitan_exporter{
    .name = "torchtitan",
    .title = "torchtitan configuration",
    .written = "torchtitan 0.2 (TOML)",
    .vendors = vendors,
    .write = write,
};

namespace {

Export write(LaunchPlan const& launch) {
    Translation t(launch);
    translate_for_torchtitan(t, launch, TorchtitanRelease::v0_2);
    t.settle(torchtitan_exporter, launch);
    ParallelPlan const& p = t.plan;
    std::string const header = file_header(torchtitan_exporter, launch, t.notes);
    std::string toml = header + "\n[job]\ndump_folder = \"outputs\"\n\n[model]\n";
    toml += model_lines(launch.model.name);
    toml += "hf_assets_path = " + toml_quoted(launch.settings.tokenizer) + "\n";
    if (is_narrow(p.precision)) toml += "converters = " + torchtitan_list(converters(p, launch.model)) + "\n";
    toml += fmt::format("\n[optimizer]\nname = \"AdamW\"\nlr = {}\n\n", launch.settings.learning_rate);
    toml += training(launch, p) + parallelism(p, launch.model) + "\n" + checkpoints(launch, p, launch.model);
    std::string const script =
        torchtitan_script(launch, p, header, "-m torchtitan.train --job.config_file torchtitan.toml");
    return {.files = {{"torchtitan.toml", toml}, {"torchtitan.sh", script}},
            .not_expressed = t.notes,
            .expressed = p,
            .command = {"bash", "torchtitan.sh"},
            .predictable = t.predictable};
}

}  // namespace
}  // namespace sextant
