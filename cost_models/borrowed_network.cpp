#include "cost_models/borrowed_network.hpp"

#include "core/spec/hardware_catalog.hpp"
#include "core/spec/network_calibration.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace sextant {
namespace {

/// What a cluster file calls measured was measured on another machine than the one that borrows it.
void forget_efficiencies(auto& network) {
    network.ring_efficiency.basis = Basis::assumed;
    network.all_to_all_efficiency.basis = Basis::assumed;
}

/// As no calibration names it: with the constants of classes alone.
ClusterSpec by_class(ClusterSpec cluster) {
    std::string const name = std::exchange(cluster.name, "");
    apply_network_calibrations(cluster, all_network_calibrations());
    cluster.name = name;
    return cluster;
}

/// The network inside domains of one model with that between domains of another. Corrections over domains are of
/// machines that have both.
std::shared_ptr<NetworkModel const> put_together(NetworkModel inside, NetworkModel const& between) {
    inside.out = between.out;
    inside.out_part = between.out_part;
    std::erase_if(inside.corrections, [](NetworkCorrection const& c) { return c.domains > 1; });
    std::erase_if(inside.intervals, [](NetworkInterval const& i) { return i.between_domains; });
    for (NetworkInterval const& interval : between.intervals)
        if (interval.between_domains) inside.intervals.push_back(interval);
    return std::make_shared<NetworkModel const>(std::move(inside));
}

bool is_nvlink(ScaleUpKind kind) { return kind == ScaleUpKind::switched || kind == ScaleUpKind::mesh; }

}  // namespace

ClusterSpec const* cluster_with_network(std::string_view kind, AcceleratorProfile const& accelerator) {
    ClusterSpec const* of_vendor = nullptr;
    ClusterSpec const* of_any = nullptr;
    for (ClusterSpec const& cluster : all_clusters()) {
        if (!cluster.scale_out || cluster.scale_out->kind != kind) continue;
        if (cluster.accelerator.generation == accelerator.generation) return &cluster;
        if (of_vendor == nullptr && cluster.accelerator.vendor == accelerator.vendor) of_vendor = &cluster;
        if (of_any == nullptr) of_any = &cluster;
    }
    return of_vendor != nullptr ? of_vendor : of_any;
}

ClusterSpec with_network_of(ClusterSpec cluster, ClusterSpec const& other) {
    cluster.scale_out = other.scale_out;
    forget_efficiencies(*cluster.scale_out);
    if (!cluster.network_model) return cluster;
    ClusterSpec const borrowed = by_class(cluster);
    cluster.scale_out = borrowed.scale_out;
    cluster.network_model = put_together(*cluster.network_model, *borrowed.network_model);
    return cluster;
}

std::optional<ClusterSpec> joined_otherwise(ClusterSpec const& usual, ScaleUpKind kind, std::int64_t domain_size) {
    auto const& all = all_clusters();
    auto const like = std::find_if(all.begin(), all.end(), [&](ClusterSpec const& other) {
        return other.scale_up.kind == kind && other.accelerator.generation == usual.accelerator.generation;
    });
    if (like == all.end() || !usual.network_model) return std::nullopt;
    ClusterSpec joined = usual;
    joined.scale_up = like->scale_up;
    if (is_nvlink(kind) && is_nvlink(usual.scale_up.kind)) joined.scale_up.bandwidth = usual.scale_up.bandwidth;
    // Links of pairs are those of the other machine's cards and boards.
    joined.scale_up.pair_bandwidth.reset();
    joined.scale_up.quad_bandwidth.reset();
    forget_efficiencies(joined.scale_up);
    joined.domain_size = kind == ScaleUpKind::mesh ? domain_size : like->domain_size;
    joined = by_class(std::move(joined));
    joined.scale_out = usual.scale_out;
    joined.network_model = put_together(*joined.network_model, *usual.network_model);
    return joined;
}

}  // namespace sextant
