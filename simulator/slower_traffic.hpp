#pragma once

#include "core/ops/op.hpp"
#include "cost_models/collective_time.hpp"
#include "simulator/network/fabric.hpp"
#include "simulator/task_graph.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace sextant {

/// Traffic of data parallelism whose links carry less than the cluster's do: degraded, or with the traffic of others.
struct SlowerTraffic {
    std::int64_t pipeline = 0;  ///< pipeline rank
    CollectiveKind kind = CollectiveKind::all_reduce;
    GroupKind group = GroupKind::data;
    NetworkShares shares{};
    double factor = 1;  ///< how many times as long its bytes take
};

/// All that there is in a graph. A demand takes as much longer as what it puts on a link, alone, exceeds what the link
/// carries, on its worst link. Of the groups of a pipeline rank the slowest counts for all: they wait for one another
/// in tensor parallelism, in the next reduction or before the optimizer.
/// @param bandwidths what each link of the fabric carries, bytes per second (`usable_bandwidths`).
std::vector<SlowerTraffic> slower_traffic(TaskGraph const& graph, Fabric const& fabric,
                                          std::span<double const> bandwidths);

/// How many times as long the bytes of some traffic take; its own factor does not count.
double factor_of(std::span<SlowerTraffic const> slower, SlowerTraffic const& asked);

}  // namespace sextant
