#include "planner/exporters/serve_script.hpp"

#include <algorithm>
#include <array>

namespace sextant {
namespace {

using Notes = std::vector<NotExpressed>;

ServeExport write(ServeLaunch const& launch);

}  // namespace

extern constinit ServeExporterEntry const tensorrt_llm_serve_exporter;
constinit ServeExporterEntry const tensorrt_llm_serve_exporter{
    .name = "tensorrt-llm", .written = "TensorRT-LLM 1.1", .write = write};

namespace {

/// With attention data parallelism every rank of a stage is a group. Source: TensorRT-LLM 1.1,
/// _torch/modules/attention.py.
std::int64_t groups_of(ServingPlan const& p) { return p.attention_dp > 1 ? p.tp * p.attention_dp : 1; }

void note_groups(ServeLaunch const& l, Notes& notes) {
    ServingPlan const& p = l.plan;
    if (groups_of(p) == p.attention_dp) return;
    notes.push_back(
        {"attention_dp",
         fmt::format("TensorRT-LLM makes every rank of a stage an attention group: {} of one accelerator each, not {} "
                     "of {} (--tp 1 --attention-dp {} predicts that; --tp {} --attention-dp 1 has no groups)",
                     groups_of(p), p.attention_dp, p.tp, groups_of(p), groups_of(p))});
}

void note_formats(ServeLaunch const& l, Notes& notes) {
    if (quantises_to_fp8(l)) notes.push_back({"weights", "fp8 has to come with the checkpoint that the path names"});
    if (l.plan.cache == CacheFormat::bf16 && l.checkpoint.cache.value_or(CacheFormat::bf16) != CacheFormat::bf16)
        notes.push_back({"kv_cache", fmt::format("the checkpoint asks for a cache in {}, and TensorRT-LLM has no value "
                                                 "for bf16: it needs another checkpoint, or --kv-cache {}",
                                                 name_of(*l.checkpoint.cache), name_of(*l.checkpoint.cache))});
}

/// A power of two. Source: TensorRT-LLM's documentation of its cache ("must be a power of 2").
std::int64_t block_tokens(ServeLaunch const& l, Notes& notes) {
    static constexpr std::array<std::int64_t, 17> powers{1,   2,    4,    8,    16,   32,    64,    128,  256,
                                                         512, 1024, 2048, 4096, 8192, 16384, 32768, 65536};
    return nearest_block(l, powers, "TensorRT-LLM takes", notes);
}

/// The predicted cache as a share of what everything else leaves of the memory. Source: TensorRT-LLM 1.1,
/// _torch/pyexecutor/_util.py: the fraction of the total less the peak of a trial run.
std::string cache_fraction(ServingMemory const& m) { return fmt::format("{:.3g}", m.cache / (m.capacity - m.fixed())); }

/// @param program gets the launcher of a replica over several nodes
ArgumentLines arguments_of(ServeLaunch const& l, std::string& program, Notes& notes) {
    ServingPlan const& p = l.plan;
    ArgumentLines lines;
    if (nodes_of(l) > 1) {
        lines.comment(
            fmt::format("the ranks are one MPI world: run this in an allocation of {} nodes; without Slurm, mpirun "
                        "takes srun's place",
                        nodes_of(l)));
        program = fmt::format("srun --mpi=pmix --nodes {} --ntasks {} --ntasks-per-node {} trtllm-llmapi-launch {}",
                              nodes_of(l), p.accelerators(), l.per_node, program);
    }
    lines.option("--backend", "pytorch");
    lines.option("--tp_size", p.tp * p.attention_dp);
    lines.option("--pp_size", p.pp);
    if (l.model.moe) lines.option("--ep_size", p.ep);
    if (p.pp > 1) lines.comment("of a group, and of one of the batches that are in the pipeline at a time");
    lines.option("--max_batch_size", of_group(p.max_batch, groups_of(p) * p.pp));
    lines.option("--max_num_tokens", p.max_batched_tokens);
    if (auto const context = chosen_context(l, "another checkpoint's config", notes))
        lines.option("--max_seq_len", *context);
    if (l.memory.fits()) {
        lines.comment("of the memory that weights and activations leave");
        lines.option("--kv_cache_free_gpu_memory_fraction", cache_fraction(l.memory));
    }
    lines.option("--gpus_per_node", l.per_node);
    lines.variable("--extra_llm_api_options", "options");
    return lines;
}

/// Source: examples/disaggregated/README.md of TensorRT-LLM 1.1: both sides name the backend, and servers for prompts
/// do without the overlap scheduler.
std::string role_options(ServeLaunch const& l, Notes& notes) {
    if (l.role == ServeRole::whole) return {};
    notes.push_back({"router",
                     "requests go through 'trtllm-serve disaggregated -c FILE', whose file has the addresses of "
                     "both sides (context_servers, generation_servers)"});
    std::string text = l.role == ServeRole::prefill ? "disable_overlap_scheduler: true\n" : "";
    text += "cache_transceiver_config:\n  backend: DEFAULT\n";
    if (l.request_length > 0) text += fmt::format("  max_tokens_in_buffer: {}\n", l.request_length);
    return text;
}

ServeExport write(ServeLaunch const& l) {
    // Source: nvidia.github.io/TensorRT-LLM/supported-hardware.html
    static constexpr std::array<std::string_view, 4> generations{"ampere", "ada", "hopper", "blackwell"};
    ServingPlan const& p = l.plan;
    ServeExport out;
    Notes& notes = out.not_expressed;
    note_device(l, "TensorRT-LLM", generations, notes);
    note_common(l, notes);
    note_formats(l, notes);
    note_groups(l, notes);
    if (p.redundant_experts > 0)
        notes.push_back({"redundant_experts", fmt::format("a load balancer's file asks for them: num_slots {} "
                                                          "(moe_config.load_balancer)",
                                                          l.model.moe->experts + p.redundant_experts)});
    std::string yaml =
        "# Options of TensorRT-LLM that trtllm-serve has no argument for, written by 'sextant export serve'.\n";
    yaml +=
        fmt::format("enable_attention_dp: {}\nenable_chunked_prefill: true\nkv_cache_config:\n", p.attention_dp > 1);
    if (l.memory.fits()) yaml += fmt::format("  free_gpu_memory_fraction: {}\n", cache_fraction(l.memory));
    yaml += fmt::format("  tokens_per_block: {}\n  dtype: \"{}\"\n", block_tokens(l, notes),
                        p.cache == CacheFormat::fp8 ? "fp8" : "auto");
    yaml += role_options(l, notes);
    std::string const stem = file_stem(l, "tensorrt_llm");
    ServeScript script{.title = "TensorRT-LLM",
                       .written = tensorrt_llm_serve_exporter.written,
                       .program = "trtllm-serve \"$model\"",
                       .variables = fmt::format("options=$(dirname -- \"${{BASH_SOURCE[0]}}\")/{}.yml\n", stem)};
    script.arguments = arguments_of(l, script.program, notes);
    out.files.push_back({stem + ".sh", serve_script(l, script, notes)});
    out.files.push_back({stem + ".yml", yaml});
    return out;
}

}  // namespace
}  // namespace sextant
