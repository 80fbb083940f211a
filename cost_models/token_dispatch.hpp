#pragma once

#include "cost_models/collective_time.hpp"

namespace sextant {

/// Of `group.copies` copies of a token for experts chosen with equal chance, the share that is left of one for each of
/// `places` equal parts of the group (its domains, its ranks). Where a token chooses from g of G groups of experts: a
/// place with w of them has j among the chosen with probability C(w, j) C(G - w, g - j) / C(G, g), and none of k copies
/// with (1 - j / g)^k. Groups that places cut unevenly count as none.
double distinct_share(GroupPlacement const& group, std::int64_t places);

/// Whether devices start transfers over this network themselves, which sending once per domain needs: InfiniBand and
/// RoCE (NVSHMEM's IBGDA); not sockets, EFA, Slingshot and Omni-Path.
bool starts_on_devices(ScaleOutNetwork const& network);
/// Whether kernels can send tokens so in the group: they also need links over which devices write to one another, which
/// PCIe and a torus have not.
bool sends_once(ClusterSpec const& cluster, GroupPlacement const& group);

/// Curve of an exchange of routed tokens that are sent once per domain and, inside of it, once per rank (DeepEP,
/// HybridEP), as a function of S, the bytes of a rank's tokens in all of their k copies.
///
/// T = L + max(outside / NIC rate, inside / link rate), with balanced routing over n ranks in N domains of m:
/// - outside = S (1 - 1/N) N (1 - (1 - 1/N)^k) / k: a token visits N (1 - (1 - 1/N)^k) domains, one in N of them its
///   own. Each rank sends over its own NIC to the rank of the same index, which sends on. Fewer domains where experts
///   are chosen from some groups (`distinct_share`).
/// - inside = S (1 - 1/m) n (1 - (1 - 1/n)^k) / k: the distinct ranks a token visits, all but one in m over the links.
/// - L: notification of the counts, and the wait of the host for them.
///
/// Source of the rates: DeepEP's README at 0297fc8 and docs/legacy.md, 400 Gb/s NICs: 61 GB/s on 8 x 4 and 81-90 GB/s
/// on 8 x 2 ranks, of which 3/4 and 1/2 leave the node; 726-740 GB/s on 8 ranks of 900 GB/s links, of which 7/8 move.
/// On EFA, where devices do not start transfers themselves, steps with it have not been faster than with NCCL's
/// all-to-all of every copy, which is taken (17 runs of Qwen3-30B-A3B on 64 H100, awslabs/awsome-distributed-ai), and
/// so wherever else the kernels do not run (`sends_once`).
///
/// @pre `group.copies` > 1. @throws InputError when the group spans domains of a cluster without a network between
/// them.
CollectiveCurve token_dispatch_curve(ClusterSpec const& cluster, GroupPlacement const& group);

}  // namespace sextant
