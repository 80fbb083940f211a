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

/// Whether every collective inside a torus slice has all chips of the lines that it goes along, so that its rings close
/// over links that no other group of its kind has. Where chips are numbered otherwise, JAX lays each axis of a plan on
/// axes of the slice all the same (`mesh_utils.create_device_mesh`), which the order of the ranks does not tell: then
/// the axes of a chip are not told apart. True without a torus.
bool on_whole_axes(ClusterSpec const& cluster, TaskGraph const& graph);

/// The cluster's own links (`Topology`), for a graph that has every rank. @pre on whole axes.
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
