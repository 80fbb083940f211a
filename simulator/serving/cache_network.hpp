#pragma once

#include "core/spec/cluster_spec.hpp"
#include "cost_models/collective_time.hpp"
#include "simulator/network/topology.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace sextant {

/// A cache on its way from one replica to another: `latency`, then `bytes` of every rank over `links`.
struct CacheTransfer {
    std::vector<std::int32_t> links{};  ///< of all ranks, which move in step; none: nothing is shared
    std::vector<std::int32_t> ends{};   ///< in `links`, of what each rank takes; none: it is all of one rank
    BytesPerSecond rate{};              ///< of a rank alone
    Bytes bytes{};                      ///< of a rank
    Seconds latency{};
    [[nodiscard]] Seconds alone() const { return bytes > Bytes{} ? latency + bytes / rate : latency; }
    /// The links of ranks that share none, together, as few times as can be had by taking each rank where it first
    /// fits: flows that cross no link twice.
    [[nodiscard]] std::vector<std::vector<std::int32_t>> disjoint_flows() const;
};

/// An attention data-parallel group of a replica, whose ranks hold the cache of a sequence.
struct CachePlace {
    std::int64_t replica = 0;
    std::int64_t group = 0;
};

/// Ranks of a replica, numbered along tp, then the groups of attention data parallelism, then the stages.
struct ReplicaRanks {
    std::int64_t tp = 1;
    std::int64_t groups = 1;
    std::int64_t stages = 1;
    [[nodiscard]] std::int64_t count() const { return tp * groups * stages; }
};

/// Replicas that are cut alike.
struct CacheSide {
    ReplicaRanks ranks;
    std::int64_t replicas = 0;
};

/// The ways between replicas that fill a cluster one after another, inside a domain by the scale-up network, else
/// through both NICs and what is above them (`Topology`). Alone a transfer takes what `collective_curve` says of a send
/// and receive.
///
/// Between replicas cut alike rank k of a group of one sends to rank k of a group of the other. Else every rank that
/// receives gets each piece that it keeps (layers of its stage, key-value heads of its part) from one rank that has it;
/// pieces are of equal bytes, as many as the stages and parts of both sides have in common multiples. Of ranks that
/// keep the same heads (tp beyond them, latents), those of the receiver are shared out over those of the sender, in
/// order. A rank's messages in one direction share its link.
class CacheNetwork {
public:
    /// @throws InputError when they do not fit the cluster.
    CacheNetwork(ClusterSpec const& cluster, ReplicaRanks ranks, std::int64_t replicas);
    /// Replicas for prompts first. Where these are of another size, those that decode begin at a multiple of their own
    /// (of a domain, where they are larger), so that none lies across nodes that would fit one.
    /// @param parts that a cache may be cut into along tp: key-value heads, 1 of a latent; either side's tp divides
    /// them, or they it
    CacheNetwork(ClusterSpec const& cluster, CacheSide prompts, CacheSide decodes, std::int64_t parts);

    [[nodiscard]] std::span<FabricLink const> links() const { return topology_.links(); }
    /// @param bytes of a rank that receives
    [[nodiscard]] CacheTransfer transfer(CachePlace from, CachePlace to, Bytes bytes) const;

private:
    [[nodiscard]] ReplicaRanks const& ranks_of(CachePlace place) const {
        return place.replica < prompts_.replicas ? prompts_.ranks : decodes_.ranks;
    }
    /// Of the cluster, the rank of the group at this place along tp and the stages.
    [[nodiscard]] std::int64_t rank_of(CachePlace place, std::int64_t stage, std::int64_t along_tp) const;

    CacheSide prompts_, decodes_;
    std::int64_t parts_;
    std::int64_t decodes_begin_;  ///< rank
    Topology topology_;
    CollectiveCurve inside_, outside_;
};

}  // namespace sextant
