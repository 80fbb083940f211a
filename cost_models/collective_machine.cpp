#include "core/measurements/network_rate.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/text.hpp"
#include "cost_models/borrowed_network.hpp"
#include "cost_models/collective_row.hpp"
#include "cost_models/link_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace sextant {
namespace {

/// What adapters carry that can carry both: the usual network of the device, where it is one of them.
std::string_view network_of_adapters(ClusterSpec const& usual, CollectiveMachine& out) {
    bool const is_infiniband = usual.scale_out && usual.scale_out->kind == "infiniband";
    std::string_view const kind = is_infiniband ? "infiniband" : "roce";
    out.assumptions.push_back(
        fmt::format("adapters for InfiniBand and RoCE carry {}, as is usual for {}", kind, usual.accelerator.name));
    return kind;
}

/// Of clusters of cards that NVLink joins in pairs, those that have such links. Two without are none of the row's; more
/// use what joins all.
void keep_bridged(CollectiveMachineRow const& row, std::vector<ClusterSpec const*>& clusters, CollectiveMachine& out) {
    auto const is_plain = [](ClusterSpec const* cluster) {
        return cluster->scale_up.kind == ScaleUpKind::pcie && !cluster->scale_up.pair_bandwidth;
    };
    if (!names_bridge(lower_case(row.intra_link))) return;
    if (!std::all_of(clusters.begin(), clusters.end(), is_plain)) {
        std::erase_if(clusters, is_plain);
        return;
    }
    if (row.gpus_per_node == 2)
        throw RowSkip(fmt::format("no profile for {} joined by '{}' (a cluster file with pair_bandwidth, --profile)",
                                  clusters.front()->accelerator.name, row.intra_link.substr(0, 60)));
    out.assumptions.emplace_back("NVLink of pairs is left out: PCIe joins more than two");
}

/// The device's usual machine with its accelerators joined as the row says, for which there is no profile.
ClusterSpec joined_as_stated(CollectiveMachineRow const& row, ClusterSpec const& usual, ScaleUpKind kind,
                             CollectiveMachine& to) {
    constexpr std::int64_t board = 4;  // accelerators that direct links of NVLink join
    auto out = joined_otherwise(usual, kind, std::max(board, row.gpus_per_node));
    if (!out)
        throw RowSkip(
            fmt::format("no profile for {} joined by '{}'", usual.accelerator.name, row.intra_link.substr(0, 60)));
    to.is_borrowed = true;
    to.assumptions.push_back(
        fmt::format("{} with its accelerators joined by {}, which no profile has", usual.name, name_of(kind)));
    out->name += fmt::format(" ({})", name_of(kind));
    return *std::move(out);
}

std::vector<ClusterSpec const*> clusters_of(CollectiveMachineRow const& row, std::optional<ClusterSpec>& borrowed,
                                            CollectiveMachine& to) {
    AcceleratorProfile const* const accelerator = known_accelerator(row.gpu);
    if (accelerator == nullptr) throw RowSkip(fmt::format("no profile for device '{}'", row.gpu.substr(0, 60)));
    std::optional<ScaleUpKind> const kind = stated_scale_up(row.intra_link);
    ClusterSpec const* usual = nullptr;
    std::vector<ClusterSpec const*> out;
    for (ClusterSpec const& cluster : all_clusters()) {
        if (cluster.accelerator.name != accelerator->name) continue;
        if (usual == nullptr) usual = &cluster;
        if (!kind || cluster.scale_up.kind == *kind) out.push_back(&cluster);
    }
    if (usual == nullptr) throw RowSkip(fmt::format("no profile for machines of {}", accelerator->name));
    if (out.empty()) {
        borrowed = joined_as_stated(row, *usual, *kind, to);
        return {&*borrowed};
    }
    keep_bridged(row, out, to);
    return out;
}

/// A node of the row is part of the cluster's domain, or, when it is larger, replaces it.
void set_domain(CollectiveMachineRow const& row, CollectiveMachine& out) {
    if (row.gpus_per_node <= out.cluster.domain_size) return;
    out.cluster.domain_size = row.gpus_per_node;
    out.assumptions.emplace_back("larger nodes than the profile's, joined the same way");
}

/// Whether the row's nodes are parts of a rack (or of a torus), which is the domain.
bool is_tray(CollectiveMachineRow const& row, ClusterSpec const& cluster) {
    return cluster.domain_size > 16 && row.gpus_per_node < cluster.domain_size;
}

/// The rate between nodes that a row states, by accelerator of a cluster.
class StatedRate {
public:
    explicit StatedRate(CollectiveMachineRow const& row) : row_(row), stated_(stated_network_rate(row.inter_link)) {}

    [[nodiscard]] bool is_stated() const { return stated_.gbps > 0; }
    /// A rate without a number of ports; a node has one of Ethernet, and of other kinds one for each accelerator.
    [[nodiscard]] bool is_of_port() const { return stated_.ports == 0 && stated_.of == RateOf::port; }
    [[nodiscard]] bool is_one_of_node(ClusterSpec const& cluster) const {
        return is_of_port() && cluster.scale_out->kind == "ethernet";
    }

    /// When all accelerators of a node take part.
    [[nodiscard]] BytesPerSecond share(ClusterSpec const& cluster) const {
        if (is_of_port() && !is_one_of_node(cluster)) return gigabits(stated_.gbps);
        BytesPerSecond const all = gigabits(std::max(1.0, stated_.ports) * stated_.gbps);
        return stated_.of == RateOf::accelerator ? all : all / accelerators_of_node(cluster);
    }
    /// What each rank of the row has. Some of a node's accelerators have the ports that are next to them: at least one
    /// each as far as there are ports, and as many as the node has for each accelerator.
    [[nodiscard]] BytesPerSecond reached(ClusterSpec const& cluster) const {
        double const ports = ports_of_node(cluster);
        double const all = accelerators_of_node(cluster);
        auto const ranks = static_cast<double>(row_.gpus_per_node);
        if (ports == 0 || ranks >= all)
            return is_port_of(cluster) ? cluster.scale_out->bandwidth.value : share(cluster);
        return std::min(ports, ranks * std::max(1.0, ports / all)) / ranks * gigabits(stated_.gbps);
    }
    /// Whether a cluster has this rate for each accelerator.
    [[nodiscard]] static bool is_near(BytesPerSecond rate, ClusterSpec const& cluster) {
        return std::abs(rate / cluster.scale_out->bandwidth.value - 1) < near;
    }
    /// Whether the usual nodes have a whole number of such ports, fewer than accelerators ("EDR" of four in a DGX-1).
    [[nodiscard]] bool is_port_of(ClusterSpec const& cluster) const {
        double const ports = usual_ports(cluster);
        return is_of_port() && !is_one_of_node(cluster) && ports > 1 - near &&
               share(cluster) > cluster.scale_out->bandwidth.value && std::abs(ports - std::round(ports)) < near;
    }

private:
    static constexpr double near = 0.01;

    static BytesPerSecond gigabits(double rate) { return rate / 8 * (units::GB / units::s); }
    [[nodiscard]] double usual_ports(ClusterSpec const& cluster) const {
        return cluster.scale_out->bandwidth.value * accelerators_of_node(cluster) / gigabits(stated_.gbps);
    }
    /// 0: the row does not say them, and the usual node does not either.
    [[nodiscard]] double ports_of_node(ClusterSpec const& cluster) const {
        if (stated_.of == RateOf::accelerator) return 0;
        if (stated_.ports > 0) return stated_.ports;
        if (is_one_of_node(cluster)) return 1;
        return is_port_of(cluster) ? std::round(usual_ports(cluster)) : 0;
    }
    /// Ports are those of the whole node, also when the run took only some of its accelerators.
    [[nodiscard]] double accelerators_of_node(ClusterSpec const& cluster) const {
        constexpr std::int64_t tray = 4;  // of a rack, or of a torus
        std::int64_t const usual = is_tray(row_, cluster) ? tray : cluster.domain_size;
        return static_cast<double>(std::max(row_.gpus_per_node, usual));
    }

    CollectiveMachineRow const& row_;
    StatedNetworkRate stated_;
};

/// What a rate between nodes that no profile has is taken for.
std::string assumption_of(StatedRate const& rate, ClusterSpec const& cluster) {
    if (rate.is_one_of_node(cluster))
        return "one port of the stated rate between nodes for each node, the rest of the network as in the profile";
    return rate.is_of_port() ? "a port of the stated rate between nodes for each accelerator, the rest of the network "
                               "as in the profile"
                             : "rate between nodes as stated, the rest of the network as in the profile";
}

/// The first that has the stated rate, for each rank of the row or when all of its nodes take part; null: none has.
ClusterSpec const* usual_with(StatedRate const& rate, std::vector<ClusterSpec const*> const& clusters) {
    auto const has_reached = [&](ClusterSpec const& c) { return StatedRate::is_near(rate.reached(c), c); };
    auto const has_share = [&](ClusterSpec const& c) { return StatedRate::is_near(rate.share(c), c); };
    auto const has_ports = [&](ClusterSpec const& c) { return rate.is_port_of(c); };
    for (ClusterSpec const* const cluster : clusters)
        if (has_reached(*cluster) && has_share(*cluster)) return cluster;
    for (ClusterSpec const* const cluster : clusters)
        if (has_reached(*cluster) && !has_ports(*cluster)) return cluster;
    for (ClusterSpec const* const cluster : clusters)
        if (has_share(*cluster)) return cluster;
    for (ClusterSpec const* const cluster : clusters)
        if (has_ports(*cluster)) return cluster;
    return nullptr;
}

/// The device's usual machine with a network of this kind, which no profile has with it, at the rate that the row
/// states.
ClusterSpec with_borrowed_network(ClusterSpec const& usual, std::string_view kind, CollectiveMachineRow const& row,
                                  CollectiveMachine& out) {
    ClusterSpec const* const other = cluster_with_network(kind, usual.accelerator);
    StatedRate const stated(row);
    if (other == nullptr || !stated.is_stated())
        throw RowSkip(fmt::format("no profile for {} with {} between nodes{}", usual.accelerator.name, kind,
                                  other == nullptr ? "" : " (state its rate in inter_link, as '8x400G RoCE')"));
    ClusterSpec cluster = with_network_of(usual, *other);
    cluster.name += fmt::format(" ({})", kind);
    BytesPerSecond const rate = stated.reached(cluster);
    cluster.scale_out->bandwidth = {.value = rate, .basis = Basis::datasheet, .source = "stated with the measurement"};
    out.rate = NetworkRate::of_row;
    out.is_borrowed = true;
    out.assumptions.push_back(
        fmt::format("{} at the stated rate, which no profile has with {}, with the constants of its class", kind,
                    usual.accelerator.name));
    return cluster;
}

/// One of those with this network, best with the stated rate.
ClusterSpec with_network(std::vector<ClusterSpec const*> const& candidates, std::string_view kind,
                         CollectiveMachineRow const& row, CollectiveMachine& out) {
    std::vector<ClusterSpec const*> of_kind;
    for (ClusterSpec const* const cluster : candidates)
        if (cluster->scale_out && cluster->scale_out->kind == kind) of_kind.push_back(cluster);
    if (of_kind.empty()) return with_borrowed_network(*candidates.front(), kind, row, out);
    StatedRate const rate(row);
    if (!rate.is_stated()) {
        out.assumptions.emplace_back("rate between nodes as usual for the device");
        return *of_kind.front();
    }
    ClusterSpec const* const usual = usual_with(rate, of_kind);
    ClusterSpec cluster = usual != nullptr ? *usual : *of_kind.front();
    BytesPerSecond const reached = rate.reached(cluster);
    if (usual == nullptr)
        out.assumptions.push_back(assumption_of(rate, cluster));
    else if (rate.is_one_of_node(cluster))
        out.assumptions.emplace_back("one port of the stated rate between nodes for each node");
    else if (rate.is_port_of(cluster))
        out.assumptions.emplace_back("as many ports of the stated rate between nodes as usual for the device");
    if (StatedRate::is_near(reached, cluster)) return cluster;
    if (usual != nullptr) out.assumptions.emplace_back("ranks on a part of a node have the ports next to them");
    cluster.scale_out->bandwidth = {
        .value = reached, .basis = Basis::datasheet, .source = "stated with the measurement"};
    out.rate = NetworkRate::of_row;
    return cluster;
}

/// The trays of a rack, of which the row says no network: what joins them is the rack.
bool are_trays_of_one_rack(CollectiveMachineRow const& row, std::string const& inter, ClusterSpec const& usual) {
    bool const says_no_network = inter.empty() || inter == "none";
    return says_no_network && is_tray(row, usual) && row.nodes * row.gpus_per_node <= usual.domain_size;
}

/// Reductions in the switches between nodes, which the row names: the network then carries each byte once each way.
void add_switch_reduction(ScaleOutNetwork& network, CollectiveMachine& out) {
    if (network.in_network_reduction_efficiency) return;
    constexpr double reached = 0.9;  // assumed: as rings reach of the same ports
    network.in_network_reduction_efficiency = {
        .value = reached, .basis = Basis::assumed, .source = "as rings reach of the same ports"};
    out.assumptions.emplace_back("reductions in the switches between nodes reach 0.9 of the ports");
}

/// Nodes that a network joins.
void place_on_network(CollectiveMachineRow const& row, std::string_view network, CollectiveMachine& out) {
    std::int64_t const ranks = row.nodes * row.gpus_per_node;
    set_domain(row, out);
    // The nodes of a rack are its trays: NVLink joins all of them, and the network what does not fit into one.
    std::int64_t const domain = out.cluster.domain_size;
    bool const in_trays = is_tray(row, out.cluster);
    bool const fills_racks = in_trays && ranks > domain && ranks % domain == 0;
    if (fills_racks)
        out.assumptions.emplace_back("ranks fill whole racks");
    else if (in_trays)
        out.assumptions.push_back(fmt::format("nodes of {} joined by {} alone{}, not by the rack that is usual for {}",
                                              row.gpus_per_node, out.cluster.scale_out->kind,
                                              network.empty()
                                                  ? fmt::format(" ({} ranks do not fill racks of {})", ranks, domain)
                                                  : ", as inter_link says",
                                              out.cluster.accelerator.name));
    out.group = place_group(ranks, 1, fills_racks ? domain : row.gpus_per_node);
}

}  // namespace

CollectiveMachine collective_machine(CollectiveMachineRow const& row, ClusterSpec const* profile) {
    CollectiveMachine out;
    std::int64_t const ranks = row.nodes * row.gpus_per_node;
    std::optional<ClusterSpec> borrowed;
    std::vector<ClusterSpec const*> const candidates =
        profile != nullptr ? std::vector<ClusterSpec const*>{profile} : clusters_of(row, borrowed, out);
    std::string const inter = lower_case(row.inter_link);
    std::string_view network = network_named(inter);
    bool const says_rack = row.nodes > 1 && names_rack(inter, network);
    bool const in_trays = row.nodes > 1 && are_trays_of_one_rack(row, inter, *candidates.front());
    out.cluster = *candidates.front();
    if (row.nodes == 1 || says_rack || in_trays) {
        if (says_rack && ranks > out.cluster.domain_size)
            throw RowSkip(
                fmt::format("{}: {} ranks are more than one domain that NVLink joins", out.cluster.name, ranks));
        if (in_trays) out.assumptions.emplace_back("nodes are trays of one rack, whose links join them");
        if (row.nodes == 1) set_domain(row, out);
        out.group = place_group(ranks, 1, out.cluster, ranks);
    } else {
        if (profile == nullptr) {
            if (network.empty() && names_rdma_adapters(inter)) network = network_of_adapters(*candidates.front(), out);
            if (network.empty() && inter.empty())
                throw RowSkip(
                    "network between nodes is not stated (column inter_link: its kind, or NVLink in a rack; or "
                    "--profile CLUSTER for all)");
            if (network.empty())
                throw RowSkip(fmt::format("network between nodes is not known: '{}'", row.inter_link.substr(0, 60)));
            out.cluster = with_network(candidates, network, row, out);
        } else if (!out.cluster.scale_out) {
            throw RowSkip(fmt::format("{} has no network between nodes", out.cluster.name));
        }
        place_on_network(row, network, out);
    }
    if (out.group.domains > 1 && names_switch_reduction(inter)) add_switch_reduction(*out.cluster.scale_out, out);
    if (says_without_nvls(lower_case(row.intra_link + " " + row.inter_link))) {
        out.without_reduction = out.cluster.scale_up.in_network_reduction_efficiency.has_value();
        out.cluster.scale_up.in_network_reduction_efficiency.reset();
        out.assumptions.emplace_back("no reduction in the switch, as stated");
    }
    return out;
}

}  // namespace sextant
