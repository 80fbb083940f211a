#include "planner/validation/server_setup.hpp"

#include "core/text.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

std::int64_t rounded_up(double tokens, std::int64_t unit) {
    return (static_cast<std::int64_t>(std::llround(tokens)) + unit - 1) / unit * unit;
}

/// Without options of their own.
ServerSetup by_default(std::string const& engine) {
    ServerSetup out;
    if (engine == "sglang") out.max_batched_tokens = 16384;  // max_prefill_tokens
    if (engine == "tensorrt-llm") out.cut = PromptCut::whole;
    return out;
}

/// @param slack tokens of an iteration beyond the batch and a prompt
void hold_prompt_and_batch(ServerSetup& out, double prompt, double in_flight, double slack) {
    out.max_batch = std::max<std::int64_t>(1, std::llround(in_flight));
    out.max_batched_tokens = rounded_up(in_flight + prompt + slack, 64);
}

ServerSetup generated(ServingRow const& row, std::string const& engine, double prompt, double in_flight) {
    ServerSetup out = by_default(engine);
    if (engine != "sglang") {
        hold_prompt_and_batch(out, prompt, in_flight, 0);
        out.assumption = "an iteration holds a prompt and the batch (no token limit is stated)";
        return out;
    }
    constexpr std::int64_t mixing_since = 3;  // 0.5.3; options for older versions name no switch that these know
    if (row.patch_version().value_or(mixing_since) < mixing_since) return out;
    constexpr double beyond = 1500;
    out.prompts = PromptOrder::mixed;
    out.cut = PromptCut::whole;
    out.max_batched_tokens = std::llround(prompt + beyond);
    out.assumption = "prompts mixed with decodes, up to one and 1500 tokens, as AIConfigurator starts the engine";
    return out;
}

ServerSetup scripted(ServingRow const& row, std::string const& engine, double prompt, double in_flight) {
    ServerSetup out = by_default(engine);
    if (engine == "sglang") {
        out.max_batched_tokens = 32768;
        out.prompts = PromptOrder::first;
        out.assumption = "prompts together up to 32768 tokens, as in the scripts of InferenceX";
    } else if (engine == "tensorrt-llm") {
        hold_prompt_and_batch(out, prompt, in_flight, 64);
        out.assumption = "an iteration holds a prompt and the batch, as in the scripts of InferenceX";
        if (lower_case(row.model).find("gpt-oss") != std::string::npos) {
            out.max_batched_tokens = 20000;
            out.assumption = "an iteration holds 20000 tokens, as in the scripts of InferenceX";
        }
    }
    return out;
}

}  // namespace

Benchmark benchmark_of(ServingRow const& row) {
    if (row.source_id.starts_with("inferencex") && row.notes_have("dump 20")) return Benchmark::inferencex;
    if (row.notes_have("aic_batch_size")) return Benchmark::aiconfigurator;
    return Benchmark::unknown;
}

ServerSetup server_setup(ServingRow const& row, std::string const& engine, double prompt, double in_flight) {
    switch (benchmark_of(row)) {
        case Benchmark::aiconfigurator: return generated(row, engine, prompt, in_flight);
        case Benchmark::inferencex: return scripted(row, engine, prompt, in_flight);
        case Benchmark::unknown: break;
    }
    return by_default(engine);
}

}  // namespace sextant
