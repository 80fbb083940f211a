#pragma once

#include "core/spec/cluster_spec.hpp"
#include "simulator/network/link.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sextant {

/// One kind of network over many accelerators: adds its links to a list when it is made, and knows the way from one
/// accelerator to another.
class NetworkTier {
public:
    NetworkTier() = default;
    NetworkTier(NetworkTier const&) = delete;
    NetworkTier& operator=(NetworkTier const&) = delete;
    virtual ~NetworkTier() = default;

    /// Appends the links from `source` to `destination`, two different accelerators that this tier joins.
    virtual void route(std::int64_t source, std::int64_t destination, std::vector<std::int32_t>& path) const = 0;
};

/// "node", "rack" (a switched domain of more than 16) or "slice" (torus).
std::string domain_word(ClusterSpec const& cluster);
/// "node3.gpu5", "slice0.chip12".
std::string accelerator_name(ClusterSpec const& cluster, std::int64_t accelerator);
/// The word for a scale-up link: "nvlink", "link" (of other makers, and in a mesh), "pcie" or "ici" (torus).
std::string scale_up_word(ClusterSpec const& cluster);

// Scale-up tiers route inside a domain.

/// Every accelerator has a link into the switch and one out of it, the switch never blocks: "node3.gpu5.nvlink.out".
std::unique_ptr<NetworkTier> make_switched_domains(ClusterSpec const& cluster, std::int64_t accelerators,
                                                   std::vector<FabricLink>& links);
/// A link per ordered pair, each 1 / (domain size - 1) of an accelerator's bandwidth: "node0.gpu1.gpu2".
std::unique_ptr<NetworkTier> make_mesh_domains(ClusterSpec const& cluster, std::int64_t accelerators,
                                               std::vector<FabricLink>& links);
/// A link to and from each accelerator ("node0.gpu1.pcie.out"), more for what leaves a pair and what leaves four where
/// those reach more than a whole domain ("node0.gpu1.switch.out", "node0.gpu1.socket.out"; `pcie_gain`), and the host
/// bridge in between, "node0.bridge.in", which carries what all can send.
std::unique_ptr<NetworkTier> make_pcie_domains(ClusterSpec const& cluster, std::int64_t accelerators,
                                               std::vector<FabricLink>& links);
/// A link per chip, axis and direction, 1 / (2 axes) of a chip's bandwidth; dimension-order routing, the shorter way
/// round: "slice0.chip12.x+".
std::unique_ptr<NetworkTier> make_torus_slices(ClusterSpec const& cluster, std::int64_t accelerators,
                                               std::vector<FabricLink>& links);

// Scale-out tiers route between domains. Each accelerator has its NIC: "node3.gpu5.nic.out".

/// Pods of domains joined by uplinks of all NIC rates / oversubscription: of each rail (position in the domain) its own
/// ("pod1.rail3.up") or one of all rails ("pod1.up"). Inside a pod nothing blocks but the NICs.
std::unique_ptr<NetworkTier> make_fat_tree(ClusterSpec const& cluster, std::int64_t accelerators,
                                           std::vector<FabricLink>& links);
/// Groups (= pods) with a direct link to each other group, "group2.group5", all of a group's together its NIC rates /
/// oversubscription. Minimal routes.
std::unique_ptr<NetworkTier> make_dragonfly(ClusterSpec const& cluster, std::int64_t accelerators,
                                            std::vector<FabricLink>& links);

/// The NIC links that all scale-out tiers start and end with; `out(a)` and `in(a)` number them.
class NicLinks {
public:
    NicLinks(ClusterSpec const& cluster, std::int64_t accelerators, std::vector<FabricLink>& links);
    [[nodiscard]] std::int32_t out(std::int64_t accelerator) const;
    [[nodiscard]] std::int32_t in(std::int64_t accelerator) const;

private:
    std::int32_t first_ = 0;
};

}  // namespace sextant
