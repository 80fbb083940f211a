#include "planner/validation/server_setup.hpp"

#include "core/text.hpp"
#include "core/units.hpp"
#include "cost_models/serving/memory_share.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

namespace sextant {
namespace {

std::int64_t rounded_up(double tokens, std::int64_t unit) {
    return (static_cast<std::int64_t>(std::llround(tokens)) + unit - 1) / unit * unit;
}

/// @param slack tokens of an iteration beyond the batch and a prompt
void hold_prompt_and_batch(ServerSetup& out, double prompt, double in_flight, double slack) {
    out.max_batch = std::max<std::int64_t>(1, std::llround(in_flight));
    out.max_batched_tokens = rounded_up(in_flight + prompt + slack, 64);
}

ServerSetup generated(ServingRow const& row, EngineProfile const& engine, ServerSetup out, double prompt,
                      double in_flight) {
    if (engine.program != EngineProgram::sglang) {
        hold_prompt_and_batch(out, prompt, in_flight, 0);
        out.assumption = "an iteration holds a prompt and the batch (no token limit is stated)";
        return out;
    }
    constexpr std::int64_t mixing_since = 3;  // 0.5.3; options for older versions name no switch that these know
    if (row.patch_version().value_or(mixing_since) < mixing_since) {
        // max_prefill_tokens: chunks of the device's default would make their first tokens half as far off again.
        out.max_batched_tokens = 16384;
        return out;
    }
    constexpr double beyond = 1500;
    out.prompts = PromptOrder::mixed;
    out.cut = PromptCut::whole;
    out.max_batched_tokens = std::llround(prompt + beyond);
    out.assumption = "prompts mixed with decodes, up to one and 1500 tokens, as AIConfigurator starts the engine";
    return out;
}

ServerSetup scripted(ServingRow const& row, EngineProfile const& engine, ServerSetup out, double prompt,
                     double in_flight) {
    if (engine.program == EngineProgram::sglang) {
        out.max_batched_tokens = 32768;
        out.prompts = PromptOrder::first;
        out.assumption = "prompts together up to 32768 tokens, as in the scripts of InferenceX";
    } else if (engine.program == EngineProgram::tensorrt_llm) {
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

ServerSetup default_setup(EngineProfile const& engine, AcceleratorProfile const& device) {
    ServerSetup out;
    if (engine.program == EngineProgram::sglang) out.max_batched_tokens = default_chunk(device);
    if (engine.program == EngineProgram::tensorrt_llm) out.cut = PromptCut::whole;
    if (engine.program == EngineProgram::vllm_v0) out.group_batch = 256;
    if (engine.program == EngineProgram::vllm) {
        constexpr Bytes large = 70.0 * 1024 * 1024 * 1024 * units::B;
        bool const is_large = device.memory_capacity.value >= large && !device.name.starts_with("a100");
        out.max_batched_tokens = is_large ? 8192 : 2048;
        out.group_batch = is_large ? 1024 : 256;
    }
    return out;
}

ServerSetup server_setup(ServingRow const& row, EngineProfile const& engine, AcceleratorProfile const& device,
                         double prompt, double in_flight) {
    ServerSetup const usual = default_setup(engine, device);
    switch (benchmark_of(row)) {
        case Benchmark::aiconfigurator: return generated(row, engine, usual, prompt, in_flight);
        case Benchmark::inferencex: return scripted(row, engine, usual, prompt, in_flight);
        case Benchmark::unknown: break;
    }
    return usual;
}

}  // namespace sextant
