#pragma once

#include "core/spec/cluster_spec.hpp"
#include "simulator/network/fabric.hpp"
#include "simulator/task_graph.hpp"

#include <span>
#include <vector>

namespace sextant {

/// The links that a task graph's communications use, and the flows of each demand over them.
struct FlowPattern {
    std::vector<FabricLink> links;
    std::vector<std::vector<Flow>> flows;  ///< of each demand
};

/// Links per simulated rank, for a graph whose ranks stand for others: "rank12.nvlink.out", "rank12.nic.in", and
/// "rank12.uplink.out" where a demand crosses pods.
FlowPattern folded_flows(ClusterSpec const& cluster, TaskGraph const& graph);

/// The cluster's own links (`Topology`), for a graph that has every rank.
FlowPattern unfolded_flows(ClusterSpec const& cluster, TaskGraph const& graph);

/// Slows flows of one demand that would together exceed a link's bandwidth, so that alone each reaches its `rate`.
class RateLimit {
public:
    explicit RateLimit(std::span<FabricLink const> links) : links_(links), asked_(links.size()) {}
    void apply(std::vector<Flow>& flows);

private:
    std::span<FabricLink const> links_;
    std::vector<BytesPerSecond> asked_;  ///< of each link; zero between calls
};

}  // namespace sextant
