#pragma once

#include "core/spec/cluster_spec.hpp"

#include <cstdint>

namespace sextant {

/// Accelerators of a node where nobody says how many: a scale-up domain is a node if it has at most 16, as DGX-2 and
/// Trainium's machines have; else nodes have four, as the trays of NVL72 racks and TPU hosts have (assumed;
/// `--gpus-per-node` says otherwise).
inline std::int64_t usual_gpus_per_node(ClusterSpec const& cluster) {
    constexpr std::int64_t most_of_one_node = 16;
    constexpr std::int64_t node_of_large_domain = 4;
    return cluster.domain_size <= most_of_one_node ? cluster.domain_size : node_of_large_domain;
}

/// Whether a scale-up domain has several nodes, as a rack of NVL72 has.
inline bool has_domains_of_nodes(ClusterSpec const& cluster) {
    return usual_gpus_per_node(cluster) < cluster.domain_size;
}

}  // namespace sextant
