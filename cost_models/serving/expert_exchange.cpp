#include "cost_models/serving/expert_exchange.hpp"

#include "core/is_one_of.hpp"
#include "cost_models/token_dispatch.hpp"

#include <array>

namespace sextant {
namespace {

constexpr std::array programs_with_deduplication{EngineProgram::vllm, EngineProgram::sglang,
                                                 EngineProgram::tensorrt_llm, EngineProgram::lmdeploy};

}  // namespace

bool sends_to_experts(ServingPlan const& plan) { return plan.ep > 1 && (plan.attention_dp > 1 || plan.dispatcher); }

Dispatcher dispatcher_of(ServingCase const& what) {
    if (what.plan.dispatcher) return *what.plan.dispatcher;
    bool const far = what.plan.ep > what.cluster.domain_size && what.cluster.scale_out;
    bool const ships_it = is_one_of(programs_with_deduplication, what.engine.program);
    bool const can = far && sends_once(what.cluster, place_group(what.plan.ep, 1, what.cluster));
    return can && ships_it ? Dispatcher::deduplicated : Dispatcher::all_to_all;
}

double dispatched_bytes_per_value(ServingCase const& what) {
    bool const narrow = dispatcher_of(what) == Dispatcher::deduplicated && what.plan.weights.starts_with("fp8");
    return narrow ? 1 + 4.0 / 128 : 2;
}

}  // namespace sextant
