#pragma once

#include "core/spec/cluster_spec.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace sextant {

/// The first shipped cluster whose network between nodes is of this kind ("roce"), of those with the device's
/// generation before those of its vendor before others; null: none has it.
ClusterSpec const* cluster_with_network(std::string_view kind, AcceleratorProfile const& accelerator);

/// The same machine with the network between nodes of another. Its constants are those of the network's class: what was
/// fitted for that other machine is of no machine here.
ClusterSpec with_network_of(ClusterSpec cluster, ClusterSpec const& other);

/// The same machine with its accelerators joined otherwise, with the constants of that class: NVLink by direct links
/// where switches are usual and the other way round keeps its rate, PCIe is that of a shipped cluster of the same
/// generation. Direct links join `domain_size` accelerators. Nothing: no profile says how fast that would be.
std::optional<ClusterSpec> joined_otherwise(ClusterSpec const& usual, ScaleUpKind kind, std::int64_t domain_size);

}  // namespace sextant
