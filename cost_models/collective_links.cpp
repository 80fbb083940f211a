#include "cost_models/collective_links.hpp"

#include <algorithm>

namespace sextant {

BytesPerSecond link_rate(CollectiveMachine const& machine, CollectiveKind kind) {
    ClusterSpec const& cluster = machine.cluster;
    BytesPerSecond inside = cluster.scale_up.bandwidth.value;
    if (auto const& pair = cluster.scale_up.pair_bandwidth) inside = std::max(inside, pair->value);
    if (machine.group.domains <= 1) return inside;
    auto const ranks = static_cast<double>(machine.group.size);
    auto const per_domain = static_cast<double>(machine.group.ranks_per_domain);
    BytesPerSecond const nic = cluster.scale_out->bandwidth.value;
    if (kind == CollectiveKind::all_to_all) return nic * ((ranks - 1) / (ranks - per_domain));
    return std::max(inside, nic * per_domain);
}

BytesPerSecond narrowest_rate(CollectiveMachine const& machine, CollectiveKind kind) {
    if (machine.group.domains <= 1) return link_rate(machine, kind);
    BytesPerSecond const nic = machine.cluster.scale_out->bandwidth.value;
    return std::min(link_rate(machine, kind), nic * static_cast<double>(machine.group.ranks_per_domain));
}

double bus_rate(CollectiveMachine const& machine, CollectiveKind kind, Bytes bytes, Seconds time, BytesPerSecond rate) {
    return bytes * bus_bandwidth_factor(kind, machine.group.size) / time / rate;
}

}  // namespace sextant
