#include "core/graph/stage_layout.hpp"
#include "planner/exporters/exporter.hpp"
#include "planner/exporters/quoting.hpp"
#include "planner/exporters/torchtitan_translation.hpp"

#include <array>

// torchtitan.trainer.Trainer.Config of torchtitan 0.3, made by a function that its ConfigManager finds by --module and
// --config.

namespace sextant {
namespace {

char const* truth(bool value) { return value ? "True" : "False"; }

/// Classes of torchtitan.components.quantization, for all linear layers and for experts; none: null.
struct Converters {
    char const* of_layers;
    char const* of_experts;
    char const* arguments;  ///< of the first
};
Converters converters_of(ParallelPlan const& p, ModelSpec const& model) {
    bool const experts = torchtitan_narrows_experts(p, model, TorchtitanRelease::v0_3);
    switch (p.precision) {
        case Precision::mxfp8: return {"MXFP8LinearConverter", experts ? "MXFP8GroupedExpertsConverter" : nullptr, ""};
        case Precision::fp8:
            return {"Float8LinearConverter", experts ? "Float8GroupedExpertsConverter" : nullptr,
                    "recipe_name=\"rowwise\", "};
        // Every dimension has to be a multiple of 128, which vocabularies are not.
        case Precision::fp4: return {"NVFP4LinearConverter", nullptr, "fqns=[\"layers\"], "};
        default: return {nullptr, nullptr, ""};
    }
}

char const* recompute_class(ParallelPlan const& p) {
    if (p.recompute == Recompute::full) return "FullAC";
    return p.recompute == Recompute::selective ? "SelectiveAC" : nullptr;
}

std::string imports(ParallelPlan const& p, ModelSpec const& model, std::string const& family) {
    std::string out = "from torchtitan.components.checkpoint import CheckpointManager\n";
    out += fmt::format("from torchtitan.components.loss import {}CrossEntropyLoss\n",
                       p.loss_chunks > 1 ? "ChunkedLossWrapper, " : "");
    out += "from torchtitan.components.optimizer import default_adamw\n";
    Converters const c = converters_of(p, model);
    if (c.of_layers)
        out += fmt::format("from torchtitan.components.quantization import {}{}\n",
                           c.of_experts ? std::string(c.of_experts) + ", " : "", c.of_layers);
    out += "from torchtitan.config import CompileConfig, ParallelismConfig, TrainingConfig\n";
    if (char const* const recompute = recompute_class(p))
        out += fmt::format("from torchtitan.distributed.activation_checkpoint import {}\n", recompute);
    out += "from torchtitan.hf_datasets.text_datasets import HuggingFaceTextDataLoader\n";
    out += fmt::format("from torchtitan.models.{} import model_registry\n", family);
    out += "from torchtitan.models.common.config_utils import decoder_vocab_size\n";
    return out + "from torchtitan.trainer import Trainer\n\n";
}

std::string placeholders(LaunchSettings const& settings) {
    return fmt::format("DATA_PATH = {}\nTOKENIZER_PATH = {}\nCHECKPOINT_FOLDER = {}\n", python_quoted(settings.data),
                       python_quoted(settings.tokenizer), python_quoted(settings.checkpoints));
}

std::string model_call(ParallelPlan const& p, ModelSpec const& model, std::string const& flavor) {
    std::string out = "    model = model_registry(\n        " + python_quoted(flavor) + ",\n";
    if (p.cp > 1) out += "        attn_backend=\"flex\",  # the only one with context parallelism\n";
    if (p.dispatcher == Dispatcher::deduplicated) out += "        moe_comm_backend=\"deepep\",\n";
    Converters const c = converters_of(p, model);
    if (c.of_layers) {
        char const* const compiled = truth(torchtitan_compiles(p));
        out += fmt::format("        converters=[\n            {}.Config({}model_compile_enabled={}),\n", c.of_layers,
                           c.arguments, compiled);
        if (c.of_experts)
            out += fmt::format("            {}.Config(model_compile_enabled={}),\n", c.of_experts, compiled);
        out += "        ],\n";
    }
    return out + "    )\n";
}

std::string training(LaunchPlan const& launch, ParallelPlan const& p) {
    std::string out = "        training=TrainingConfig(\n";
    out += fmt::format(
        "            local_batch_size={},\n            global_batch_size={},\n            seq_len={},\n"
        "            steps={},\n            mixed_precision_param=\"{}\",\n",
        torchtitan_local_batch(launch, p), launch.workload.global_batch, launch.workload.sequence,
        launch.settings.steps, torchtitan_parameters(p));
    if (p.optimizer == Optimizer::adamw_pure_bf16)
        out += "            dtype=\"bfloat16\",  # weights, gradients and moments\n";
    if (offloads_optimizer(p)) out += "            enable_cpu_offload=True,\n";
    return out +
           "            # Predicted without: with CUDA graphs the gradients stay from step to step. Pipelines and "
           "most\n            # expert parallelism go without only.\n"
           "            disable_cuda_graphs=True,\n        ),\n";
}

/// Modules of each chunk, as torchtitan names those of its decoders.
std::string parts(std::vector<std::int64_t> const& chunks) {
    std::string out;
    std::int64_t layer = 0;
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        out += fmt::format("                [{}*(f\"layers.{{i}}\" for i in range({}, {})){}],\n",
                           i == 0 ? "\"tok_embeddings\", " : "", layer, layer + chunks[i],
                           i + 1 == chunks.size() ? ", \"norm\", \"lm_head\"" : "");
        layer += chunks[i];
    }
    return out;
}

std::string parallelism(ParallelPlan const& p, ModelSpec const& model) {
    TorchtitanShards const shards = torchtitan_shards(p);
    std::string out = "        parallelism=ParallelismConfig(\n";
    auto const set = [&](char const* key, auto const& value) {
        out += fmt::format("            {}={},\n", key, value);
    };
    set("data_parallel_replicate_degree", shards.replicas);
    set("data_parallel_shard_degree", shards.shards);
    set("fsdp_reshard_after_forward", python_quoted(shards.reshard));
    set("tensor_parallel_degree", p.tp);
    if (p.tp > 1) set("enable_sequence_parallel", truth(p.sequence_parallel == Switch::on));
    set("context_parallel_degree", p.cp);
    set("pipeline_parallel_degree", p.pp);
    if (p.pp > 1) {
        set("pipeline_parallel_schedule", python_quoted(torchtitan_schedule(p.schedule)));
        set("pipeline_parallel_microbatch_size", p.micro_batch);
        out += "            module_fqns_per_model_part=[\n" + parts(chunk_layers(p, model)) + "            ],\n";
    }
    if (model.moe) set("expert_parallel_degree", p.ep);
    return out + "        ),\n";
}

std::string loss(ParallelPlan const& p) {
    std::string const whole = "CrossEntropyLoss.Config(global_vocab_size=decoder_vocab_size(model))";
    if (p.loss_chunks == 1) return "    loss = " + whole + "\n";
    return fmt::format("    loss = ChunkedLossWrapper.Config(\n        num_chunks={},\n        loss_fn={},\n    )\n",
                       p.loss_chunks, whole);
}

std::string rest(LaunchPlan const& launch, ParallelPlan const& p) {
    char const* const recompute = recompute_class(p);
    std::string out =
        fmt::format("        activation_checkpoint={},\n", recompute ? std::string(recompute) + ".Config()" : "None");
    out += fmt::format("        compile=CompileConfig(enable=True, components={}),\n", torchtitan_components(p));
    out +=
        "        dataloader=HuggingFaceTextDataLoader.Config(\n            dataset=\"c4\",  # replace with the name of "
        "your dataset\n            dataset_path=DATA_PATH,\n        ),\n"
        "        checkpoint=CheckpointManager.Config(\n            enable=True,\n            "
        "folder=CHECKPOINT_FOLDER,\n";
    if (launch.checkpoint.steps > 0) out += fmt::format("            interval={},\n", launch.checkpoint.steps);
    return out + "            async_mode=\"async\",\n        ),\n    )\n";
}

Export write(LaunchPlan const& launch);

constexpr std::array<std::string_view, 4> vendors{"NVIDIA", "AMD", "Intel", "Huawei"};

}  // namespace

extern constinit ExporterEntry const torchtitan_module_exporter;
constinit ExporterEntry const torchtitan_module_exporter{
    .name = "torchtitan-0.3",
    .title = "torchtitan configuration module",
    .written = "torchtitan 0.3 (Python)",
    .vendors = vendors,
    .write = write,
};

namespace {

Export write(LaunchPlan const& launch) {
    Translation t(launch);
    translate_for_torchtitan(t, launch, TorchtitanRelease::v0_3);
    t.settle(torchtitan_module_exporter, launch);
    ParallelPlan const& p = t.plan;
    std::string const header = file_header(torchtitan_module_exporter, launch, t.notes);
    TorchtitanModel const* const known = torchtitan_model(launch.model.name, TorchtitanRelease::v0_3);
    std::string const family(known ? known->family : "REPLACE_WITH_MODEL_NAME");
    std::string const flavor(known ? known->flavor : "REPLACE_WITH_MODEL_FLAVOR");
    std::string python = header + "\n" + imports(p, launch.model, family) + placeholders(launch.settings) +
                         "\n\ndef plan() -> Trainer.Config:\n";
    python += "    \"\"\"For python -m torchtitan.train --module torchtitan_config --config plan.\"\"\"\n";
    if (!known)
        python +=
            "    # name and flavor are torchtitan's own; this plan is for " + comment_text(launch.model.name) + "\n";
    python += model_call(p, launch.model, flavor) + loss(p);
    python +=
        "    return Trainer.Config(\n        model_spec=model,\n        loss=loss,\n        "
        "hf_assets_path=TOKENIZER_PATH,\n";
    python += fmt::format("        optimizer=default_adamw(lr={}),\n", launch.settings.learning_rate);
    python += training(launch, p) + parallelism(p, launch.model) + rest(launch, p);
    std::string const script =
        torchtitan_script(launch, p, header, "-m torchtitan.train --module torchtitan_config --config plan");
    return {.files = {{"torchtitan_config.py", python}, {"torchtitan_config.sh", script}},
            .not_expressed = t.notes,
            .expressed = p,
            .command = {"bash", "torchtitan_config.sh"},
            .predictable = t.predictable};
}

}  // namespace
}  // namespace sextant
