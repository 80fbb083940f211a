#include "core/spec/serving_plan.hpp"

#include "core/error.hpp"
#include "core/nearest.hpp"
#include "core/spec/model_spec.hpp"
#include "core/spec/serving_split.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

namespace sextant {
namespace {

constexpr std::array format_origins{FormatOrigin::given, FormatOrigin::checkpoint, FormatOrigin::usual};
constexpr std::array cache_formats{CacheFormat::bf16, CacheFormat::fp8, CacheFormat::int8, CacheFormat::int4};

void positive(std::int64_t value, char const* name, std::int64_t most) {
    if (value < 1 || value > most) throw InputError("{}: {} (1 to {})", name, value, most);
}

/// Every sequence of a batch decodes in an iteration. vLLM refuses the same (SchedulerConfig).
void check_batch(ServingPlan const& plan) {
    std::int64_t const tokens = plan.max_batched_tokens * plan.attention_dp;
    if (tokens < plan.max_batch)
        throw InputError(
            "--max-batched-tokens: {}{} are fewer than the {} sequences of a batch take, one each (a smaller "
            "--max-batch, or more)",
            plan.max_batched_tokens,
            plan.attention_dp > 1 ? fmt::format(" of each of {} groups", plan.attention_dp) : "", plan.max_batch);
}

}  // namespace

double scale_bytes_per_value(std::string_view stored) {
    if (stored == "mxfp4") return 1.0 / 32;
    if (stored == "fp4") return 1.0 / 16;
    constexpr std::string_view int4 = "int4-weights";
    if (!stored.starts_with(int4)) return 0;
    std::string const group(stored.substr(std::min(stored.size(), int4.size() + 1)));
    return 2 / (group.empty() ? 128 : std::max(1.0, std::strtod(group.c_str(), nullptr)));
}

std::string_view name_of(CacheFormat format) {
    switch (format) {
        case CacheFormat::bf16: return "bf16";
        case CacheFormat::fp8: return "fp8";
        case CacheFormat::int8: return "int8";
        case CacheFormat::int4: break;
    }
    return "int4";
}

double bytes_per_value(CacheFormat format) {
    switch (format) {
        case CacheFormat::bf16: return 2;
        case CacheFormat::fp8:
        case CacheFormat::int8: return 1;
        case CacheFormat::int4: break;
    }
    return 0.5;
}

CacheFormat cache_format_from(std::string_view name, std::string_view where) {
    std::vector<std::string> known;
    for (CacheFormat const format : cache_formats) {
        if (name == name_of(format)) return format;
        known.emplace_back(name_of(format));
    }
    throw InputError("{}: unknown cache format '{}'{} (known: {})", where, name, did_you_mean(name, known),
                     join(known));
}

std::string_view name_of(FormatOrigin origin) {
    switch (origin) {
        case FormatOrigin::given: return "given";
        case FormatOrigin::checkpoint: return "checkpoint";
        case FormatOrigin::usual: break;
    }
    return "usual";
}

FormatOrigin format_origin_from(std::string_view name, std::string_view where) {
    for (FormatOrigin const origin : format_origins)
        if (name == name_of(origin)) return origin;
    throw InputError("{}: unknown origin '{}' (given, checkpoint or usual)", where, name);
}

std::string split_words(ServingPlan const& plan) {
    std::string out = fmt::format("tp {}", plan.tp);
    if (plan.pp > 1) out += fmt::format(", pp {}", plan.pp);
    if (plan.ep > 1) out += fmt::format(", ep {}", plan.ep);
    if (plan.attention_dp > 1) out += fmt::format(", attention-dp {}", plan.attention_dp);
    if (plan.redundant_experts > 0) out += fmt::format(", {} redundant experts", plan.redundant_experts);
    return out;
}

void check_weights_format(std::string_view name, std::string_view where) {
    if (find_gemm_format(name) != nullptr) return;
    std::vector<std::string> known;
    for (GemmFormat const& format : gemm_formats())
        known.emplace_back(format.name);
    throw InputError("{}: unknown format '{}'{} (known: {})", where, name, did_you_mean(name, known), join(known));
}

void check_serving_plan(ModelSpec const& model, ServingPlan const& plan) {
    constexpr std::int64_t most_ranks = 4096;
    if (model.head != OutputHead::vocabulary)
        throw InputError(
            "--model: {} has no logits over a vocabulary, so it generates no tokens (head=vocabulary does)",
            model.name);
    if (!model.causal)
        throw InputError("--model: {} is an encoder, whose tokens see those after them: it generates none", model.name);
    positive(plan.tp, "--tp", most_ranks);
    positive(plan.pp, "--pp", model.layer_count());
    positive(plan.attention_dp, "--attention-dp", most_ranks);
    positive(plan.ep, "--ep", most_ranks);
    if (plan.redundant_experts < 0 || plan.redundant_experts > most_ranks)
        throw InputError("--redundant-experts: {} (0 to {})", plan.redundant_experts, most_ranks);
    if (plan.redundant_experts > 0 && plan.ep == 1)
        throw InputError("--redundant-experts: the experts are not divided over ranks (--ep)");
    positive(plan.max_batch, "--max-batch", std::int64_t{1} << 20);
    positive(plan.max_batched_tokens, "--max-batched-tokens", std::int64_t{1} << 22);
    positive(plan.block_tokens, "--block-tokens", std::int64_t{1} << 16);
    if (!(plan.memory_utilisation > 0 && plan.memory_utilisation <= 1))
        throw InputError("--memory-utilisation: {} (above 0, up to 1)", plan.memory_utilisation);
    check_batch(plan);
    // One rank has all tokens at most.
    if (!(plan.expert_imbalance >= 1 && plan.expert_imbalance <= static_cast<double>(plan.ep)))
        throw InputError("--expert-imbalance: {} (1 to {}, the ranks that the experts are divided over: --ep)",
                         plan.expert_imbalance, plan.ep);
    check_weights_format(plan.weights, "--weights");
    if (auto const fault = split_fault(model, plan)) throw InputError("{}", *fault);
}

}  // namespace sextant
