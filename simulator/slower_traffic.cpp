#include "simulator/slower_traffic.hpp"

#include <algorithm>
#include <cstddef>
#include <map>

namespace sextant {
namespace {

constexpr double rounding = 1e-9;

bool is_same(SlowerTraffic const& a, SlowerTraffic const& b) {
    return a.pipeline == b.pipeline && a.kind == b.kind && a.group == b.group && a.shares == b.shares;
}

/// Of the flows of one demand, alone, on the worst of their links.
double time_factor(std::span<Flow const> flows, std::span<double const> bandwidths) {
    std::map<std::int32_t, double> load;
    for (Flow const& flow : flows)
        for (std::int32_t const link : flow.links)
            load[link] += flow.rate.base();
    double factor = 1;
    for (auto const& [link, rate] : load)
        factor = std::max(factor, rate / bandwidths[static_cast<std::size_t>(link)]);
    return factor;
}

}  // namespace

std::vector<SlowerTraffic> slower_traffic(TaskGraph const& graph, Fabric const& fabric,
                                          std::span<double const> bandwidths) {
    std::vector<SlowerTraffic> slower;
    for (std::size_t d = 0; d < graph.demands.size(); ++d) {
        NetworkDemand const& demand = graph.demands[d];
        if (demand.group != GroupKind::data && demand.group != GroupKind::expert_data) continue;
        double const factor = time_factor(fabric.flows_of(d), bandwidths);
        if (factor < 1 + rounding) continue;
        auto const rank = static_cast<std::size_t>(demand.members.front());
        SlowerTraffic const traffic{.pipeline = graph.ranks[rank].pipeline,
                                    .kind = demand.kind,
                                    .group = demand.group,
                                    .shares = demand.shares,
                                    .factor = factor};
        auto const known = std::find_if(slower.begin(), slower.end(),
                                        [&](SlowerTraffic const& other) { return is_same(other, traffic); });
        if (known == slower.end())
            slower.push_back(traffic);
        else
            known->factor = std::max(known->factor, factor);
    }
    return slower;
}

double factor_of(std::span<SlowerTraffic const> slower, SlowerTraffic const& asked) {
    auto const found =
        std::find_if(slower.begin(), slower.end(), [&](SlowerTraffic const& one) { return is_same(one, asked); });
    return found == slower.end() ? 1 : found->factor;
}

}  // namespace sextant
