#include "simulator/network/fabric.hpp"

#include "core/error.hpp"
#include "simulator/network/flow_pattern.hpp"

#include <utility>

namespace sextant {

bool is_folded(TaskGraph const& graph) {
    for (SimulatedRank const& rank : graph.ranks)
        if (rank.stands_for > 1) return true;
    // A group of one has nothing to say, so a lone member stands for others.
    for (NetworkDemand const& demand : graph.demands)
        if (demand.members.size() == 1) return true;
    return false;
}

Fabric::Fabric(ClusterSpec const& cluster, TaskGraph const& graph) {
    bool const own_links = is_folded(graph) || !on_whole_axes(cluster, graph);
    FlowPattern pattern = own_links ? folded_flows(cluster, graph) : unfolded_flows(cluster, graph);
    links_ = std::move(pattern.links);
    flows_ = std::move(pattern.flows);
}

Fabric::Fabric(std::vector<FabricLink> links, std::vector<std::vector<Flow>> flows)
    : links_(std::move(links)), flows_(std::move(flows)) {}

void Fabric::degrade(std::string_view pattern, double factor, std::string_view where) {
    if (!(factor > 0 && factor <= 1))
        throw InputError("{}: the factor is {} (a share of the bandwidth that is left, above 0 and up to 1)", where,
                         factor);
    for (auto const link : matching_links(links_, pattern, where))
        links_[static_cast<std::size_t>(link)].bandwidth *= factor;
}

}  // namespace sextant
