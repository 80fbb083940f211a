#include "core/spec/serving_split.hpp"

#include "core/spec/engine_profile.hpp"
#include "core/spec/model_spec.hpp"
#include "core/spec/serving_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace sextant {
namespace {

using Fault = std::optional<std::string>;

Fault heads_fault(ModelSpec const& model, std::int64_t tp) {
    for (bool const sliding : {false, true}) {
        AttentionSpec const& a = model.attention_of({.sliding = sliding});
        if (a.heads % tp != 0)
            return fmt::format("--tp: {} does not divide the {} attention heads of {} (a divisor of {} is expected)",
                               tp, a.heads, model.name, a.heads);
        // A latent belongs to all heads.
        if (!a.latent && a.kv_heads % tp != 0 && tp % a.kv_heads != 0)
            return fmt::format(
                "--tp: {} and the {} key/value heads of {} do not divide one another (a divisor or a multiple of {} is "
                "expected)",
                tp, a.kv_heads, model.name, a.kv_heads);
    }
    if (!model.recurrent) return {};
    if (model.recurrent->heads % tp != 0)
        return fmt::format("--tp: {} does not divide the {} recurrent heads of {}", tp, model.recurrent->heads,
                           model.name);
    // A single group is copied. Source: vLLM, mamba_mixer2.py; key heads of the delta rule are divided (qwen3_next.py).
    std::int64_t const key_heads = model.recurrent->key_heads;
    bool const copied = model.recurrent->rule == StateRule::decay && key_heads == 1;
    if (key_heads % tp == 0 || copied) return {};
    return fmt::format("--tp: {} does not divide the {} key heads of the recurrent layers of {} (groups, in Mamba-2)",
                       tp, key_heads, model.name);
}

bool has_dense_layers(ModelSpec const& model) {
    return std::any_of(model.layers.begin(), model.layers.end(),
                       [](LayerKind kind) { return kind.feed_forward && !kind.moe; });
}

/// Source: vLLM, `divide` of distributed/utils.py; SGLang likewise.
Fault widths_fault(ModelSpec const& model, std::int64_t tp) {
    if (has_dense_layers(model) && model.mlp.intermediate % tp != 0)
        return fmt::format("--tp: {} does not divide the {} values inside a feed-forward of {}", tp,
                           model.mlp.intermediate, model.name);
    if (model.moe && model.moe->shared_intermediate % tp != 0)
        return fmt::format("--tp: {} does not divide the {} values inside the shared experts of {}", tp,
                           model.moe->shared_intermediate, model.name);
    return {};
}

/// The divisor of a number that is nearest to another, the smaller of two.
std::int64_t nearest_divisor(std::int64_t number, std::int64_t wanted) {
    std::int64_t nearest = 1;
    for (std::int64_t d = 1; d <= number; ++d)
        if (number % d == 0 && std::abs(d - wanted) < std::abs(nearest - wanted)) nearest = d;
    return nearest;
}

/// What divides the experts, copies included, after all: so many more copies, or another ep.
std::string undivided(ModelSpec const& model, ServingPlan const& plan) {
    std::int64_t const copies = plan.redundant_experts;
    std::int64_t const held = model.moe->experts + copies;
    std::int64_t const missing = (plan.ep - held % plan.ep) % plan.ep;
    return fmt::format(
        "--ep: {} does not divide the {} experts{} of {} (--redundant-experts {} makes {} of them, or the nearest that "
        "does is --ep {})",
        plan.ep, model.moe->experts, copies > 0 ? fmt::format(" and {} copies", copies) : "", model.name,
        copies + missing, held + missing, nearest_divisor(held, plan.ep));
}

Fault experts_fault(ModelSpec const& model, ServingPlan const& plan) {
    std::int64_t const ranks = plan.tp * plan.attention_dp;
    if (plan.ep > 1) {
        if (!model.moe) return fmt::format("--ep: {} has no experts (leave it at 1)", model.name);
        if ((model.moe->experts + plan.redundant_experts) % plan.ep != 0) return undivided(model, plan);
        if (plan.ep == ranks) return {};
        return fmt::format(
            "--ep: {} (experts are divided over all {} ranks of a stage, tp x attention-dp, or over none: 1)", plan.ep,
            ranks);
    }
    if (!model.moe || model.moe->intermediate % ranks == 0) return {};
    return fmt::format(
        "--ep: with 1 each expert is cut over tp x attention-dp, and {} ranks do not divide the {} values inside one "
        "of {} (--ep {} divides the experts over them)",
        ranks, model.moe->intermediate, model.name, ranks);
}

}  // namespace

std::optional<std::string> split_fault(ModelSpec const& model, ServingPlan const& plan) {
    if (Fault fault = heads_fault(model, plan.tp)) return fault;
    if (Fault fault = widths_fault(model, plan.tp)) return fault;
    return experts_fault(model, plan);
}

std::optional<std::string> cut_blocks(EngineProfile const& engine, ModelSpec const& model, ServingPlan const& plan) {
    constexpr std::int64_t block = 128;
    bool const in_blocks = (plan.stored.empty() ? plan.weights : plan.stored) == "fp8-block";
    bool const loads_whole_blocks = is_vllm_or_sglang(engine.program);
    if (!in_blocks || !loads_whole_blocks) return {};
    auto const cuts = [&](std::int64_t width, std::int64_t ranks) { return ranks > 1 && width % (block * ranks) != 0; };
    auto const sentence = [&](std::int64_t width, std::int64_t ranks, char const* what, std::string const& instead) {
        return fmt::format(
            "{} ranks cut the {} values of {} within blocks of {} of fp8-block, which vLLM and SGLang do not load "
            "unless they pad them ({})",
            ranks, width, what, block, instead);
    };
    std::int64_t const ranks = plan.tp * plan.attention_dp;
    if (model.moe && cuts(model.moe->intermediate, expert_ranks(plan)))
        return sentence(model.moe->intermediate, ranks, "an expert",
                        fmt::format("--ep {} divides the experts over them", ranks));
    if (model.only_experts_narrow) return {};
    if (has_dense_layers(model) && cuts(model.mlp.intermediate, plan.tp))
        return sentence(model.mlp.intermediate, plan.tp, "a feed-forward", "a smaller --tp");
    if (model.moe && cuts(model.moe->shared_intermediate, plan.tp))
        return sentence(model.moe->shared_intermediate, plan.tp, "the shared experts", "a smaller --tp");
    return {};
}

std::int64_t expert_ranks(ServingPlan const& plan) { return plan.ep == 1 ? plan.tp * plan.attention_dp : 1; }

std::optional<std::string> split_fault(EngineProfile const& engine, ServingPlan const& plan) {
    // Its enable_attention_dp makes a group of every rank. Source: _torch/modules/attention.py.
    if (engine.program != EngineProgram::tensorrt_llm || plan.attention_dp == 1 || plan.tp == 1) return {};
    return fmt::format(
        "--attention-dp: groups of TensorRT-LLM are single ranks, and these have {} each (--tp 1 --attention-dp {})",
        plan.tp, plan.tp * plan.attention_dp);
}

}  // namespace sextant
