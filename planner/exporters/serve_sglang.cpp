#include "core/is_one_of.hpp"
#include "core/spec/engine_profile.hpp"
#include "planner/exporters/serve_script.hpp"
#include "planner/serving/apart_candidates.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace sextant {
namespace {

using Notes = std::vector<NotExpressed>;

ServeExport write(ServeLaunch const& launch);

}  // namespace

extern constinit ServeExporterEntry const sglang_serve_exporter;
constinit ServeExporterEntry const sglang_serve_exporter{.name = "sglang", .written = "SGLang 0.5", .write = write};

namespace {

/// What the attention groups of a plan are in SGLang.
enum class Groups : std::uint8_t {
    none,      ///< one group, or the model's attention is cut over all ranks
    replicas,  ///< plain data parallelism: each group has all layers
    attention  ///< each has its own attention, and shares the experts
};

/// Architectures with experts whose attention SGLang can cut over a group alone. Source: SGLang 0.5.5, the models that
/// ask for get_attention_tp_size and gather by LayerCommunicator.
bool has_attention_groups(ModelSpec const& model) {
    static constexpr std::array<std::string_view, 13> known{
        "deepseek_v2", "deepseek_v3", "deepseek_v32", "kimi_k2",   "glm4_moe",  "bailing_moe", "bailing_moe_v2",
        "gpt_oss",     "llama4",      "llama4_text",  "qwen2_moe", "qwen3_moe", "qwen3_next"};
    return is_one_of(known, model.architecture);
}

Groups groups_of(ServeLaunch const& l) {
    if (l.plan.attention_dp == 1) return Groups::none;
    if (!l.model.moe) return Groups::replicas;
    return has_attention_groups(l.model) ? Groups::attention : Groups::none;
}

void note_groups(ServeLaunch const& l, Notes& notes) {
    ServingPlan const& p = l.plan;
    Groups const groups = groups_of(l);
    if (groups == Groups::replicas && nodes_of(l) > 1)
        notes.push_back({"attention_dp",
                         fmt::format("SGLang starts plain data-parallel groups on one node only, and will refuse: one "
                                     "replica for each group (--attention-dp 1 --replicas {})",
                                     l.replicas * p.attention_dp)});
    if (groups == Groups::none && p.attention_dp > 1)
        notes.push_back({"attention_dp",
                         fmt::format("SGLang 0.5 has no attention groups for '{}': the command cuts attention over all "
                                     "{} ranks (--tp {} --attention-dp 1 predicts that, --engine vllm has groups)",
                                     l.model.architecture, p.tp * p.attention_dp, p.tp * p.attention_dp)});
}

void add_ranks(ArgumentLines& lines, ServeLaunch const& l) {
    ServingPlan const& p = l.plan;
    Groups const groups = groups_of(l);
    if (groups == Groups::attention) lines.comment("all ranks of a stage; attention groups are parts of them");
    lines.option("--tp-size", groups == Groups::replicas ? p.tp : p.tp * p.attention_dp);
    lines.option("--pp-size", p.pp);
    if (groups != Groups::none) lines.option("--dp-size", p.attention_dp);
    if (groups == Groups::attention) lines.flag("--enable-dp-attention");
    if (p.ep > 1) lines.option("--ep-size", p.ep);
    if (p.ep > 1 && l.exchange == Dispatcher::deduplicated) lines.option("--moe-a2a-backend", "deepep");
    if (p.redundant_experts > 0) lines.option("--ep-num-redundant-experts", p.redundant_experts);
}

/// Requests and tokens: of a replica of plain data parallelism; else of all groups together, among which SGLang divides
/// them. It wants whole pages of each.
void add_limits(ArgumentLines& lines, ServeLaunch const& l) {
    ServingPlan const& p = l.plan;
    std::int64_t const counted = groups_of(l) == Groups::replicas ? 1 : p.attention_dp;
    std::int64_t const chunk = std::max(p.block_tokens, p.max_batched_tokens / p.block_tokens * p.block_tokens);
    lines.option("--max-running-requests", counted * of_group(p.max_batch, p.attention_dp));
    lines.option("--chunked-prefill-size", counted * chunk);
    lines.option("--page-size", p.block_tokens);
}

/// SGLang's share of the memory is that of weights and cache alone. Source: SGLang 0.5.5, server_args.py,
/// _handle_gpu_memory_settings.
void add_memory(ArgumentLines& lines, ServeLaunch const& l) {
    ServingMemory const& m = l.memory;
    if (!m.fits()) return;
    lines.comment(fmt::format("weights and cache alone, of {:.3g} of the memory in all", m.usable / m.capacity));
    lines.option("--mem-fraction-static", fmt::format("{:.3f}", (m.weights + m.cache) / m.capacity));
}

/// A checkpoint may ask for another cache than the plan's two bytes, and gets it where nothing is said.
void add_cache(ArgumentLines& lines, ServeLaunch const& l) {
    bool const asks = l.checkpoint.cache.value_or(CacheFormat::bf16) != CacheFormat::bf16;
    if (l.plan.cache == CacheFormat::fp8) lines.option("--kv-cache-dtype", "fp8_e4m3");
    if (l.plan.cache == CacheFormat::bf16 && asks) lines.option("--kv-cache-dtype", "bf16");
}

/// Source: SGLang 0.5.5, docs/advanced_features/pd_disaggregation.md.
void add_role(ArgumentLines& lines, Notes& notes, ServeLaunch const& l) {
    if (l.role == ServeRole::whole) return;
    if (auto fault = l.role == ServeRole::decode ? pipeline_fault(EngineProgram::sglang, l.peer, l.plan) : std::nullopt)
        notes.push_back({"pp", std::move(*fault)});
    lines.option("--disaggregation-mode", l.role == ServeRole::prefill ? "prefill" : "decode");
    notes.push_back({"router",
                     "requests go through a router in front of both: python3 -m sglang_router.launch_router "
                     "--pd-disaggregation --prefill URL --decode URL; Mooncake (or NIXL, by "
                     "--disaggregation-transfer-backend nixl) has to be installed"});
}

ServeExport write(ServeLaunch const& l) {
    // Source: docs.sglang.ai, platforms.
    static constexpr std::array<std::string_view, 9> generations{"turing", "ampere", "ada",    "hopper", "blackwell",
                                                                 "cdna3",  "cdna4",  "xe-hpc", "ascend"};
    ServingPlan const& p = l.plan;
    ServeExport out;
    note_device(l, "SGLang", generations, out.not_expressed);
    note_common(l, out.not_expressed);
    note_groups(l, out.not_expressed);
    ArgumentLines lines;
    lines.variable("--model-path", "model");
    add_ranks(lines, l);
    add_limits(lines, l);
    add_memory(lines, l);
    if (auto const context =
            chosen_context(l, "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1 in the environment", out.not_expressed))
        lines.option("--context-length", *context);
    lines.option("--dtype", p.weights == "fp16" ? "float16" : "bfloat16");
    if (quantises_to_fp8(l)) lines.option("--quantization", "fp8");
    add_cache(lines, l);
    add_role(lines, out.not_expressed, l);
    std::string program = "python3 -m sglang.launch_server";
    if (nodes_of(l) > 1)
        program += fmt::format(
            " --nnodes {} --node-rank \"${{NODE_RANK:?rank of this node}}\" --dist-init-addr "
            "\"${{MASTER_ADDR:?first node}}:20000\"",
            nodes_of(l));
    ServeScript const script{
        .title = "SGLang", .written = sglang_serve_exporter.written, .program = program, .arguments = lines};
    out.files.push_back({file_stem(l, "sglang") + ".sh", serve_script(l, script, out.not_expressed)});
    return out;
}

}  // namespace
}  // namespace sextant
