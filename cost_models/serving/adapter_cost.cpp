#include "cost_models/serving/adapter_cost.hpp"

#include "core/error.hpp"
#include "core/graph/block.hpp"
#include "core/spec/parameters.hpp"
#include "cost_models/kernel_estimate.hpp"

#include <algorithm>

namespace sextant {
namespace {

bool ends_with(std::string const& text, std::string_view end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool has_adapter(Parameter const& p) {
    return p.columns > 1 && p.sharding != Sharding::expert && p.name.rfind("router", 0) != 0 && p.rows > 1;
}

/// Elements of A and B that one rank of the tp group holds, over R.
double factors_of_rank(Parameter const& p, ServingPlan const& plan, std::int64_t kv_heads) {
    auto const in = static_cast<double>(p.columns);
    auto const out = static_cast<double>(p.rows);
    auto const tp = static_cast<double>(plan.tp);
    switch (p.sharding) {
        case Sharding::kv_heads: return in + out / std::min(tp, static_cast<double>(kv_heads));
        case Sharding::tensor:
            return ends_with(p.name, ".output") || ends_with(p.name, ".down") ? in / tp + out : in + out / tp;
        default: return in + out;
    }
}

}  // namespace

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
    double held = 0;
    for (LayerKind const kind : distinct_kinds(model)) {
        double const layers = static_cast<double>(std::count(model.layers.begin(), model.layers.end(), kind)) /
                              static_cast<double>(what.plan.pp);
        for (Parameter const& p : layer_parameters(model, kind)) {
            if (!has_adapter(p)) continue;
            held += layers * factors_of_rank(p, what.plan, std::max<std::int64_t>(1, model.attention.kv_heads));
            cost.products += layers;
        }
    }
    cost.bytes = held * static_cast<double>(rank) * 2 * units::B;
    cost.compute = accelerator.peak_of(format).value * accelerator.gemm_efficiency_of(format);
    cost.memory = accelerator.memory_bandwidth.value * accelerator.memory_efficiency.value;
    cost.kernel_gap = what.engine.kernel_gap.value;
    return cost;
}

}  // namespace sextant
