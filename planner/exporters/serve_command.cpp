#include "planner/exporters/serve_command.hpp"

#include "core/error.hpp"
#include "core/nearest.hpp"
#include "planner/exporters/quoting.hpp"
#include "planner/left_out.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace sextant {
namespace {

using Notes = std::vector<NotExpressed>;

std::int64_t nodes_of(ServeLaunch const& l) { return (l.plan.accelerators() + l.per_node - 1) / l.per_node; }

/// Of one attention group, where the engine counts by group.
std::int64_t of_group(std::int64_t total, ServingPlan const& p) {
    return std::max<std::int64_t>(1, (total + p.attention_dp - 1) / p.attention_dp);
}

/// The engine reads the format from the checkpoint, and takes no other word for it.
bool as_stored(ServeLaunch const& l) { return l.plan.weights_origin == FormatOrigin::checkpoint; }

void note_common(ServeLaunch const& l, Notes& notes) {
    std::string const& w = l.plan.weights;
    if (w != "bf16" && w != "fp16" && w != "fp8" && !as_stored(l))
        notes.push_back({"weights", fmt::format("{} has to come with the checkpoint that the path names", w)});
    if (l.plan.cache == CacheFormat::int4 || l.plan.cache == CacheFormat::int8)
        notes.push_back(
            {"kv_cache", fmt::format("there is no {} cache: the command leaves the default", name_of(l.plan.cache))});
    if (std::string const remark = left_out_remark(l.model); !remark.empty())
        notes.push_back({"model", remark + "; the engine loads them too, so less memory is left for the cache"});
    if (l.plan.expert_imbalance > 1) notes.push_back({"expert_imbalance", "an assumption on traffic, no option"});
}

std::string script(char const* engine, char const* version, ServeLaunch const& l, Notes const& notes,
                   std::string const& program, ArgumentLines const& lines) {
    std::string text = "#!/usr/bin/env bash\n";
    text += fmt::format("# {}, written by 'sextant export serve' for {}.\n", engine, version);
    text += comment_lines(
        fmt::format("{} on {}: one replica on {} accelerators (tp {}, pp {}, attention dp {}, ep {}); "
                    "{} in all, each started like this",
                    named(l.model), l.cluster.name, l.plan.accelerators(), l.plan.tp, l.plan.pp, l.plan.attention_dp,
                    l.plan.ep, l.replicas == 1 ? "one" : fmt::format("{} behind a load balancer", l.replicas)));
    if (nodes_of(l) > 1) text += comment_lines(fmt::format("A replica spans {} nodes of {}.", nodes_of(l), l.per_node));
    if (notes.empty()) text += "# Every part of the plan is expressed.\n";
    if (!notes.empty()) text += "# NOT EXPRESSED:\n";
    for (NotExpressed const& note : notes)
        text += comment_lines(fmt::format("- {}: {}", note.field, note.message));
    text += fmt::format(
        "set -euo pipefail\n\nmodel_default={}\nmodel=${{MODEL_PATH:-$model_default}}\n\narguments=(\n{})\n",
        shell_quoted(operand(l.model_path)), lines.text());
    return text + fmt::format("\nexec {} \"${{arguments[@]}}\"\n", program);
}

/// vLLM starts the attention groups of all nodes if Ray does, and wants to know how many share the first node.
void add_groups_of_node(ArgumentLines& lines, Notes& notes, ServeLaunch const& l) {
    ServingPlan const& p = l.plan;
    lines.option("--data-parallel-backend", "ray");
    std::int64_t const fitting = l.per_node / (p.tp * p.pp);
    if (fitting > 0)
        lines.option("--data-parallel-size-local", std::min(fitting, (p.attention_dp + nodes_of(l) - 1) / nodes_of(l)));
    else
        notes.push_back(
            {"attention_dp", fmt::format("vLLM 0.11 places each attention group on one node, and these have "
                                         "{} accelerators: later ones spread it with "
                                         "VLLM_RAY_DP_PACK_STRATEGY=span",
                                         p.tp * p.pp)});
}

/// vLLM does not start where the cache holds no request of the model's full length: the longest that it holds, and no
/// less than the plan's requests. 0: the model's own.
std::int64_t longest_request(ServeLaunch const& l) {
    std::int64_t const positions = l.model.max_positions;
    constexpr double beyond_any = 1e12;
    auto const held = static_cast<std::int64_t>(std::min(l.cache_length, beyond_any));
    if (held < 1 || (positions == 0 && l.cache_length >= beyond_any)) return 0;
    std::int64_t const asked = std::max(held, l.request_length);
    return positions > 0 ? std::min(positions, asked) : asked;
}

void add_longest_request(ArgumentLines& lines, Notes& notes, ServeLaunch const& l) {
    std::int64_t const longest = longest_request(l);
    if (longest == 0) return;
    lines.option("--max-model-len", longest);
    if (longest < l.model.max_positions)
        notes.push_back({"max_model_len",
                         fmt::format("the cache of a replica holds no request of the model's {} tokens, at which vLLM "
                                     "would not start: longer ones than {} are refused (larger --tp, --kv-cache fp8)",
                                     l.model.max_positions, longest)});
}

/// The nearest of the block sizes that vLLM's parser takes, the smaller of two. Source: vLLM 0.11, BlockSize in
/// vllm/config/cache.py.
std::int64_t block_size(Notes& notes, std::int64_t wanted) {
    constexpr std::array<std::int64_t, 6> sizes{1, 8, 16, 32, 64, 128};
    std::int64_t const nearest = *std::min_element(sizes.begin(), sizes.end(), [&](std::int64_t a, std::int64_t b) {
        return std::abs(a - wanted) < std::abs(b - wanted);
    });
    if (nearest != wanted)
        notes.push_back(
            {"block_tokens", fmt::format("vLLM takes blocks of {} tokens, and not of {}: the command has {}",
                                         fmt::join(sizes, ", "), wanted, nearest)});
    return nearest;
}

ServeExport vllm(ServeLaunch const& l) {
    ServingPlan const& p = l.plan;
    ServeExport out;
    note_common(l, out.not_expressed);
    ArgumentLines lines;
    lines.option("--tensor-parallel-size", p.tp);
    lines.option("--pipeline-parallel-size", p.pp);
    if (p.attention_dp > 1) lines.option("--data-parallel-size", p.attention_dp);
    if (p.ep > 1) lines.flag("--enable-expert-parallel");
    add_longest_request(lines, out.not_expressed, l);
    lines.option("--max-num-seqs", of_group(p.max_batch, p));
    lines.option("--max-num-batched-tokens", p.max_batched_tokens);
    lines.option("--block-size", block_size(out.not_expressed, p.block_tokens));
    lines.option("--gpu-memory-utilization", fmt::format("{}", p.memory_utilisation));
    lines.option("--dtype", p.weights == "fp16" ? "float16" : "bfloat16");
    if (p.weights == "fp8" && !as_stored(l)) lines.option("--quantization", "fp8");
    if (p.cache == CacheFormat::fp8) lines.option("--kv-cache-dtype", "fp8");
    if (nodes_of(l) > 1) {
        lines.option("--distributed-executor-backend", "ray");
        if (p.attention_dp > 1) add_groups_of_node(lines, out.not_expressed, l);
    }
    out.files.push_back({"vllm.sh", script("vLLM", "vLLM 0.11", l, out.not_expressed, "vllm serve \"$model\"", lines)});
    return out;
}

/// Of all attention groups together, among which SGLang divides it; it wants whole pages of each.
std::int64_t prefill_chunk(ServingPlan const& p) {
    return p.attention_dp * std::max(p.block_tokens, p.max_batched_tokens / p.block_tokens * p.block_tokens);
}

ServeExport sglang(ServeLaunch const& l) {
    ServingPlan const& p = l.plan;
    ServeExport out;
    note_common(l, out.not_expressed);
    out.not_expressed.push_back(
        {"memory_utilisation",
         "mem-fraction-static counts weights and cache, not activations: lower it if the server runs out of memory"});
    ArgumentLines lines;
    lines.variable("--model-path", "model");
    lines.comment("all ranks of a stage; attention groups are parts of them");
    lines.option("--tp-size", p.tp * p.attention_dp);
    lines.option("--pp-size", p.pp);
    if (p.attention_dp > 1) {
        lines.option("--dp-size", p.attention_dp);
        lines.flag("--enable-dp-attention");
    }
    if (p.ep > 1) lines.option("--ep-size", p.ep);
    lines.option("--max-running-requests", p.attention_dp * of_group(p.max_batch, p));
    lines.option("--chunked-prefill-size", prefill_chunk(p));
    lines.option("--page-size", p.block_tokens);
    lines.option("--mem-fraction-static", fmt::format("{}", p.memory_utilisation));
    lines.option("--dtype", p.weights == "fp16" ? "float16" : "bfloat16");
    if (p.weights == "fp8" && !as_stored(l)) lines.option("--quantization", "fp8");
    if (p.cache == CacheFormat::fp8) lines.option("--kv-cache-dtype", "fp8_e4m3");
    std::string program = "python3 -m sglang.launch_server";
    if (nodes_of(l) > 1)
        program += fmt::format(
            " --nnodes {} --node-rank \"${{NODE_RANK:?rank of this node}}\" --dist-init-addr "
            "\"${{MASTER_ADDR:?first node}}:20000\"",
            nodes_of(l));
    out.files.push_back({"sglang.sh", script("SGLang", "SGLang 0.5", l, out.not_expressed, program, lines)});
    return out;
}

ServeExport tensorrt_llm(ServeLaunch const& l) {
    ServingPlan const& p = l.plan;
    ServeExport out;
    note_common(l, out.not_expressed);
    if (p.weights == "fp8" && !as_stored(l))
        out.not_expressed.push_back({"weights", "fp8 has to come with the checkpoint that the path names"});
    out.not_expressed.push_back(
        {"memory_utilisation", "the fraction is of the memory that weights and activations leave, so less is taken"});
    ArgumentLines lines;
    std::string program = "trtllm-serve \"$model\"";
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
    lines.option("--max_batch_size", of_group(p.max_batch, p));
    lines.option("--max_num_tokens", p.max_batched_tokens);
    lines.option("--kv_cache_free_gpu_memory_fraction", fmt::format("{}", p.memory_utilisation));
    lines.option("--gpus_per_node", l.per_node);
    lines.option("--extra_llm_api_options", "tensorrt_llm.yml");
    std::string yaml =
        "# Options of TensorRT-LLM that trtllm-serve has no argument for, written by 'sextant export serve'.\n";
    yaml += fmt::format(
        "enable_attention_dp: {}\nenable_chunked_prefill: true\nkv_cache_config:\n  free_gpu_memory_fraction: "
        "{}\n  tokens_per_block: {}\n  dtype: \"{}\"\n",
        p.attention_dp > 1, p.memory_utilisation, p.block_tokens, p.cache == CacheFormat::fp8 ? "fp8" : "auto");
    out.files.push_back(
        {"tensorrt_llm.sh", script("TensorRT-LLM", "TensorRT-LLM 1.1", l, out.not_expressed, program, lines)});
    out.files.push_back({"tensorrt_llm.yml", yaml});
    return out;
}

constexpr std::array catalog{ServeExporterEntry{"vllm", "vLLM 0.11", vllm},
                             ServeExporterEntry{"sglang", "SGLang 0.5", sglang},
                             ServeExporterEntry{"tensorrt-llm", "TensorRT-LLM 1.1", tensorrt_llm}};

}  // namespace

std::span<ServeExporterEntry const> serve_exporter_catalog() { return catalog; }

ServeExporterEntry const& find_serve_exporter(std::string_view name, std::string_view where) {
    std::vector<std::string> known;
    for (ServeExporterEntry const& entry : catalog) {
        if (name == entry.name) return entry;
        known.emplace_back(entry.name);
    }
    throw InputError("{}: unknown engine '{}'{} (known: {})", where, name, did_you_mean(name, known), join(known));
}

}  // namespace sextant
