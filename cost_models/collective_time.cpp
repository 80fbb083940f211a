#include "cost_models/collective_time.hpp"

#include "core/error.hpp"
#include "cost_models/nccl_curve.hpp"
#include "cost_models/network_correction.hpp"
#include "cost_models/token_dispatch.hpp"
#include "cost_models/torus_time.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sextant {
namespace {

/// Tree bandwidth against the ring's (NCCL's tuner: 0.92 of the bus bandwidth).
constexpr double tree_bandwidth_fraction = 0.92;

/// What the algorithms need to know of a group.
struct Fabric {
    double n, m, domains;
    Seconds base, hop_up, hop_out;
    BytesPerSecond links;   ///< of one rank inside its domain, as far as rings reach them
    BytesPerSecond ring;    ///< bus bandwidth of ring collectives
    BytesPerSecond out;     ///< NIC rate of one rank that ring traffic reaches; zero inside one domain
    double beyond_pod = 0;  ///< share of what the NICs send that leaves the pod
    double slowdown = 1;    ///< by the uplinks of pods, in `out`
    double entries = 1;     ///< NICs that ring traffic goes through
};

Fabric fabric_of(ClusterSpec const& cluster, CollectiveKind kind, GroupPlacement const& group) {
    ScaleUpNetwork const& up = cluster.scale_up;
    Fabric f{.n = static_cast<double>(group.size),
             .m = static_cast<double>(group.ranks_per_domain),
             .domains = static_cast<double>(group.domains),
             .base = up.base_latency.value,
             .hop_up = up.hop_latency.value,
             .hop_out = {},
             .links = up.bandwidth.value * up.ring_efficiency.value,
             .ring = {},
             .out = {}};
    if (up.kind == ScaleUpKind::mesh) f.links *= reached_of_mesh(nccl_machine(cluster), kind, group);
    f.ring = f.links;
    if (group.domains > 1) {
        if (!cluster.scale_out)
            throw InputError(
                "{}: a group of {} ranks does not fit into one domain of {} accelerators (the cluster has no scale-out "
                "network)",
                cluster.name, group.size, cluster.domain_size);
        ScaleOutNetwork const& out = *cluster.scale_out;
        f.base = std::max(f.base, out.base_latency.value);
        f.hop_out = out.hop_latency.value;
        f.beyond_pod = share_beyond_pod(nccl_machine(cluster), kind, group);
        f.slowdown = pod_slowdown(out.oversubscription.value, f.beyond_pod);
        f.out = out.bandwidth.value * (out.ring_efficiency.value / f.slowdown);
        f.entries = static_cast<double>(group.entries());
        BytesPerSecond const through_nics = f.entries * f.out;
        f.ring = group.ranks_per_domain == 1 ? through_nics : std::min(f.ring, through_nics);
    }
    return f;
}

double steps_of(CollectiveKind kind, double n) {
    if (kind == CollectiveKind::all_reduce) return 2 * (n - 1);
    return n - 1;
}

/// Seconds per byte that an all-to-all needs inside its domains and between them, side by side.
struct AllToAllSlopes {
    SecondsPerByte inside;
    SecondsPerByte outside;
};

AllToAllSlopes all_to_all_slopes(ClusterSpec const& cluster, GroupPlacement const& group, Fabric const& f) {
    AllToAllSlopes slopes{
        .inside = (f.m - 1) / f.n / (cluster.scale_up.bandwidth.value * cluster.scale_up.all_to_all_efficiency.value),
        .outside = {}};
    if (group.domains > 1) {
        ScaleOutNetwork const& out = *cluster.scale_out;
        slopes.outside = share_outside(group) * f.slowdown / (out.bandwidth.value * out.all_to_all_efficiency.value);
    }
    return slopes;
}

CollectiveCurve all_to_all_curve(ClusterSpec const& cluster, GroupPlacement const& group, Fabric const& f) {
    AllToAllSlopes const slopes = all_to_all_slopes(cluster, group, f);
    CollectiveCurve curve;
    curve.add(f.base + (group.domains > 1 ? std::log2(f.domains) * f.hop_out : Seconds{}),
              std::max(slopes.inside, slopes.outside));
    return curve;
}

double plain_levels(Fabric const& f) { return f.domains > 1 ? std::log2(f.domains) : 0; }

/// What reaches every rank in a logarithmic number of steps between domains, `rounds` times.
void add_plain_trees(CollectiveCurve& curve, ClusterSpec const& cluster, GroupPlacement const& group, Fabric const& f,
                     double rounds, SecondsPerByte ring_slope) {
    // Trees and their like (PAT).
    Seconds const between = plain_levels(f) * f.hop_out;
    curve.add(f.base + rounds * ((f.m - 1) * f.hop_up + between), ring_slope / tree_bandwidth_fraction);
    if (cluster.scale_up.kind != ScaleUpKind::torus || f.domains == 1) return;
    // Within each slice on its torus, then between them.
    GroupPlacement const inside{.size = group.ranks_per_domain,
                                .ranks_per_domain = group.ranks_per_domain,
                                .domains = 1,
                                .stride = group.stride};
    curve.add(f.base + rounds * (hops_of_torus(cluster, inside) * f.hop_up + between), ring_slope);
}

CollectiveCurve broadcast_curve(ClusterSpec const& cluster, GroupPlacement const& group, Fabric const& f) {
    CollectiveCurve curve;
    curve.add(f.base + (f.n - f.domains) * f.hop_up + (f.domains - 1) * f.hop_out, 1 / f.ring);
    add_plain_trees(curve, cluster, group, f, 1, 1 / f.ring);
    return curve;
}

CollectiveCurve ring_and_tree_curve(ClusterSpec const& cluster, CollectiveKind kind, GroupPlacement const& group,
                                    Fabric const& f) {
    CollectiveCurve curve;
    double const steps = steps_of(kind, f.n);
    double const rounds = kind == CollectiveKind::all_reduce ? 2 : 1;
    double const inter = rounds * (f.domains - 1);
    SecondsPerByte const ring_slope = steps / f.n / f.ring;
    curve.add(f.base + (steps - inter) * f.hop_up + inter * f.hop_out, ring_slope);
    add_plain_trees(curve, cluster, group, f, rounds, ring_slope);
    auto const& in_network = cluster.scale_up.in_network_reduction_efficiency;
    if (kind == CollectiveKind::all_reduce && in_network && f.m > 2) {
        BytesPerSecond rate = cluster.scale_up.bandwidth.value * in_network->value;
        if (f.domains > 1) rate = std::min(rate, f.entries * f.out);
        curve.add(f.base + 2 * plain_levels(f) * f.hop_out + 2 * f.hop_up, steps / f.n / rate);
    }
    if (kind == CollectiveKind::all_reduce && f.domains > 1 && cluster.scale_out->in_network_reduction_efficiency) {
        // In the switches between domains: what a domain has goes out once, and what a rank has up and down its links.
        ScaleOutNetwork const& out = *cluster.scale_out;
        SecondsPerByte slope =
            f.slowdown / (f.entries * out.bandwidth.value * out.in_network_reduction_efficiency->value);
        if (f.m > 1) slope = std::max(slope, 2 * (f.m - 1) / f.m / f.links);
        curve.add(f.base + 2 * (f.m - 1) * f.hop_up + 2 * f.hop_out, slope);
    }
    return curve;
}

}  // namespace

GroupPlacement place_group(std::int64_t size, std::int64_t stride, std::int64_t domain_size) {
    GroupPlacement group{.size = size, .stride = stride};
    group.ranks_per_domain = std::clamp<std::int64_t>(domain_size / std::max<std::int64_t>(1, stride), 1, size);
    group.domains = (size + group.ranks_per_domain - 1) / group.ranks_per_domain;
    return group;
}

GroupPlacement place_group(std::int64_t size, std::int64_t stride, ClusterSpec const& cluster, std::int64_t job) {
    GroupPlacement group = place_group(size, stride, cluster.domain_size);
    if (cluster.scale_up.kind == ScaleUpKind::torus && job < cluster.domain_size) group.slice = job;
    group.bridged = cluster.scale_up.pair_bandwidth && size == 2 && stride == 1 && group.domains == 1;
    return group;
}

BytesPerSecond pair_rate(ClusterSpec const& cluster) {
    return cluster.scale_up.pair_bandwidth->value * cluster.scale_up.pair_efficiency.value;
}

namespace {

/// Two over links that nobody else has. Nothing of them was measured: latencies and protocols are those of the network
/// that the domain has besides, and large collectives reach what the cluster file says, their copies included.
CollectiveCurve bridged_curve(ClusterSpec const& cluster, NetworkModel const& model, CollectiveKind kind,
                              GroupPlacement const& group) {
    NcclMachine pair = nccl_machine(cluster);
    pair.kind = ScaleUpKind::mesh;
    pair.domain_size = group.size;
    pair.links = pair_rate(cluster);
    pair.ring_up = pair.exchange_up = 1;
    ScaleUpConstants up = model.up;
    up.copy_all_reduce = up.copy_all_gather = up.copy_reduce_scatter = up.copy_all_to_all = 0;
    return nccl_curve(pair, kind, group, up, nullptr);
}

/// The same by the plain model: a ring of two.
CollectiveCurve bridged_curve(ClusterSpec const& cluster, CollectiveKind kind) {
    bool const sends = kind == CollectiveKind::send_receive;
    double const steps = steps_of(kind, 2);
    double const share = sends || kind == CollectiveKind::broadcast ? 1 : steps / 2;
    CollectiveCurve curve;
    curve.add((sends ? Seconds{} : cluster.scale_up.base_latency.value) + steps * cluster.scale_up.hop_latency.value,
              share / pair_rate(cluster));
    return curve;
}

CollectiveCurve calibrated_curve(ClusterSpec const& cluster, NetworkModel const& model, CollectiveKind kind,
                                 GroupPlacement const& group) {
    ScaleOutConstants const* const out = model.out ? &*model.out : nullptr;
    CollectiveCurve curve = nccl_curve(nccl_machine(cluster), kind, group, model.up, out);
    if (!has_correction(model.corrections, kind, group)) return curve;
    NetworkCorrection const* const own = correction_of(model.corrections, kind, group);
    std::function<double(double)> jump;
    if (own != nullptr && !own->jumps.empty()) jump = [own](double log2_bytes) { return own->jump_at(log2_bytes); };
    curve.correct([&](double log2_bytes) { return correction_at(model.corrections, kind, group, log2_bytes); }, jump);
    return curve;
}

}  // namespace

GroupPlacement evened(ClusterSpec const& cluster, GroupPlacement group) {
    constexpr std::int64_t largest_node = 16;
    std::int64_t const rest = group.size % group.ranks_per_domain;
    if (group.domains <= 1 || rest == 0 || group.fewest > 0) return group;
    if (cluster.domain_size <= largest_node) {
        group.fewest = rest;
    } else {
        group.ranks_per_domain = (group.size + group.domains - 1) / group.domains;
        group.fewest = group.size / group.domains;
    }
    return group;
}

CollectiveCurve collective_curve(ClusterSpec const& cluster, CollectiveKind kind, GroupPlacement const& placed) {
    if (placed.size <= 1) return {};
    GroupPlacement const group = evened(cluster, placed);
    if (cluster.scale_up.kind == ScaleUpKind::torus && group.domains == 1) return torus_curve(cluster, kind, group);
    if (group.bridged)
        return cluster.network_model ? bridged_curve(cluster, *cluster.network_model, kind, group)
                                     : bridged_curve(cluster, kind);
    if (kind == CollectiveKind::all_to_all && group.copies > 1) return token_dispatch_curve(cluster, group);
    Fabric const f = fabric_of(cluster, kind, group);
    if (cluster.network_model && (group.domains == 1 || cluster.network_model->out))
        return calibrated_curve(cluster, *cluster.network_model, kind, group);
    switch (kind) {
        case CollectiveKind::all_to_all: return all_to_all_curve(cluster, group, f);
        case CollectiveKind::send_receive: {
            CollectiveCurve curve;
            BytesPerSecond const rate = group.domains > 1 ? f.out : f.ring;
            curve.add(group.domains > 1 ? f.hop_out : f.hop_up, 1 / rate);
            return curve;
        }
        case CollectiveKind::broadcast: return broadcast_curve(cluster, group, f);
        default: return ring_and_tree_curve(cluster, kind, group, f);
    }
}

NetworkShares network_shares(ClusterSpec const& cluster, CollectiveKind kind, GroupPlacement const& placed) {
    if (placed.size <= 1 || placed.bridged) return {};
    GroupPlacement const group = evened(cluster, placed);
    if (group.domains == 1 && cluster.scale_up.kind == ScaleUpKind::torus)
        return {.scale_up = reached_of_torus(cluster, kind, group)};
    if (group.domains == 1 && (kind != CollectiveKind::send_receive || cluster.scale_up.kind != ScaleUpKind::mesh))
        return {.scale_up = 1, .scale_out = 0};
    Fabric const f = fabric_of(cluster, kind, group);
    BytesPerSecond const up = cluster.scale_up.bandwidth.value * cluster.scale_up.ring_efficiency.value;
    auto const shares = [&](double inside, double outside) {
        double const nic = outside / f.slowdown;
        return NetworkShares{inside, nic, nic * f.beyond_pod};
    };
    if (kind == CollectiveKind::send_receive) return group.domains > 1 ? shares(0, 1) : shares(f.ring / up, 0);
    if (kind == CollectiveKind::all_to_all) {
        AllToAllSlopes const slopes = all_to_all_slopes(cluster, group, f);
        SecondsPerByte const slope = std::max(slopes.inside, slopes.outside);
        return shares(slopes.inside / slope, slopes.outside / slope);
    }
    return shares(group.ranks_per_domain > 1 ? f.ring / up : 0.0, f.ring / (f.entries * f.out));
}

double bus_bandwidth_factor(CollectiveKind kind, std::int64_t ranks) {
    auto const n = static_cast<double>(ranks);
    switch (kind) {
        case CollectiveKind::all_reduce: return 2 * (n - 1) / n;
        case CollectiveKind::all_gather:
        case CollectiveKind::reduce_scatter:
        case CollectiveKind::all_to_all: return (n - 1) / n;
        case CollectiveKind::broadcast:
        case CollectiveKind::send_receive: return 1;
    }
    return 1;
}

}  // namespace sextant
