#pragma once

#include "core/spec/cluster_spec.hpp"
#include "simulator/network/link.hpp"
#include "simulator/network/network_tier.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace sextant {

/// What a large ring collective moves in and out of one accelerator inside its domain: bandwidth x ring efficiency.
BytesPerSecond scale_up_rate(ClusterSpec const& cluster);
/// Whether two accelerators of one domain lie in the same group of `size` neighbours: 0 to size - 1, the next `size`
/// ...
bool are_neighbours(std::int64_t domain_size, std::int64_t first, std::int64_t second, std::int64_t size);
/// PCIe: what two accelerators of one domain reach as a multiple of that, which a whole domain was measured to have: a
/// pair under one switch `pair_gain`, four under one socket `quad_gain` of the network's calibration, 1 without one.
double pcie_gain(ClusterSpec const& cluster, std::int64_t first, std::int64_t second);
/// The same through its NIC, below the uplinks of a pod; zero without a scale-out network.
BytesPerSecond nic_rate(ClusterSpec const& cluster);
/// Domains that one pod (dragonfly: group) holds: `pod_domains`; 0 is one pod of all, but for slices joined by a
/// datacentre network, which are a pod each.
std::int64_t domains_per_pod(ClusterSpec const& cluster, std::int64_t domains);
/// By how much the rate between pods is divided.
double pod_oversubscription(ClusterSpec const& cluster);
/// Domains that so many accelerators fill, the last one perhaps in part.
std::int64_t domains_of(ClusterSpec const& cluster, std::int64_t accelerators);

/// The physical links of the first so many accelerators of a cluster, and the way between any two of them.
///
/// Bandwidths are what large ring collectives reach (bandwidth x ring efficiency), so that a transfer alone takes what
/// `collective_curve` says. Each direction is a link of its own. docs/network.md lists the kinds and their names.
class Topology {
public:
    /// @pre accelerators >= 1. @throws InputError when they need several domains and there is no scale-out network.
    Topology(ClusterSpec const& cluster, std::int64_t accelerators);

    [[nodiscard]] std::int64_t accelerators() const { return accelerators_; }
    [[nodiscard]] std::span<FabricLink const> links() const { return links_; }
    [[nodiscard]] std::int64_t domain_of(std::int64_t accelerator) const { return accelerator / domain_size_; }
    /// Links from one accelerator to another, in order: inside a domain by the scale-up network, else through both
    /// NICs. Empty from an accelerator to itself.
    [[nodiscard]] std::vector<std::int32_t> route(std::int64_t source, std::int64_t destination) const;

private:
    std::int64_t accelerators_;
    std::int64_t domain_size_;
    std::vector<FabricLink> links_;
    std::unique_ptr<NetworkTier> scale_up_;
    std::unique_ptr<NetworkTier> scale_out_;
};

}  // namespace sextant
