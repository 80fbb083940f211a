#include "cost_models/borrowed_network.hpp"

#include "core/spec/hardware_catalog.hpp"
#include "core/spec/network_calibration.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

namespace sextant {
namespace {

/// Efficiencies that a cluster file calls measured were measured on another machine than the one that borrows them.
void forget_efficiencies(ScaleOutNetwork& network) {
    network.ring_efficiency.basis = Basis::assumed;
    network.all_to_all_efficiency.basis = Basis::assumed;
}

/// As no calibration names it: with the constants of classes alone.
ClusterSpec by_class(ClusterSpec cluster) {
    cluster.name.clear();
    apply_network_calibrations(cluster, all_network_calibrations());
    return cluster;
}

void take_intervals(NetworkModel& to, NetworkModel const& from, bool between_domains) {
    std::erase_if(to.intervals, [&](NetworkInterval const& i) { return i.between_domains == between_domains; });
    for (NetworkInterval const& interval : from.intervals)
        if (interval.between_domains == between_domains) to.intervals.push_back(interval);
    std::erase_if(to.corrections, [&](NetworkCorrection const& c) { return (c.domains > 1) == between_domains; });
}

bool is_nvlink(ScaleUpKind kind) { return kind == ScaleUpKind::switched || kind == ScaleUpKind::mesh; }

}  // namespace

ClusterSpec const* cluster_with_network(std::string_view kind, AcceleratorProfile const& accelerator) {
    ClusterSpec const* found = nullptr;
    bool of_vendor = false;
    for (ClusterSpec const& cluster : all_clusters()) {
        if (!cluster.scale_out || cluster.scale_out->kind != kind) continue;
        if (cluster.accelerator.generation == accelerator.generation) return &cluster;
        bool const same_vendor = cluster.accelerator.vendor == accelerator.vendor;
        if (found != nullptr && (of_vendor || !same_vendor)) continue;
        found = &cluster;
        of_vendor = same_vendor;
    }
    return found;
}

ClusterSpec with_network_of(ClusterSpec cluster, ClusterSpec const& other) {
    cluster.scale_out = other.scale_out;
    forget_efficiencies(*cluster.scale_out);
    if (!cluster.network_model) return cluster;
    ClusterSpec const borrowed = by_class(cluster);
    cluster.scale_out = borrowed.scale_out;
    NetworkModel model = *cluster.network_model;
    model.out = borrowed.network_model->out;
    model.out_part = borrowed.network_model->out_part;
    take_intervals(model, *borrowed.network_model, true);
    cluster.network_model = std::make_shared<NetworkModel const>(std::move(model));
    return cluster;
}

std::optional<ClusterSpec> joined_otherwise(ClusterSpec cluster, ScaleUpKind kind, std::int64_t domain_size) {
    ScaleUpNetwork const usual = cluster.scale_up;
    ClusterSpec const* like = nullptr;
    for (ClusterSpec const& other : all_clusters())
        if (like == nullptr && other.scale_up.kind == kind &&
            other.accelerator.generation == cluster.accelerator.generation)
            like = &other;
    if (like == nullptr) return std::nullopt;
    cluster.scale_up = like->scale_up;
    if (is_nvlink(kind) && is_nvlink(usual.kind)) cluster.scale_up.bandwidth = usual.bandwidth;
    cluster.scale_up.quad_bandwidth.reset();
    cluster.scale_up.ring_efficiency.basis = Basis::assumed;
    cluster.scale_up.all_to_all_efficiency.basis = Basis::assumed;
    cluster.domain_size = kind == ScaleUpKind::mesh ? domain_size : like->domain_size;
    ClusterSpec joined = by_class(cluster);
    joined.name = cluster.name;
    if (cluster.network_model && joined.network_model) {
        NetworkModel model = *joined.network_model;
        model.out = cluster.network_model->out;
        model.out_part = cluster.network_model->out_part;
        take_intervals(model, *cluster.network_model, true);
        joined.scale_out = cluster.scale_out;
        joined.network_model = std::make_shared<NetworkModel const>(std::move(model));
    }
    return joined;
}

}  // namespace sextant
