#include "simulator/serving/service_model.hpp"

#include <algorithm>

namespace sextant {

Sourced<BytesPerSecond> host_link(AcceleratorProfile const& accelerator) {
    if (accelerator.host_bandwidth.value > BytesPerSecond{}) return accelerator.host_bandwidth;
    return {.value = 25 * units::GB / units::s, .basis = Basis::assumed, .source = "PCIe 4.0 x16 after protocol"};
}

ModelledService::ModelledService(IterationModel const& model, std::optional<AdapterCost> adapters)
    : model_(model), adapters_(adapters), host_link_(host_link(model.what().cluster.accelerator).value) {}

void ModelledService::connect(std::int64_t replicas) {
    ServingPlan const& plan = model_.what().plan;
    network_.emplace(model_.what().cluster, ReplicaRanks{.tp = plan.tp, .groups = plan.attention_dp, .stages = plan.pp},
                     replicas);
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
