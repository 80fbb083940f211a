#pragma once

#include "simulator/collectives/collective_graph.hpp"

#include <span>
#include <vector>

namespace sextant {

/// Of each task whether it is a flow that meets no other on any of its links, whatever the times are.
///
/// Sufficient and cheap: a link has lone flows only if no phase has two over it, and all of them have a rank in common,
/// which goes through its phases one after the other.
std::vector<char> lone_flows(CollectiveGraph const& collective, Fabric const& fabric);

/// The graph with lone flows as plain tasks that touch no network: on links of these bandwidths they take latency +
/// bytes over the narrowest link, or over their own rate if that is less.
TaskGraph with_timed_flows(CollectiveGraph const& collective, Fabric const& fabric, std::span<char const> lone,
                           std::span<double const> bandwidths);

/// Bytes that each link carries in the whole collective.
std::vector<double> carried_bytes(CollectiveGraph const& collective, Fabric const& fabric);

}  // namespace sextant
