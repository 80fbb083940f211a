#pragma once

#include "core/units.hpp"

#include <span>
#include <string_view>

namespace sextant {

/// What NCCL (or RCCL) makes of the links inside a scale-up domain. Latencies are of a whole launch; rates are
/// fractions of the data sheet's bandwidth, so they carry from one machine of a generation to another.
///
/// Protocols: LL (8-byte flags, low latency, low rate), LL128 (128-byte lines), Simple (memory fences, full rate).
struct ScaleUpConstants {
    Seconds base_ll;  ///< of a ring collective, before its steps
    Seconds base_ll128;
    Seconds base_simple;
    Seconds hop_ll;  ///< one step of a ring or of a chain
    Seconds hop_ll128;
    Seconds hop_simple;
    double ll = 0;          ///< rate of LL as a fraction of the ring's
    double ll128 = 0;       ///< the same of LL128
    double ring = 0;        ///< ring rate as a fraction of the link bandwidth (`ring_efficiency` of the cluster)
    Seconds ramp;           ///< Simple with full chunks: what filling the pipeline adds to the latency
    double small_rate = 1;  ///< Simple with small chunks: rate against that with full ones
    /// Time of the copies that a rank makes in its own memory, as bytes on the links: S / n times this.
    double copy_all_reduce = 0;
    double copy_all_gather = 0;
    double copy_reduce_scatter = 0;
    double copy_all_to_all = 0;
    Seconds nvls_base;      ///< all-reduce in the switch
    double nvls = 0;        ///< of the bandwidth: S (1 + nvls_share / n) / (nvls bandwidth)
    double nvls_share = 0;  ///< traffic of a rank's own part
    double nvls_small_latency = 1;
    double nvls_small_rate = 1;
    Seconds exchange_base_ll;      ///< all-to-all and send/receive, small messages
    Seconds exchange_base_simple;  ///< the same, full rate
    Seconds exchange_peer;         ///< per further rank of an all-to-all
    double exchange_ll = 0;        ///< rate of small messages as a fraction of that of large ones
    double exchange = 0;           ///< of the bandwidth (`all_to_all_efficiency` of the cluster)
    double pair_gain = 1;          ///< PCIe: ring rate of two ranks under one switch, against that of a whole node
    double quad_gain = 1;          ///< PCIe: the same of three or four ranks

    bool operator==(ScaleUpConstants const&) const = default;
};

/// The same for the network between domains. Rates are fractions of a rank's NIC.
struct ScaleOutConstants {
    Seconds added;             ///< constant of a network stack, once per collective
    double latency_scale = 1;  ///< multiplies every step below
    Seconds ring_hop_ll;
    Seconds ring_hop_ll128;
    Seconds ring_hop_simple;
    Seconds tree_hop_ll;
    Seconds tree_hop_ll128;
    Seconds tree_hop_simple;
    Seconds ring_ramp;      ///< as `ramp`, of rings and exchanges over domains
    Seconds nvls_tree_hop;  ///< one level of a tree over nodes that add in their switches
    double ring = 0;        ///< of the NIC rate (`ring_efficiency` of the cluster)
    double tree = 0;        ///< of the NIC rate, by trees
    double ll = 0;          ///< fraction of that rate with LL
    double ll128 = 0;
    double tree_inside = 1;  ///< rate of a tree's chains inside a domain against the ring's there, LL and LL128
    double nvls_inside = 1;  ///< rate of the switches under a tree against theirs alone
    double ring_small_rate = 1;
    double small_latency = 1;  ///< trees with small chunks: latency against that with full ones
    double small_rate = 1;     ///< and rate
    Seconds exchange_base;     ///< all-to-all over domains, besides what one domain takes
    Seconds exchange_peer;     ///< per rank in other domains
    double exchange = 0;       ///< of the NIC rate (`all_to_all_efficiency` of the cluster)

    bool operator==(ScaleOutConstants const&) const = default;
};

/// A constant with its key in files and the range in which it makes sense.
template <class Owner, class Value>
struct NetworkField {
    std::string_view key;
    Value Owner::*member;
    double low;  ///< in base units
    double high;
};

inline constexpr NetworkField<ScaleUpConstants, Seconds> scale_up_times[] = {
    {"base_ll", &ScaleUpConstants::base_ll, 1e-7, 1e-3},
    {"base_ll128", &ScaleUpConstants::base_ll128, 1e-7, 1e-3},
    {"base_simple", &ScaleUpConstants::base_simple, 1e-7, 2e-3},
    {"hop_ll", &ScaleUpConstants::hop_ll, 1e-8, 1e-4},
    {"hop_ll128", &ScaleUpConstants::hop_ll128, 1e-8, 1e-4},
    {"hop_simple", &ScaleUpConstants::hop_simple, 1e-8, 1e-3},
    {"ramp", &ScaleUpConstants::ramp, 1e-8, 1e-2},
    {"nvls_base", &ScaleUpConstants::nvls_base, 1e-7, 1e-3},
    {"exchange_base_ll", &ScaleUpConstants::exchange_base_ll, 1e-7, 1e-3},
    {"exchange_base_simple", &ScaleUpConstants::exchange_base_simple, 1e-7, 2e-3},
    {"exchange_peer", &ScaleUpConstants::exchange_peer, 1e-9, 1e-4},
};
inline constexpr NetworkField<ScaleUpConstants, double> scale_up_numbers[] = {
    {"ll", &ScaleUpConstants::ll, 1e-4, 1},
    {"ll128", &ScaleUpConstants::ll128, 1e-3, 1},
    {"ring", &ScaleUpConstants::ring, 1e-3, 1},
    {"small_rate", &ScaleUpConstants::small_rate, 0.05, 1},
    {"copy_all_reduce", &ScaleUpConstants::copy_all_reduce, 0, 5},
    {"copy_all_gather", &ScaleUpConstants::copy_all_gather, 0, 5},
    {"copy_reduce_scatter", &ScaleUpConstants::copy_reduce_scatter, 0, 5},
    {"copy_all_to_all", &ScaleUpConstants::copy_all_to_all, 0, 5},
    {"nvls", &ScaleUpConstants::nvls, 1e-3, 2},
    {"nvls_share", &ScaleUpConstants::nvls_share, 0, 8},
    {"nvls_small_latency", &ScaleUpConstants::nvls_small_latency, 0.05, 1},
    {"nvls_small_rate", &ScaleUpConstants::nvls_small_rate, 0.05, 1},
    {"exchange_ll", &ScaleUpConstants::exchange_ll, 1e-4, 1},
    {"exchange", &ScaleUpConstants::exchange, 1e-3, 1},
    {"pair_gain", &ScaleUpConstants::pair_gain, 1, 50},
    {"quad_gain", &ScaleUpConstants::quad_gain, 1, 50},
};
inline constexpr NetworkField<ScaleOutConstants, Seconds> scale_out_times[] = {
    {"added", &ScaleOutConstants::added, 1e-8, 1e-2},
    {"ring_hop_ll", &ScaleOutConstants::ring_hop_ll, 1e-7, 1e-3},
    {"ring_hop_ll128", &ScaleOutConstants::ring_hop_ll128, 1e-7, 1e-3},
    {"ring_hop_simple", &ScaleOutConstants::ring_hop_simple, 1e-7, 1e-2},
    {"tree_hop_ll", &ScaleOutConstants::tree_hop_ll, 1e-7, 1e-3},
    {"tree_hop_ll128", &ScaleOutConstants::tree_hop_ll128, 1e-7, 1e-3},
    {"tree_hop_simple", &ScaleOutConstants::tree_hop_simple, 1e-7, 1e-2},
    {"ring_ramp", &ScaleOutConstants::ring_ramp, 1e-8, 1e-1},
    {"nvls_tree_hop", &ScaleOutConstants::nvls_tree_hop, 1e-7, 1e-2},
    {"exchange_base", &ScaleOutConstants::exchange_base, 1e-7, 1e-2},
    {"exchange_peer", &ScaleOutConstants::exchange_peer, 1e-9, 1e-3},
};
inline constexpr NetworkField<ScaleOutConstants, double> scale_out_numbers[] = {
    {"latency_scale", &ScaleOutConstants::latency_scale, 0.02, 50},
    {"ring", &ScaleOutConstants::ring, 1e-2, 1},
    {"tree", &ScaleOutConstants::tree, 1e-2, 1},
    {"ll", &ScaleOutConstants::ll, 1e-4, 1},
    {"ll128", &ScaleOutConstants::ll128, 1e-3, 1},
    {"tree_inside", &ScaleOutConstants::tree_inside, 0.3, 2},
    {"nvls_inside", &ScaleOutConstants::nvls_inside, 0.3, 1.5},
    {"ring_small_rate", &ScaleOutConstants::ring_small_rate, 0.05, 1},
    {"small_latency", &ScaleOutConstants::small_latency, 0.05, 1},
    {"small_rate", &ScaleOutConstants::small_rate, 0.1, 1},
    {"exchange", &ScaleOutConstants::exchange, 1e-2, 1},
};

}  // namespace sextant
