#pragma once

#include "core/spec/hardware_profile.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// How the accelerators of one scale-up domain are joined.
enum class ScaleUpKind : std::uint8_t {
    switched,  ///< NVSwitch: any pair at full rate
    mesh,      ///< direct links between pairs, of all as far as is known: a pair gets its share of the total
    pcie,      ///< PCIe tree, traffic shares the host bridge
    torus,     ///< TPU/Trainium: links to neighbours along 2 or 3 axes
};
std::string_view name_of(ScaleUpKind kind);
/// @throws InputError with the known names and the nearest one.
ScaleUpKind scale_up_kind_from(std::string_view name, std::string_view where);

/// The fast network inside a node (or rack, or torus slice).
struct ScaleUpNetwork {
    ScaleUpKind kind = ScaleUpKind::switched;
    Sourced<BytesPerSecond> bandwidth;  ///< per accelerator, one direction, all links together
    Sourced<double> ring_efficiency;  ///< reached fraction of `bandwidth` by large ring collectives (busbw / bandwidth)
    Sourced<double> all_to_all_efficiency;
    /// All-reduce in the switch (NVLS): busbw as a fraction of `bandwidth`; absent: the network cannot.
    std::optional<Sourced<double>> in_network_reduction_efficiency;
    Sourced<Seconds> base_latency;  ///< of any collective: launch, rendezvous
    Sourced<Seconds> hop_latency;   ///< one ring step
    /// Links of their own that accelerators 2 k and 2 k + 1 of a domain have: besides PCIe (an NVLink bridge), or more
    /// of a mesh than others have. Bytes per second of one of them in one direction; absent: none.
    std::optional<Sourced<BytesPerSecond>> pair_bandwidth{};
    Sourced<double> pair_efficiency{};  ///< reached fraction of `pair_bandwidth` by large collectives of a pair
    /// Of `bandwidth`, what joins accelerators 4 k to 4 k + 3 of a mesh with each other; absent: as all others.
    std::optional<Sourced<BytesPerSecond>> quad_bandwidth{};
    bool peer_access = true;          ///< PCIe: they read each other's memory; else through that of the host
    std::vector<std::int64_t> torus;  ///< axis lengths of the largest slice, torus only
    bool torus_wraps = true;
    /// Slices are made of cubes with this side, and rings of whole cubes close; 0: slices are cut out of the torus, and
    /// rings of its whole axes close.
    std::int64_t slice_cube = 0;
};

/// How the switches between scale-up domains are joined.
enum class ScaleOutTopology : std::uint8_t {
    rail_optimised,  ///< a fat tree per rail: the accelerators at the same place of each domain
    fat_tree,        ///< one fat tree for all
    dragonfly,       ///< groups with a direct link to each other group
};
std::string_view name_of(ScaleOutTopology topology);
/// @throws InputError with the known names and the nearest one.
ScaleOutTopology scale_out_topology_from(std::string_view name, std::string_view where);
/// The usual one of a kind of network: slingshot dragonfly, infiniband and roce rail-optimised, all others fat tree.
ScaleOutTopology usual_topology(std::string_view scale_out_kind);

/// The network between scale-up domains.
struct ScaleOutNetwork {
    std::string kind;  ///< "infiniband", "roce", "efa", "slingshot", "omni-path", "ethernet", "dcn"
    ScaleOutTopology topology = ScaleOutTopology::rail_optimised;
    Sourced<BytesPerSecond> bandwidth;  ///< per accelerator, one direction (NIC share)
    Sourced<double> ring_efficiency;    ///< reached fraction of line rate by large ring and tree collectives
    Sourced<double> all_to_all_efficiency;
    Sourced<Seconds> base_latency;
    Sourced<Seconds> hop_latency;  ///< one step between domains
    /// All-reduce in the switches between domains (SHARP): reached fraction of line rate; absent: the network cannot.
    std::optional<Sourced<double>> in_network_reduction_efficiency{};
    Sourced<double> oversubscription;  ///< of the levels above the leaf switch, 1: none
    std::int64_t pod_domains = 0;      ///< domains under full bisection, 0: all
};

struct NetworkModel;  // core/spec/network_calibration.hpp

/// What prices the collectives of a cluster.
enum class CollectiveModel : std::uint8_t {
    calibrated,  ///< NCCL's algorithms and protocols with fitted constants, of this machine or of its class
    plain,       ///< ring and tree with the efficiencies and latencies of the cluster file, and nothing else
};

/// Machines: accelerators, how they are joined, and what they cost.
struct ClusterSpec {
    std::string name;
    std::string title;
    std::vector<std::string> aliases;
    AcceleratorProfile accelerator;
    std::int64_t domain_size = 8;       ///< accelerators per scale-up domain (node, NVL72 rack, torus slice)
    std::int64_t max_accelerators = 0;  ///< how many there are, 0: as many as asked for
    ScaleUpNetwork scale_up;
    std::optional<ScaleOutNetwork> scale_out;                 ///< absent: one domain is all there is
    Sourced<Bytes> host_memory;                               ///< per accelerator
    std::optional<Sourced<double>> usd_per_accelerator_hour;  ///< overrides the accelerator's price
    CollectiveModel collective_model = CollectiveModel::calibrated;
    /// Fitted constants of collectives; null: the plain latencies and efficiencies above are all there is.
    std::shared_ptr<NetworkModel const> network_model{};
};

}  // namespace sextant
