#include "simulator/network/flow_pattern.hpp"
#include "simulator/network/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sextant {
namespace {

/// Where the links of a rank start in the list, the same for all ranks. Each is a pair: out, in.
struct RankLinks {
    std::int32_t per_rank = 2;
    std::int32_t nic = -1;
    std::int32_t uplink = -1;
};

RankLinks layout_of(ClusterSpec const& cluster, TaskGraph const& graph) {
    RankLinks layout;
    if (!cluster.scale_out) return layout;
    layout.nic = std::exchange(layout.per_rank, layout.per_rank + 2);
    if (std::any_of(graph.demands.begin(), graph.demands.end(),
                    [](NetworkDemand const& demand) { return demand.shares.uplink > 0; }))
        layout.uplink = std::exchange(layout.per_rank, layout.per_rank + 2);
    return layout;
}

std::vector<FabricLink> links_of(ClusterSpec const& cluster, TaskGraph const& graph, RankLinks const& layout) {
    std::vector<FabricLink> links;
    auto const pair = [&](std::int64_t rank, std::string_view word, BytesPerSecond bandwidth) {
        add_link(links, fmt::format("rank{}.{}.out", rank, word), bandwidth);
        add_link(links, fmt::format("rank{}.{}.in", rank, word), bandwidth);
    };
    auto const scale_up = scale_up_word(cluster);
    for (SimulatedRank const& rank : graph.ranks) {
        pair(rank.rank, scale_up, scale_up_rate(cluster));
        if (layout.nic >= 0) pair(rank.rank, "nic", nic_rate(cluster));
        if (layout.uplink >= 0) pair(rank.rank, "uplink", nic_rate(cluster) / pod_oversubscription(cluster));
    }
    return links;
}

class FlowBuilder {
public:
    FlowBuilder(ClusterSpec const& cluster, RankLinks const& layout) : cluster_(cluster), layout_(layout) {}

    [[nodiscard]] std::vector<Flow> flows_of(NetworkDemand const& demand) const {
        std::vector<Flow> flows;
        auto const& members = demand.members;
        if (members.empty()) return flows;
        if (demand.kind == CollectiveKind::send_receive) {
            add(flows, demand, members.front(), members.back());
            return flows;
        }
        for (std::size_t i = 0; i < members.size(); ++i)
            add(flows, demand, members[i], members[(i + 1) % members.size()]);
        return flows;
    }

private:
    void add(std::vector<Flow>& flows, NetworkDemand const& demand, std::int32_t source,
             std::int32_t destination) const {
        auto const out = source * layout_.per_rank;
        auto const in = destination * layout_.per_rank + 1;
        auto const flow = [&](std::int32_t pair, BytesPerSecond rate) {
            if (pair >= 0 && rate > BytesPerSecond{}) flows.push_back({{out + pair, in + pair}, rate});
        };
        flow(0, demand.shares.scale_up * scale_up_rate(cluster_));
        flow(layout_.nic, demand.shares.scale_out * nic_rate(cluster_));
        flow(layout_.uplink, demand.shares.uplink * nic_rate(cluster_));
    }

    ClusterSpec const& cluster_;
    RankLinks layout_;
};

}  // namespace

FlowPattern folded_flows(ClusterSpec const& cluster, TaskGraph const& graph) {
    RankLinks const layout = layout_of(cluster, graph);
    FlowPattern pattern{.links = links_of(cluster, graph, layout), .flows = {}};
    FlowBuilder const builder(cluster, layout);
    RateLimit limit(pattern.links);
    for (NetworkDemand const& demand : graph.demands)
        limit.apply(pattern.flows.emplace_back(builder.flows_of(demand)));
    return pattern;
}

}  // namespace sextant
