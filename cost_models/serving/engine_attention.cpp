#include "cost_models/serving/engine_attention.hpp"

#include "core/is_one_of.hpp"
#include "core/spec/kernel_catalog.hpp"

#include <array>

namespace sextant {
namespace {

constexpr std::array programs_that_round_queries{EngineProgram::vllm, EngineProgram::sglang};

}  // namespace

bool runs_measured_attention(ServingCase const& what) { return what.engine.program == EngineProgram::tensorrt_llm; }

std::string_view prompt_variant(ServingCase const& what) {
    AcceleratorProfile const& device = what.cluster.accelerator;
    bool const rounds = is_one_of(programs_that_round_queries, what.engine.program) && has_later_instructions(device) &&
                        !what.model.attention.latent;
    bool const narrow =
        what.plan.cache == CacheFormat::fp8 && device.vendor == "NVIDIA" && (runs_measured_attention(what) || rounds);
    return narrow ? "bf16/fp8" : "bf16/bf16";
}

}  // namespace sextant
