#include "cost_models/nccl_curve.hpp"

#include "cost_models/token_dispatch.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace sextant {
namespace {

/// Rate of PAT against a ring's, its steps against a tree's, and what every further rank costs (NCCL's tuner).
constexpr double pat_rate = 0.75;
constexpr double pat_hop = 1 / 3.5;
constexpr Seconds pat_rank = 2.8 * units::us;

enum Protocol : std::size_t { ll, ll128, simple, protocols };

/// All that the formulas need, per protocol.
struct Terms {
    double n, m, domains, levels;  ///< levels: log2 of the domains
    double entries;                ///< NICs of a domain, of the one that has the fewest
    std::array<Seconds, protocols> base, hop, ring_hop, tree_hop;
    std::array<double, protocols> rate_up{}, rate_out{};
    BytesPerSecond links;  ///< bandwidth of a rank's links that the group reaches
    double paths = 1;      ///< rings and chains over domains that these links carry, against rings in one domain
    BytesPerSecond nics;   ///< of the NICs of a domain that the group reaches; zero in one domain
    double ring_out = 1;
    double tree_out = 1;
    Seconds added;
};

/// Place of the last rank in a domain of which the group has the first. Of a pipeline in one domain all of it counts:
/// it runs at the pace of the pair that has the least between it.
std::int64_t last_place(NcclMachine const& machine, GroupPlacement const& group) {
    if (group.pipeline > 1 && group.domains == 1)
        return std::min(group.pipeline * group.stride, machine.domain_size) - 1;
    return (group.ranks_per_domain - 1) * group.stride;
}

/// Two under one switch and four under one socket have the rate of that, others what joins the sockets. Groups of ranks
/// that are not neighbours lie across one another, and what joins their parts is shared by those at work.
double reached_of_pcie(NcclMachine const& machine, GroupPlacement const& group, ScaleUpConstants const& up) {
    std::int64_t const last = last_place(machine, group);
    if (last <= 1) return up.pair_gain;
    double const joined = last < 4 ? up.quad_gain : 1;
    return std::min(up.pair_gain, joined * std::min(1.0, machine.crossing / static_cast<double>(group.at_work())));
}

/// In an all-to-all n / 2 ranks send n / 2 of their n - 1 parts to the other half: where it was measured, so much goes
/// there at once. A class says nothing of it: eight A100 PCIe have no more there than a ring sends
/// (docs/collectives.md).
double measured_crossing(ClusterSpec const& cluster) {
    if (!cluster.network_model || cluster.network_model->up_part.basis == Basis::assumed) return 1;
    ScaleUpConstants const& up = cluster.network_model->up;
    auto const n = static_cast<double>(cluster.domain_size);
    return std::max(1.0, up.exchange / up.ring * n * n / (4 * (n - 1)));
}

double reached_links(NcclMachine const& machine, CollectiveKind kind, GroupPlacement const& group,
                     ScaleUpConstants const& up) {
    if (machine.kind == ScaleUpKind::pcie) return reached_of_pcie(machine, group, up);
    if (machine.kind == ScaleUpKind::mesh) return reached_of_mesh(machine, kind, group);
    return 1;
}

/// A ring over domains passes m - 1 links between the m ranks of one, a ring inside m: the direct links of all pairs
/// make up m - 1 rings, or m paths, that share none.
double paths_of_mesh(NcclMachine const& machine, GroupPlacement const& group) {
    if (machine.kind != ScaleUpKind::mesh || group.domains == 1 || group.ranks_per_domain == 1) return 1;
    auto const m = static_cast<double>(group.ranks_per_domain);
    return m / (m - 1);
}

Terms terms_of(NcclMachine const& machine, CollectiveKind kind, GroupPlacement const& group, ScaleUpConstants const& up,
               ScaleOutConstants const* out) {
    Terms t{.n = static_cast<double>(group.size),
            .m = static_cast<double>(group.ranks_per_domain),
            .domains = static_cast<double>(group.domains),
            .levels = group.domains > 1 ? std::log2(static_cast<double>(group.domains)) : 0,
            .entries = static_cast<double>(group.entries()),
            .base = {up.base_ll, up.base_ll128, up.base_simple},
            .hop = {up.hop_ll, up.hop_ll128, up.hop_simple},
            .ring_hop = {},
            .tree_hop = {},
            .rate_up = {up.ll, up.ll128, 1},
            .links = machine.links * reached_links(machine, kind, group, up),
            .paths = paths_of_mesh(machine, group),
            .nics = {},
            .added = {}};
    if (group.domains > 1) {
        double const scale = out->latency_scale;
        t.ring_hop = {out->ring_hop_ll * scale, out->ring_hop_ll128 * scale, out->ring_hop_simple * scale};
        t.tree_hop = {out->tree_hop_ll * scale, out->tree_hop_ll128 * scale, out->tree_hop_simple * scale};
        t.rate_out = {out->ll, out->ll128, 1};
        t.nics =
            t.entries / pod_slowdown(machine.oversubscription, share_beyond_pod(machine, kind, group)) * machine.nic;
        t.ring_out = machine.ring_out;
        // A measured rate that replaced the ring's efficiency holds for trees as well.
        t.tree_out = t.ring_out * (out->tree / out->ring);
        t.added = out->added;
    }
    return t;
}

double copies_of(CollectiveKind kind, ScaleUpConstants const& up) {
    switch (kind) {
        case CollectiveKind::all_reduce: return up.copy_all_reduce;
        case CollectiveKind::all_gather: return up.copy_all_gather;
        case CollectiveKind::reduce_scatter: return up.copy_reduce_scatter;
        default: return 0;
    }
}

/// Chunks of Simple: full ones cost `ramp` on top and `latency` as it is; small ones only their part of the latency, at
/// less rate.
struct Chunks {
    Seconds ramp;
    double small_latency = 1;
    double small_rate = 1;
};

void add_chunked(CollectiveCurve& curve, Chunks const& chunks, Seconds latency, SecondsPerByte slope) {
    curve.add(latency + chunks.ramp, slope);
    curve.add(latency * chunks.small_latency, slope / chunks.small_rate);
}

Chunks ring_chunks(Terms const& t, ScaleUpConstants const& up, ScaleOutConstants const* out) {
    if (t.domains > 1) return {.ramp = out->ring_ramp, .small_rate = out->ring_small_rate};
    return {.ramp = up.ramp, .small_rate = up.small_rate};
}

void add_rings(CollectiveCurve& curve, Chunks const& chunks, Terms const& t, CollectiveKind kind, double ring_up,
               double copies) {
    double const rounds = kind == CollectiveKind::all_reduce ? 2 : 1;
    bool const is_broadcast = kind == CollectiveKind::broadcast;
    double const steps = rounds * (t.n - 1);
    // What goes round the ring crosses into every domain, the one it began in among them unless it began at its entry.
    double const crossings = is_broadcast ? t.domains - 1 : std::min(steps, rounds * t.domains);
    double const inter = t.domains > 1 ? crossings : 0;
    double const share = is_broadcast ? 1 : steps / t.n;
    for (std::size_t q = 0; q < protocols; ++q) {
        Seconds const latency = t.base[q] + t.added + (steps - inter) * t.hop[q] + inter * t.ring_hop[q];
        BytesPerSecond rate = t.links * (t.paths * ring_up * t.rate_up[q]);
        if (t.domains > 1) {
            BytesPerSecond const through_nics = t.nics * (t.ring_out * t.rate_out[q]);
            rate = t.m > 1 ? std::min(rate, through_nics) : through_nics;
        }
        SecondsPerByte const slope = share / rate;
        if (q == simple)
            add_chunked(curve, chunks, latency, slope + copies / t.n / t.links);
        else
            curve.add(latency, slope);
    }
}

/// How many times S the NICs of one domain send in a double binary tree.
double tree_wire(Terms const& t) { return t.domains > 2 ? 2 : 1; }

void add_trees(CollectiveCurve& curve, Chunks const& chunks, Terms const& t, double ring_up,
               ScaleOutConstants const& out) {
    for (std::size_t q = 0; q < protocols; ++q) {
        Seconds const latency = t.base[q] + t.added + 2 * ((t.m - 1) * t.hop[q] + t.levels * t.tree_hop[q]);
        SecondsPerByte slope = tree_wire(t) / (t.nics * (t.tree_out * t.rate_out[q]));
        double const chains = t.paths * ring_up * t.rate_up[q] * (q == simple ? 1 : out.tree_inside);
        if (t.m > 1) slope = std::max(slope, 2 / (t.links * chains));
        if (q == simple)
            add_chunked(curve, chunks, latency, slope);
        else
            curve.add(latency, slope);
    }
}

void add_in_switch(CollectiveCurve& curve, NcclMachine const& machine, Terms const& t, ScaleUpConstants const& up,
                   ScaleOutConstants const* out) {
    SecondsPerByte const inside = (1 + up.nvls_share / t.m) / (t.links * up.nvls);
    if (t.domains <= 1) {
        add_chunked(curve, {{}, up.nvls_small_latency, up.nvls_small_rate}, up.nvls_base, inside);
        return;
    }
    Seconds const hop = out->nvls_tree_hop * out->latency_scale;
    SecondsPerByte const nics = tree_wire(t) / (t.nics * t.tree_out);
    Chunks const chunks{{}, out->small_latency, out->small_rate};
    SecondsPerByte const under_tree = inside / out->nvls_inside;
    add_chunked(curve, chunks, up.nvls_base + t.added + 2 * t.levels * hop, std::max(under_tree, nics));
    if (machine.sharp > 0)
        add_chunked(curve, chunks, up.nvls_base + t.added + 2 * hop,
                    std::max(under_tree, 1 / (t.nics * machine.sharp)));
}

/// Through the switches between domains, with chains inside them.
void add_collnet(CollectiveCurve& curve, NcclMachine const& machine, Terms const& t, double ring_up,
                 ScaleOutConstants const& out) {
    Seconds const latency = t.base[simple] + t.added + 2 * ((t.m - 1) * t.hop[simple] + t.tree_hop[simple]);
    SecondsPerByte slope = 1 / (t.nics * machine.sharp);
    if (t.m > 1) slope = std::max(slope, 2 / (t.links * (t.paths * ring_up)));
    add_chunked(curve, {{}, out.small_latency, out.small_rate}, latency, slope);
}

void add_pat(CollectiveCurve& curve, Terms const& t) {
    Seconds const latency = t.base[simple] + t.added + t.levels * t.tree_hop[simple] * pat_hop + t.n * pat_rank;
    curve.add(latency, (t.n - 1) / t.n / (t.nics * (t.ring_out * pat_rate)));
}

void add_exchange(CollectiveCurve& curve, NcclMachine const& machine, GroupPlacement const& group, Terms const& t,
                  ScaleUpConstants const& up, ScaleOutConstants const* out) {
    BytesPerSecond const links = t.links * machine.exchange_up;
    SecondsPerByte const copies = up.copy_all_to_all / t.n / t.links;
    SecondsPerByte const inside = (t.m - 1) / t.n / links + copies;
    Seconds small = up.exchange_base_ll + (t.m - 1) * up.exchange_peer;
    Seconds large = up.exchange_base_simple + (t.m - 1) * up.exchange_peer;
    SecondsPerByte outside;
    if (group.domains > 1) {
        Seconds const far = t.added + out->exchange_base * out->latency_scale + (t.n - t.m) * out->exchange_peer;
        small += far;
        large += far;
        outside = share_outside(group) / (t.nics / t.entries * machine.exchange_out);
    }
    SecondsPerByte const slope = std::max(inside, outside);
    curve.add(small, std::max(inside / up.exchange_ll, outside / (out != nullptr ? out->ring_small_rate : 1)));
    add_chunked(curve, ring_chunks(t, up, out), large, slope);
}

void add_send(CollectiveCurve& curve, NcclMachine const& machine, Terms const& t, ScaleUpConstants const& up,
              ScaleOutConstants const* out) {
    BytesPerSecond const rate = t.domains > 1 ? t.nics / t.entries * t.ring_out : t.links * machine.ring_up;
    Seconds const far = t.domains > 1 ? t.added + t.ring_hop[ll] : Seconds{};
    Seconds const far_simple = t.domains > 1 ? t.added + t.ring_hop[simple] : Seconds{};
    curve.add(up.exchange_base_ll + far, 1 / (rate * up.exchange_ll));
    add_chunked(curve, ring_chunks(t, up, out), up.exchange_base_simple + far_simple, 1 / rate);
}

}  // namespace

double reached_of_mesh(NcclMachine const& machine, CollectiveKind kind, GroupPlacement const& group) {
    constexpr std::int64_t quad = 4;
    std::int64_t const talking = kind == CollectiveKind::send_receive ? 2 : group.ranks_per_domain;
    if (talking >= machine.domain_size) return 1;
    auto const others = static_cast<double>(std::max<std::int64_t>(talking - 1, 1));
    bool const is_in_quad = talking > 2 && talking <= quad && group.stride == 1;
    if (machine.quad_share > 0 && is_in_quad) return machine.quad_share * others / (quad - 1);
    return others / static_cast<double>(machine.domain_size - 1);
}

double share_outside(GroupPlacement const& group) {
    auto const n = static_cast<double>(group.size);
    double const outside = (n - static_cast<double>(group.entries())) / n;
    return group.copies <= 1 ? outside : outside * distinct_share(group, group.domains);
}

namespace {

/// Where so many ranks, neighbours of each other, send out of a pod: of the NICs of a rail those that do.
double share_of_neighbours(NcclMachine const& machine, std::int64_t ranks) {
    double const on_a_rail = std::ceil(static_cast<double>(ranks) / static_cast<double>(machine.domain_size));
    return std::min(1.0, on_a_rail / static_cast<double>(machine.pod_domains));
}

}  // namespace

double share_beyond_pod(NcclMachine const& machine, CollectiveKind kind, GroupPlacement const& group) {
    if (machine.pod_domains == 0) return 0;
    std::int64_t const pod_size = machine.pod_domains * machine.domain_size;
    if (group.pipeline > 0) {
        if (group.pipeline * group.stride <= pod_size) return 0;
        // The two copies of a stage are as far from either end: in two pods, but for those of the one in the middle.
        if (kind != CollectiveKind::send_receive) return 1;
        // Wherever stages begin, as many ranks at the end of a pod send out of it as a stage has.
        return share_of_neighbours(machine, group.stride);
    }
    // Fewer groups than lie between two of their ranks: two blocks of neighbours, each with a rank of every group.
    if (group.size == 2 && group.beside > 0)
        return group.stride + group.beside <= pod_size ? 0 : share_of_neighbours(machine, group.beside);
    std::int64_t const spacing = std::max<std::int64_t>(1, group.stride * group.ranks_per_domain / machine.domain_size);
    if ((group.domains - 1) * spacing < machine.pod_domains) return 0;
    auto const in_pod = static_cast<double>(std::max<std::int64_t>(1, machine.pod_domains / spacing));
    if (kind != CollectiveKind::all_to_all) return 1 / in_pod;
    auto const domains = static_cast<double>(group.domains);
    return (domains - in_pod) / (domains - 1);
}

double pod_slowdown(double oversubscription, double beyond_pod) { return std::max(1.0, oversubscription * beyond_pod); }

NcclMachine nccl_machine(ClusterSpec const& cluster) {
    NcclMachine out{.kind = cluster.scale_up.kind,
                    .domain_size = cluster.domain_size,
                    .links = cluster.scale_up.bandwidth.value,
                    .ring_up = cluster.scale_up.ring_efficiency.value,
                    .exchange_up = cluster.scale_up.all_to_all_efficiency.value,
                    .adds_in_switch = cluster.scale_up.in_network_reduction_efficiency.has_value(),
                    .nic = {}};
    if (out.kind == ScaleUpKind::pcie && out.domain_size > 1) out.crossing = measured_crossing(cluster);
    if (auto const& quad = cluster.scale_up.quad_bandwidth) out.quad_share = quad->value / out.links;
    if (!cluster.scale_out) return out;
    ScaleOutNetwork const& far = *cluster.scale_out;
    out.nic = far.bandwidth.value;
    out.pod_domains = far.pod_domains;
    out.oversubscription = far.oversubscription.value;
    out.ring_out = far.ring_efficiency.value;
    out.exchange_out = far.all_to_all_efficiency.value;
    if (far.in_network_reduction_efficiency) out.sharp = far.in_network_reduction_efficiency->value;
    return out;
}

CollectiveCurve nccl_curve(NcclMachine const& machine, CollectiveKind kind, GroupPlacement const& group,
                           ScaleUpConstants const& up, ScaleOutConstants const* out) {
    Terms const t = terms_of(machine, kind, group, up, out);
    CollectiveCurve curve;
    if (kind == CollectiveKind::all_to_all) {
        add_exchange(curve, machine, group, t, up, out);
        return curve;
    }
    if (kind == CollectiveKind::send_receive) {
        add_send(curve, machine, t, up, out);
        return curve;
    }
    add_rings(curve, ring_chunks(t, up, out), t, kind, machine.ring_up, copies_of(kind, up));
    if (kind == CollectiveKind::all_reduce) {
        if (group.domains > 1) add_trees(curve, {{}, out->small_latency, out->small_rate}, t, machine.ring_up, *out);
        if (group.domains > 1 && machine.sharp > 0) add_collnet(curve, machine, t, machine.ring_up, *out);
        if (machine.adds_in_switch && up.nvls > 0 && group.ranks_per_domain > 2)
            add_in_switch(curve, machine, t, up, out);
    } else if (kind != CollectiveKind::broadcast && group.domains > 1 && group.ranks_per_domain == 1) {
        add_pat(curve, t);
    }
    return curve;
}

}  // namespace sextant
