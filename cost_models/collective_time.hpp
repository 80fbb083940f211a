#pragma once

#include "core/ops/op.hpp"
#include "core/spec/cluster_spec.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

namespace sextant {

/// Where the ranks of a group lie: `size` ranks, `stride` apart, laid over scale-up domains.
struct GroupPlacement {
    std::int64_t size = 1;
    std::int64_t ranks_per_domain = 1;
    std::int64_t domains = 1;
    std::int64_t fewest = 0;  ///< ranks of the domain that has the fewest; 0: as many as the others
    std::int64_t stride = 1;
    /// Groups like this one that lie across it and are at work with it; 0: as many as fit between its ranks, `stride`.
    std::int64_t beside = 0;
    std::int64_t copies = 1;  ///< see `Collective`, as the next two
    std::int64_t expert_groups = 1;
    std::int64_t chosen_groups = 1;
    bool bridged = false;  ///< two ranks that links of their own join, see `ScaleUpNetwork::pair_bandwidth`
    /// Of two neighbours in a pipeline that stand for all of it: its stages, `stride` ranks each.
    std::int64_t pipeline = 0;
    std::int64_t slice = 0;  ///< of a torus: chips of the job, which gets the slice that holds them; 0: all of it
    /// NICs of the domain that has the fewest, which all that goes around has to pass.
    [[nodiscard]] std::int64_t entries() const { return fewest > 0 ? fewest : ranks_per_domain; }
    /// Groups at work that share what joins the parts of this one, itself among them.
    [[nodiscard]] std::int64_t at_work() const { return beside > 0 ? beside : stride; }
};

/// Ranks r, r + stride, ... of a cluster with `domain_size` accelerators per domain; groups start at a domain's
/// boundary or fill it evenly.
GroupPlacement place_group(std::int64_t size, std::int64_t stride, std::int64_t domain_size);
/// The same on this cluster, whose bridges may join the group, of a job with so many accelerators (0: all of a domain),
/// by which a torus has its slice.
GroupPlacement place_group(std::int64_t size, std::int64_t stride, ClusterSpec const& cluster, std::int64_t job = 0);

/// A group that does not fill its last domain, with the ranks of that; racks are filled evenly unless it has `fewest`.
GroupPlacement evened(ClusterSpec const& cluster, GroupPlacement group);

/// Cost of one collective on one group as a function of its size: the lower envelope of one affine cost per algorithm
/// and protocol, T(S) = min_i (latency_i + S * slope_i), and, where the machine was measured, a smooth factor on it.
/// Grows with the size, and never faster than in proportion to it, but for single sizes at which a measured arrangement
/// was seen to jump. Source: shape as NCCL's tuner chooses (docs/collectives.md).
class CollectiveCurve {
public:
    [[nodiscard]] Seconds time(Bytes bytes) const;
    /// The part of `time` in which no bytes move: that of the algorithm which is fastest for this size.
    [[nodiscard]] Seconds latency(Bytes bytes) const;
    /// One more algorithm. Lines that another one beats at every size are dropped.
    void add(Seconds latency, SecondsPerByte slope);
    /// Multiplies the envelope by exp(`log_factor`(log2 of the bytes)), as far as the curve keeps growing and does so
    /// no faster than in proportion to the bytes.
    /// `jump`, where there is one: the logarithm of a factor that is held to neither.
    void correct(std::function<double(double log2_bytes)> const& log_factor,
                 std::function<double(double log2_bytes)> const& jump = {});
    [[nodiscard]] bool empty() const { return count_ == 0; }
    /// Time per byte of the largest messages.
    [[nodiscard]] SecondsPerByte asymptotic_slope() const;

private:
    struct Line {
        Seconds latency;
        SecondsPerByte slope;
    };
    [[nodiscard]] std::size_t fastest(Bytes bytes) const;
    [[nodiscard]] Seconds envelope(Bytes bytes) const;
    std::array<Line, 16> lines_{};
    std::size_t count_ = 0;
    /// log2 of the time at every quarter of an octave from one byte on; empty: the envelope is all.
    std::vector<double> table_;
};

/// What a pair reaches of its own links in one direction. `cluster` must have them.
BytesPerSecond pair_rate(ClusterSpec const& cluster);

/// Curve of a collective on a group. Group size 1 costs nothing (an empty curve).
///
/// A cluster with a network model (`network_calibration.hpp`): NCCL's algorithms and protocols (`nccl_curve.hpp`) and
/// the corrections of its calibration. Any other, the plain model, with n ranks on N domains, m per domain, S the
/// nccl-tests size:
/// - ring: latency base + (steps - inter) hop_up + inter hop_out, steps n - 1 (all-reduce 2 (n - 1)), inter N - 1
///   (2 (N - 1)); slope (steps / n; a broadcast 1) / min(ring rate of the domain, m NIC rates): every rank of a domain
///   drives its own NIC.
/// - tree: base + rounds ((m - 1) hop_up + log2(N) hop_out), two rounds for an all-reduce, else one; the ring's slope /
///   0.92.
/// - tori joined by a network: the hops of one torus instead of m - 1, the ring's slope.
/// - in-network reduction (NVLS) inside one domain, and under a tree over several.
/// - all-to-all: share inside the domain at its rate, share outside at the NIC's, the slower decides.
/// - all-to-all of tokens with k copies each that are sent once per domain: see `token_dispatch.hpp`.
/// - send/receive: one pair; over domains at the NIC's rate.
/// - torus: see `torus_time.hpp`.
/// @throws InputError when the group spans domains of a cluster that has no scale-out network.
CollectiveCurve collective_curve(ClusterSpec const& cluster, CollectiveKind kind, GroupPlacement const& group);

/// How much of a rank's own links a collective occupies while it runs alone: of its scale-up and of its scale-out
/// bandwidth, 1 where that is what bounds it. Nothing for a group of one, or one on links of its own.
struct NetworkShares {
    double scale_up = 0;
    double scale_out = 0;
    double uplink = 0;  ///< what leaves the pod, in units of the scale-out bandwidth
    bool operator==(NetworkShares const&) const = default;
};
NetworkShares network_shares(ClusterSpec const& cluster, CollectiveKind kind, GroupPlacement const& group);

/// Bus bandwidth over algorithm bandwidth as nccl-tests defines it: 2 (n - 1) / n for an all-reduce, (n - 1) / n for
/// gathers, scatters and exchanges, 1 for a broadcast and a send. Source: nccl-tests doc/PERFORMANCE.md.
double bus_bandwidth_factor(CollectiveKind kind, std::int64_t ranks);

}  // namespace sextant
