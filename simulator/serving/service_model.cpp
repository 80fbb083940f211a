#include "simulator/serving/service_model.hpp"

#include "core/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sextant {

Sourced<BytesPerSecond> host_link(AcceleratorProfile const& accelerator) {
    if (accelerator.host_bandwidth.value > BytesPerSecond{}) return accelerator.host_bandwidth;
    return {.value = 25 * units::GB / units::s, .basis = Basis::assumed, .source = "PCIe 4.0 x16 after protocol"};
}

ModelledService::ModelledService(IterationModel const& model, std::optional<AdapterCost> adapters)
    : model_(model), adapters_(adapters), host_link_(host_link(model.what().cluster.accelerator).value) {}

namespace {

ReplicaRanks ranks_of(ServingPlan const& plan) {
    return {.tp = plan.tp, .groups = plan.attention_dp, .stages = plan.pp};
}

/// Parts of a cache that ranks of one stage may have: key-value heads, the fewer of both kinds of layers; a latent is
/// one.
std::int64_t cache_parts(ModelSpec const& model) {
    std::int64_t parts = model.attention.kv_heads;
    for (bool const sliding : {false, true}) {
        AttentionSpec const& a = model.attention_of({.sliding = sliding});
        parts = std::min(parts, a.latent ? 1 : a.kv_heads);
    }
    return parts;
}

}  // namespace

std::optional<std::string> handover_fault(ServingCase const& prompts, ServingCase const& decodes) {
    if (prompts.plan.cache != decodes.plan.cache)
        return fmt::format("--kv-cache: {} of the replicas for prompts is not the {} of those that decode",
                           name_of(prompts.plan.cache), name_of(decodes.plan.cache));
    if (decodes.model.recurrent && prompts.plan.tp != decodes.plan.tp)
        return fmt::format(
            "--tp: states of recurrent layers come cut over {} ranks, and those that decode have {}: engines do not "
            "put them together anew (--prefill-tp {})",
            prompts.plan.tp, decodes.plan.tp, decodes.plan.tp);
    return {};
}

void ModelledService::connect(std::int64_t replicas) {
    network_.emplace(model_.what().cluster, ranks_of(model_.what().plan), replicas);
}

void ModelledService::connect(ModelledService const& prompts, std::int64_t prefill_replicas,
                              std::int64_t decode_replicas) {
    if (auto const fault = handover_fault(prompts.model_.what(), model_.what())) throw InputError("{}", *fault);
    prompts_ = &prompts;
    network_.emplace(model_.what().cluster,
                     CacheSide{.ranks = ranks_of(prompts.model_.what().plan), .replicas = prefill_replicas},
                     CacheSide{.ranks = ranks_of(model_.what().plan), .replicas = decode_replicas},
                     cache_parts(model_.what().model));
}

ServiceModel::Times ModelledService::iteration(IterationLoad const& load) const {
    IterationTime const time = model_(load);
    return {time.total(), std::min(time.total(), model_.at_slowest_stage(time))};
}

Seconds ModelledService::adapter_load() const { return adapters_ ? adapters_->bytes / host_link_ : Seconds{}; }

ServiceModel::Times ModelledService::adapters(double different, double tokens) const {
    if (!adapters_) return {};
    Seconds const stage = adapters_->stage_time(different, tokens);
    return {stage * adapters_->stages, stage};
}

Seconds ModelledService::before_queue(double prompt_tokens) const {
    EngineProfile const& engine = model_.what().engine;
    return engine.request_overhead.value + engine.tokenise_per_token.value * prompt_tokens;
}

}  // namespace sextant
