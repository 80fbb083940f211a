#include "simulator/network/topology.hpp"

#include "core/error.hpp"
#include "core/spec/network_calibration.hpp"

#include <algorithm>
#include <cassert>

namespace sextant {
namespace {

/// Domains of NVSwitch systems that fill a rack have 32 or more, nodes up to 16.
constexpr std::int64_t largest_node = 16;

std::unique_ptr<NetworkTier> make_scale_up(ClusterSpec const& cluster, std::int64_t accelerators,
                                           std::vector<FabricLink>& links) {
    switch (cluster.scale_up.kind) {
        case ScaleUpKind::switched: return make_switched_domains(cluster, accelerators, links);
        case ScaleUpKind::mesh: return make_mesh_domains(cluster, accelerators, links);
        case ScaleUpKind::pcie: return make_pcie_domains(cluster, accelerators, links);
        case ScaleUpKind::torus: return make_torus_slices(cluster, accelerators, links);
    }
    return nullptr;
}

std::unique_ptr<NetworkTier> make_scale_out(ClusterSpec const& cluster, std::int64_t accelerators,
                                            std::vector<FabricLink>& links) {
    switch (cluster.scale_out->topology) {
        case ScaleOutTopology::rail_optimised:
        case ScaleOutTopology::fat_tree: return make_fat_tree(cluster, accelerators, links);
        case ScaleOutTopology::dragonfly: return make_dragonfly(cluster, accelerators, links);
    }
    return nullptr;
}

}  // namespace

BytesPerSecond scale_up_rate(ClusterSpec const& cluster) {
    return cluster.scale_up.bandwidth.value * cluster.scale_up.ring_efficiency.value;
}

bool are_neighbours(std::int64_t domain_size, std::int64_t first, std::int64_t second, std::int64_t size) {
    return first % domain_size / size == second % domain_size / size;
}

double pcie_gain(ClusterSpec const& cluster, std::int64_t first, std::int64_t second) {
    if (cluster.scale_up.kind != ScaleUpKind::pcie || !cluster.network_model) return 1;
    ScaleUpConstants const& up = cluster.network_model->up;
    if (are_neighbours(cluster.domain_size, first, second, 2)) return up.pair_gain;
    return are_neighbours(cluster.domain_size, first, second, 4) ? up.quad_gain : 1;
}

BytesPerSecond nic_rate(ClusterSpec const& cluster) {
    if (!cluster.scale_out) return {};
    return cluster.scale_out->bandwidth.value * cluster.scale_out->ring_efficiency.value;
}

std::int64_t domains_per_pod(ClusterSpec const& cluster, std::int64_t domains) {
    if (!cluster.scale_out) return domains;
    if (cluster.scale_out->pod_domains > 0) return cluster.scale_out->pod_domains;
    return cluster.scale_out->kind == "dcn" ? 1 : domains;
}

double pod_oversubscription(ClusterSpec const& cluster) {
    // Without a pod size the closed form has no pods to cross, and a datacentre network joins slices at their NIC rate.
    if (!cluster.scale_out || cluster.scale_out->pod_domains == 0) return 1;
    return cluster.scale_out->oversubscription.value;
}

std::int64_t domains_of(ClusterSpec const& cluster, std::int64_t accelerators) {
    return (accelerators + cluster.domain_size - 1) / cluster.domain_size;
}

std::string domain_word(ClusterSpec const& cluster) {
    if (cluster.scale_up.kind == ScaleUpKind::torus) return "slice";
    if (cluster.scale_up.kind == ScaleUpKind::switched && cluster.domain_size > largest_node) return "rack";
    return "node";
}

std::string accelerator_name(ClusterSpec const& cluster, std::int64_t accelerator) {
    std::string_view const word = cluster.scale_up.kind == ScaleUpKind::torus ? "chip" : "gpu";
    return fmt::format("{}{}.{}{}", domain_word(cluster), accelerator / cluster.domain_size, word,
                       accelerator % cluster.domain_size);
}

std::string scale_up_word(ClusterSpec const& cluster) {
    switch (cluster.scale_up.kind) {
        case ScaleUpKind::switched: return cluster.accelerator.vendor == "NVIDIA" ? "nvlink" : "link";
        case ScaleUpKind::mesh: return "link";
        case ScaleUpKind::pcie: return "pcie";
        case ScaleUpKind::torus: return "ici";
    }
    return "link";
}

NicLinks::NicLinks(ClusterSpec const& cluster, std::int64_t accelerators, std::vector<FabricLink>& links)
    : first_(static_cast<std::int32_t>(links.size())) {
    for (std::int64_t a = 0; a < accelerators; ++a) {
        auto const name = accelerator_name(cluster, a);
        add_link(links, name + ".nic.out", nic_rate(cluster));
        add_link(links, name + ".nic.in", nic_rate(cluster));
    }
}

std::int32_t NicLinks::out(std::int64_t accelerator) const {
    return first_ + static_cast<std::int32_t>(2 * accelerator);
}
std::int32_t NicLinks::in(std::int64_t accelerator) const { return out(accelerator) + 1; }

Topology::Topology(ClusterSpec const& cluster, std::int64_t accelerators)
    : accelerators_(accelerators), domain_size_(cluster.domain_size) {
    assert(accelerators >= 1);
    scale_up_ = make_scale_up(cluster, accelerators, links_);
    if (accelerators <= domain_size_) return;
    if (!cluster.scale_out)
        throw InputError("{}: {} accelerators do not fit into one domain of {} (the cluster has no scale-out network)",
                         cluster.name, accelerators, domain_size_);
    scale_out_ = make_scale_out(cluster, accelerators, links_);
}

std::vector<std::int32_t> Topology::route(std::int64_t source, std::int64_t destination) const {
    assert(source >= 0 && source < accelerators_ && destination >= 0 && destination < accelerators_);
    std::vector<std::int32_t> path;
    if (source == destination) return path;
    bool const inside = domain_of(source) == domain_of(destination);
    (inside ? *scale_up_ : *scale_out_).route(source, destination, path);
    return path;
}

}  // namespace sextant
