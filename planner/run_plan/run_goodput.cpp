#include "planner/run_plan/run_goodput.hpp"

#include "core/spec/parameters.hpp"
#include "core/spec/usual_node.hpp"
#include "cost_models/goodput/tiers_in_use.hpp"

namespace sextant {

RunGoodput run_goodput(FailureRecord const& record, ClusterSpec const& cluster, FrameworkProfile const& framework,
                       ModelSpec const& model, ParallelPlan const& plan) {
    std::int64_t const per_node = usual_gpus_per_node(cluster);
    std::int64_t const accelerators = plan.world_size();
    ParameterCounts const counts = count_parameters(model);
    // Of adapters only what is trained is written: the frozen weights are there already.
    bool const adapters = plan.adapters.on();
    CheckpointSize const size =
        even_checkpoint(adapters ? count_adapter_parameters(model, plan.adapters) : counts.total + counts.mtp,
                        adapters ? 0 : counts.embedding + counts.head, framework.memory, plan, accelerators, per_node);
    // How long the run takes is not known yet; longer than any interval, its shares do not depend on it.
    constexpr Seconds without_end = 36500 * units::day;
    GoodputCase run =
        usual_goodput_case(without_end, accelerators, per_node, size.total, cluster.accelerator.host_bandwidth.value);
    run.failures = failures_of(record, accelerators, per_node);
    for (CheckpointTier& tier : run.tiers)
        tier.interval = Seconds{};
    choose_intervals(run);
    return {.checkpoint = size.total, .interval = run.tiers.front().interval, .expected = expected_goodput(run)};
}

}  // namespace sextant
