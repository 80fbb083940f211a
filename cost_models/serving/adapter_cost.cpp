#include "cost_models/serving/adapter_cost.hpp"

#include "core/error.hpp"
#include "core/graph/block.hpp"
#include "core/spec/low_rank_adapters.hpp"
#include "cost_models/kernel_estimate.hpp"
#include "cost_models/serving/stage_split.hpp"

#include <algorithm>

namespace sextant {

Seconds AdapterCost::stage_time(double adapters, double tokens) const {
    if (adapters <= 0) return {};
    double const parameters = bytes.base() / 2;
    Seconds const products_time = 2 * parameters * tokens * units::flop / compute;
    return std::max(products_time, bytes * adapters / memory) + kernel_gap * (2 * products);
}

AdapterCost adapter_cost(ServingCase const& what, std::int64_t rank) {
    if (rank < 1 || rank > 4096) throw InputError("--adapter-rank: {} is out of range (1 to 4096)", rank);
    ModelSpec const& model = what.model;
    AcceleratorProfile const& accelerator = what.cluster.accelerator;
    Precision const format = two_byte_precision(accelerator);
    AdapterCost cost{};
    LowRankAdapters const of_one{.rank = 1, .targets = all_targets()};  // everything is in proportion to the rank
    cost.stages = 1 / fullest_stage_share(what);
    double held = 0;
    for (LayerKind const kind : distinct_kinds(model)) {
        double const layers =
            static_cast<double>(std::count(model.layers.begin(), model.layers.end(), kind)) / cost.stages;
        for (Parameter const& factor : adapter_parameters(layer_parameters(model, kind), of_one)) {
            held +=
                layers * static_cast<double>(factor.count()) / static_cast<double>(factor.tensor_shards(what.plan.tp));
            cost.products += layers / 2;  // A and B are one
        }
    }
    cost.bytes = held * static_cast<double>(rank) * 2 * units::B;
    cost.compute = accelerator.peak_of(format).value * accelerator.gemm_efficiency_of(format);
    cost.memory = accelerator.memory_bandwidth.value * accelerator.memory_efficiency.value;
    cost.kernel_gap = what.engine.kernel_gap.value;
    return cost;
}

}  // namespace sextant
