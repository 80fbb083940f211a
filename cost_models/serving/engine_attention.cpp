#include "cost_models/serving/engine_attention.hpp"

#include "core/is_one_of.hpp"

#include <array>

namespace sextant {
namespace {

constexpr std::array<std::string_view, 2> engines_that_round_queries{"vllm", "sglang"};

/// Whether kernels that multiply fp8 from its cache are those of Hopper and of Blackwell's data centres, which stacked
/// memory tells from its others.
bool has_kernels_in_fp8(AcceleratorProfile const& device) {
    constexpr BytesPerSecond most_unstacked = 3e12 * units::B / units::s;  // assumed: GDDR7 has 1.8, HBM3e 7
    return device.generation == "hopper" ||
           (device.generation == "blackwell" && device.memory_bandwidth.value > most_unstacked);
}

}  // namespace

bool runs_measured_attention(ServingCase const& what) { return what.engine.name == "tensorrt-llm"; }

std::string_view prompt_variant(ServingCase const& what) {
    AcceleratorProfile const& device = what.cluster.accelerator;
    bool const rounds = is_one_of(engines_that_round_queries, what.engine.name) && has_kernels_in_fp8(device) &&
                        !what.model.attention.latent;
    bool const narrow =
        what.plan.cache == CacheFormat::fp8 && device.vendor == "NVIDIA" && (runs_measured_attention(what) || rounds);
    return narrow ? "bf16/fp8" : "bf16/bf16";
}

}  // namespace sextant
