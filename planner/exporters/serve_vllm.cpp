#include "core/spec/engine_profile.hpp"
#include "planner/exporters/serve_script.hpp"
#include "planner/serving/apart_candidates.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace sextant {
namespace {

using Notes = std::vector<NotExpressed>;

ServeExport write(ServeLaunch const& launch);

}  // namespace

extern constinit ServeExporterEntry const vllm_serve_exporter;
constinit ServeExporterEntry const vllm_serve_exporter{.name = "vllm", .written = "vLLM 0.11", .write = write};

namespace {

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

/// vLLM does not start where the cache holds no request of the model's full length: the longest that it surely holds,
/// and no less than the plan's requests. 0: the model's own.
std::int64_t longest_request(ServeLaunch const& l) {
    // Twice what the predicted cache is off by. Source: docs/serving.md, caches that vLLM reports.
    constexpr double margin = 0.04;
    constexpr double beyond_any = 1e12;
    std::int64_t const positions = l.model.max_positions;
    double const longest = l.memory.longest();
    auto const held = static_cast<std::int64_t>((1 - margin) * std::min(longest, beyond_any));
    if (held < 1 || (positions == 0 && longest >= beyond_any)) return 0;
    std::int64_t const asked = std::max(held, l.request_length);
    return positions > 0 ? std::min(positions, asked) : asked;
}

void add_longest_request(ArgumentLines& lines, Notes& notes, ServeLaunch const& l) {
    bool const chosen = chosen_context(l, "VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 in the environment", notes).has_value();
    std::int64_t const longest = longest_request(l);
    if (longest == 0) return;
    lines.option("--max-model-len", longest);
    if (longest < l.model.max_positions)
        notes.push_back(
            {"max_model_len", fmt::format("the cache of a replica may not hold a request of {}{} tokens, "
                                          "without which vLLM does not start: longer ones than {} are refused (larger "
                                          "--tp, --kv-cache fp8)",
                                          chosen ? "" : "the model's ", l.model.max_positions, longest)});
}

/// Its kernels take multiples of 16, of which the parser has four; latent attention has a size of its own on Hopper
/// (FlashMLA) and Blackwell (CUTLASS), which replaces any other. Source: vLLM 0.11, vllm/config/cache.py,
/// v1/attention/backends/flash_attn.py, platforms/cuda.py.
std::int64_t block_size(ServeLaunch const& l, Notes& notes) {
    static constexpr std::array<std::int64_t, 4> usual{16, 32, 64, 128};
    static constexpr std::array<std::int64_t, 1> flash_mla{64};
    static constexpr std::array<std::int64_t, 1> cutlass_mla{128};
    std::string const& generation = l.cluster.accelerator.generation;
    char const* const latent = "vLLM's kernels of latent attention take";
    if (l.model.attention.latent && generation == "hopper") return nearest_block(l, flash_mla, latent, notes);
    if (l.model.attention.latent && generation == "blackwell") return nearest_block(l, cutlass_mla, latent, notes);
    return nearest_block(l, usual, "vLLM's kernels take", notes);
}

/// Devices that vLLM runs on by itself or by a plugin of another package. Source: docs.vllm.ai, installation.
void note_accelerator(ServeLaunch const& l, Notes& notes) {
    static constexpr std::array<std::string_view, 14> generations{"volta",     "turing", "ampere", "ada",     "hopper",
                                                                  "blackwell", "cdna2",  "cdna3",  "cdna4",   "xe-hpc",
                                                                  "ascend",    "gaudi",  "tpu",    "trainium"};
    struct Plugin {
        std::string_view generation;
        char const* name;
    };
    static constexpr std::array plugins{Plugin{"ascend", "vllm-ascend"}, Plugin{"gaudi", "vllm-gaudi"},
                                        Plugin{"tpu", "tpu-inference"}, Plugin{"trainium", "AWS Neuron's"}};
    note_device(l, "vLLM", generations, notes);
    for (Plugin const& plugin : plugins)
        if (l.cluster.accelerator.generation == plugin.generation)
            notes.push_back({"accelerator", fmt::format("vLLM runs on {} by a plugin ({}), which has to be installed "
                                                        "and may take other options",
                                                        l.cluster.accelerator.title, plugin.name)});
}

/// Caches go by NIXL. Source: docs/features/nixl_connector_usage.md of vLLM 0.11 (the connector does not look at
/// `kv_role`); `_nixl_handshake` of its nixl_connector.py reads of rank tp_rank // (decode tp // prefill tp).
void add_role(ArgumentLines& lines, Notes& notes, ServeLaunch const& l) {
    if (l.role == ServeRole::whole) return;
    lines.option("--kv-transfer-config", R"({"kv_connector":"NixlConnector","kv_role":"kv_both"})");
    bool const sends = l.role == ServeRole::prefill;
    ServingPlan const& prompts = sends ? l.plan : l.peer;
    ServingPlan const& decodes = sends ? l.peer : l.plan;
    notes.push_back({"router",
                     "which replicas get a prompt and which its cache, a proxy in front of both says: vLLM has "
                     "tests/v1/kv_connector/nixl_integration/toy_proxy_server.py; NIXL has to be installed, "
                     "and replicas on one host want a VLLM_NIXL_SIDE_CHANNEL_PORT each"});
    if (prompts.tp > decodes.tp)
        notes.push_back({"tp", fmt::format("vLLM 0.11 takes no cache of more ranks (tp {}) than those that decode have "
                                           "(tp {}): a later version does, or --prefill-tp {}",
                                           prompts.tp, decodes.tp, decodes.tp)});
    if (auto fault = pipeline_fault(EngineProgram::vllm, prompts, decodes)) notes.push_back({"pp", std::move(*fault)});
}

ServeExport write(ServeLaunch const& l) {
    ServingPlan const& p = l.plan;
    ServeExport out;
    Notes& notes = out.not_expressed;
    note_accelerator(l, notes);
    note_common(l, notes);
    ArgumentLines lines;
    lines.option("--tensor-parallel-size", p.tp);
    lines.option("--pipeline-parallel-size", p.pp);
    if (p.attention_dp > 1) lines.option("--data-parallel-size", p.attention_dp);
    if (p.ep > 1) lines.flag("--enable-expert-parallel");
    if (p.redundant_experts > 0) {
        lines.flag("--enable-eplb");
        lines.option("--eplb-config", fmt::format("{{\"num_redundant_experts\":{}}}", p.redundant_experts));
    }
    add_longest_request(lines, notes, l);
    lines.option("--max-num-seqs", of_group(p.max_batch, p.attention_dp));
    lines.option("--max-num-batched-tokens", p.max_batched_tokens);
    lines.option("--block-size", block_size(l, notes));
    lines.option("--gpu-memory-utilization", fmt::format("{}", p.memory_utilisation));
    lines.option("--dtype", p.weights == "fp16" ? "float16" : "bfloat16");
    if (quantises_to_fp8(l)) lines.option("--quantization", "fp8");
    if (p.cache == CacheFormat::fp8) lines.option("--kv-cache-dtype", "fp8");
    add_role(lines, notes, l);
    if (nodes_of(l) > 1) {
        lines.option("--distributed-executor-backend", "ray");
        if (p.attention_dp > 1) add_groups_of_node(lines, notes, l);
    }
    ServeScript const script{.title = "vLLM",
                             .written = vllm_serve_exporter.written,
                             .program = "vllm serve \"$model\"",
                             .variables = p.ep > 1 && l.exchange == Dispatcher::deduplicated
                                              ? "export VLLM_ALL2ALL_BACKEND=deepep_high_throughput\n"
                                              : "",
                             .arguments = lines};
    out.files.push_back({file_stem(l, "vllm") + ".sh", serve_script(l, script, notes)});
    return out;
}

}  // namespace
}  // namespace sextant
