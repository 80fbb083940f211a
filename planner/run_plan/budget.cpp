#include "planner/run_plan/budget.hpp"

#include "planner/price_words.hpp"
#include "planner/report.hpp"

namespace sextant {

std::string_view name_of(Budget::Kind kind) {
    switch (kind) {
        case Budget::Kind::flops: return "flops";
        case Budget::Kind::dollars: return "dollars";
        case Budget::Kind::accelerator_hours: return "gpu-hours";
        case Budget::Kind::days: return "days";
    }
    return "?";
}

std::optional<Seconds> wall_within(Budget const& budget, ClusterSpec const& cluster, std::int64_t accelerators) {
    switch (budget.kind) {
        case Budget::Kind::flops: return {};
        case Budget::Kind::days: return budget.amount * units::day;
        case Budget::Kind::accelerator_hours: return budget.amount / static_cast<double>(accelerators) * units::hour;
        case Budget::Kind::dollars: {
            auto const price = price_of(cluster, accelerators);
            require_price_of_budget(price ? std::optional(price->base() * 3600) : std::nullopt, cluster.name);
            return budget.amount * units::USD / *price;
        }
    }
    return {};
}

}  // namespace sextant
