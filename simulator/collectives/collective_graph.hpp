#pragma once

#include "core/spec/cluster_spec.hpp"
#include "cost_models/collective_time.hpp"
#include "simulator/collectives/algorithm.hpp"
#include "simulator/network/fabric.hpp"
#include "simulator/task_graph.hpp"

#include <string>
#include <vector>

namespace sextant {

/// A collective as a task graph with every rank of the shape and of the groups that lie across it: one send/receive per
/// flow, and between two phases what each rank waits for. Knows no bytes until `set_bytes`.
struct CollectiveGraph {
    TaskGraph graph;
    /// Of each task: bytes as a part of the buffer; 0 for a rank's wait between phases. Of an all-to-all more than that
    /// by as much as its messages reach less of a link than a ring's (`all_to_all_efficiency`).
    std::vector<double> shares;
    std::int64_t rounds = 0;
    std::int64_t flows = 0;
    std::vector<std::string> phases;
};

/// The flows of an algorithm as tasks.
///
/// A flow begins when source and destination have ended all flows of the phase before. Its latency is that of its
/// steps (see `CollectiveFlow::hops`), up hop_up + out hop_out of the cluster's networks, and the base latency of a
/// collective where it waits for nothing (a send/receive has none, as in `collective_curve`). Tasks have a duration of
/// their latency alone.
CollectiveGraph collective_graph(CollectiveAlgorithm const& algorithm, CollectiveShape const& shape,
                                 ClusterSpec const& cluster);
/// The same of flows that are known.
CollectiveGraph collective_graph(CollectiveFlows flows, CollectiveShape const& shape, ClusterSpec const& cluster);

/// Makes it the collective of a buffer of `bytes`: each flow alone takes latency + share x bytes / rate, with the rate
/// that the fabric gives it. @pre the fabric was made from this graph.
void set_bytes(CollectiveGraph& collective, Fabric const& fabric, Bytes bytes);

}  // namespace sextant
