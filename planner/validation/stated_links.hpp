#pragma once

#include "core/measurements/network_rate.hpp"
#include "core/spec/cluster_spec.hpp"
#include "planner/validation/training_row.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// The network between nodes as a cell says it: "8 x HDR InfiniBand 200 Gb/s per node", "100GbE", "EFA".
struct StatedNetwork : StatedNetworkRate {
    std::string_view kind;  ///< of `ScaleOutNetwork`; empty: none that is known here
};

/// What a cell says of storage, management or PCIe is left out.
StatedNetwork stated_network(std::string_view cell);

/// A cluster with the links that a row states.
struct LinkedCluster {
    ClusterSpec cluster;
    double gbps = 0;                       ///< between nodes, per accelerator, as the row states it; 0: it does not
    bool network_is_stated = false;        ///< the one between nodes, by its kind or its rate
    std::vector<std::string> assumptions;  ///< that matter to rows which use the network between nodes
};

/// `usual`: the cluster of the row's device, otherwise. @throws RowSkip where the device cannot be joined as stated.
LinkedCluster with_stated_links(TrainingRow const& row, ClusterSpec usual);

}  // namespace sextant
