#include "core/graph/copied_elements.hpp"

namespace sextant {

CopiedElements copied_elements(ModelSpec const& model, Workload const& workload, ParallelPlan const& plan) {
    auto const as_double = [](std::int64_t n) { return static_cast<double>(n); };
    double const tokens = as_double(plan.micro_batch) * as_double(workload.sequence) / as_double(plan.cp);
    auto const tp = as_double(plan.tp);
    CopiedElements copied;
    if (model.mlp.gated) copied.gated = tokens * as_double(model.mlp.intermediate) / tp;
    bool const moe_runs_again =
        plan.recompute == Recompute::selective && plan.recompute_modules.has(RecomputeModule::moe);
    if (model.moe && plan.dispatcher == Dispatcher::all_to_all && !moe_runs_again)
        copied.routed = tokens * as_double(model.hidden) / tp * as_double(model.moe->top_k * plan.expert_tp);
    return copied;
}

}  // namespace sextant
