#pragma once

#include "core/spec/network_calibration.hpp"
#include "cost_models/collective_time.hpp"

namespace sextant {

/// What the formulas need of a cluster besides the fitted constants. `ring`, `exchange` are the efficiencies that hold:
/// those of the calibration, or what was measured instead.
struct NcclMachine {
    ScaleUpKind kind = ScaleUpKind::switched;
    std::int64_t domain_size = 8;
    BytesPerSecond links;  ///< of one rank inside its domain
    double quad_share =
        0;  ///< of a mesh: share of `links` that joins four neighbours with each other, 0: as all others
    double ring_up = 1;
    double exchange_up = 1;
    bool adds_in_switch = false;
    /// PCIe: what goes between the halves of a domain at once, over what a ring over all of it sends there.
    double crossing = 1;
    BytesPerSecond nic;  ///< of one rank; zero: there is no network between domains
    std::int64_t pod_domains = 0;
    double oversubscription = 1;
    double ring_out = 1;
    double exchange_out = 1;
    double sharp = 0;  ///< efficiency of an all-reduce in the switches between domains, 0: they cannot
};
NcclMachine nccl_machine(ClusterSpec const& cluster);

/// Cost of a collective by NCCL's algorithms and protocols, the cheapest for each size.
///
/// With n ranks on N domains, m per domain, S the nccl-tests size, q a protocol (LL, LL128, Simple), hops and bases of
/// `up` and `out` (network steps times `latency_scale`), B the link and W the NIC rate of a rank:
/// - ring: base_q + added + (steps - inter) hop_q + inter ring_hop_q, with steps 2 (n - 1) for an all-reduce and n - 1
///   for gather and scatter, inter 2 N and N, no more than steps (a broadcast: N - 1); slope steps / n / min(ring q B,
///   m ring q W), and for Simple the copies S / n inside a rank.
/// - tree (all-reduce over domains): base_q + added + 2 ((m - 1) hop_q + log2(N) tree_hop_q); slope the slower of 2 /
///   (ring q B), with LL and LL128 also tree_inside, and w / (m tree q W), where w, the times S that the NICs of a
///   domain send, is 1 for two domains and 2 for more (an inner node of the double tree sends to its parent and to two
///   children).
/// - NVLS: nvls_base; slope (1 + nvls_share / n) / (nvls B). NVLSTree: nvls_base + added + 2 log2(N) nvls_tree_hop;
///   slope the slower of NVLS at nvls_inside of its rate and w / (m tree W).
/// - CollNet/SHARP, where the cluster has it: base_simple + added + 2 ((m - 1) hop_simple + tree_hop_simple); slope the
///   slower of 2 / (ring B) and 1 / (m W efficiency). With NVLS also nvls_base + added + 2 nvls_tree_hop; slope the
///   slower of NVLS and 1 / (m W efficiency).
/// In a mesh, rings and trees over domains have m / (m - 1) of B: they pass m - 1 links between the m ranks of a
/// domain.
/// - PAT (one rank per domain, gather and scatter): base_simple + added + log2(N) tree_hop_simple / 3.5; 0.75 of the
///   ring's rate.
/// - all-to-all and send/receive: exchange_base + exchange_peer (n - 1), LL and Simple; the share inside the domain at
///   `exchange` B and the share outside at `exchange` W, the slower decides.
/// Simple and NVLS appear a second time with small chunks: less latency, less rate.
/// Source: structure and constants of NCCL 2.30 src/graph/tuning.cc as summarised in docs/collectives.md; values
/// fitted.
/// @pre a group over several domains has `out` and NICs.
CollectiveCurve nccl_curve(NcclMachine const& machine, CollectiveKind kind, GroupPlacement const& group,
                           ScaleUpConstants const& up, ScaleOutConstants const* out);

/// Of the links of a rank in a mesh, which gives each pair its own share, those that lead to the ranks it talks to: all
/// of its group in the domain, or of a send one. Three or four neighbours have those that join quads.
double reached_of_mesh(NcclMachine const& machine, CollectiveKind kind, GroupPlacement const& group);

/// Of the bytes of an all-to-all, the share that leaves the domain: (n - m) / n, less where `group.copies` copies of a
/// token are sent once per domain.
double share_outside(GroupPlacement const& group);

/// Of what the NICs of a group send, the share that leaves their pod when every group of this kind is at work: 0 where
/// the group fits into one. A ring, and as nearly a tree, enters and leaves a pod once, however many of the group's
/// domains lie in it; an all-to-all leaves for all others. Of a pipeline whose stages are smaller than a pod one stage
/// sends out of each; of pairs fewer than lie between their two ranks (`beside`) those there are.
double share_beyond_pod(NcclMachine const& machine, CollectiveKind kind, GroupPlacement const& group);
/// By what the uplinks of the pods divide the NIC rate of a rank then; 1 where they carry it all.
double pod_slowdown(double oversubscription, double beyond_pod);

}  // namespace sextant
