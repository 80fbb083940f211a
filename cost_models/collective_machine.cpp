#include "core/measurements/network_rate.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/text.hpp"
#include "core/words.hpp"
#include "cost_models/collective_row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace sextant {
namespace {

struct UpWord {
    std::string_view word;  ///< in the intra_link cell, lower case
    ScaleUpKind kind;
};

/// The first word that is found decides; a cell with none of them says nothing of the kind.
constexpr std::array up_words{UpWord{"nvswitch", ScaleUpKind::switched},
                              UpWord{"nvl72", ScaleUpKind::switched},
                              UpWord{"mesh", ScaleUpKind::mesh},
                              UpWord{"all-to-all", ScaleUpKind::mesh},
                              UpWord{"infinity fabric", ScaleUpKind::mesh},
                              UpWord{"xgmi", ScaleUpKind::mesh},
                              UpWord{"pcie", ScaleUpKind::pcie},
                              UpWord{"torus", ScaleUpKind::torus}};

struct OutWord {
    std::string_view word;  ///< in the inter_link cell, lower case, as a whole word
    std::string_view kind;  ///< of `ScaleOutNetwork`
};

constexpr std::array out_words{
    OutWord{"ib", "infiniband"},
    OutWord{"infiniband", "infiniband"},
    OutWord{"roce", "roce"},
    OutWord{"efa", "efa"},
    OutWord{"slingshot", "slingshot"},
    OutWord{"gpudirect-tcpxo", "ethernet"},
    OutWord{"gpudirect-tcpx", "ethernet"},
    OutWord{"ethernet", "ethernet"},
    OutWord{"tcp", "ethernet"},
    OutWord{"omni-path", "omni-path"},
    OutWord{"omnipath", "omni-path"},
    OutWord{"gbe", "ethernet"},
    OutWord{"edr", "infiniband"},
    OutWord{"hdr", "infiniband"},
    OutWord{"ndr", "infiniband"},
    OutWord{"xdr", "infiniband"},
    OutWord{"dcn", "dcn"},
};

/// What the inter_link cell says of the nodes of a rack, lower case.
constexpr std::array rack_words{"nvlink", "nvswitch", "mnnvl", "nvl72"};

/// The network of `out_words` that the cell names; empty: none.
std::string_view network_in(std::string const& inter) {
    for (OutWord const& word : out_words)
        if (has_word(inter, word.word)) return word.kind;
    return {};
}

/// Whether the cell says that the links of a rack join the nodes: NVLink goes before a network that is named with it.
bool names_rack(std::string const& inter, std::string_view network) {
    if (inter.starts_with(rack_words.front())) return true;
    return network.empty() && std::any_of(rack_words.begin(), rack_words.end(),
                                          [&](std::string_view word) { return inter.find(word) != std::string::npos; });
}

std::vector<ClusterSpec const*> clusters_of(CollectiveMachineRow const& row) {
    AcceleratorProfile const* const accelerator = known_accelerator(row.gpu);
    if (accelerator == nullptr) throw RowSkip(fmt::format("no profile for device '{}'", row.gpu.substr(0, 60)));
    std::optional<ScaleUpKind> const kind = stated_scale_up(row.intra_link);
    std::vector<ClusterSpec const*> out;
    for (ClusterSpec const& cluster : all_clusters())
        if (cluster.accelerator.name == accelerator->name && (!kind || cluster.scale_up.kind == *kind))
            out.push_back(&cluster);
    if (out.empty())
        throw RowSkip(fmt::format("no profile for {} joined by '{}'", accelerator->name, row.intra_link.substr(0, 60)));
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
    /// A rate without a number of ports; taken as of one for each accelerator.
    [[nodiscard]] bool is_of_port() const { return stated_.ports == 0 && stated_.of == RateOf::port; }

    [[nodiscard]] BytesPerSecond of(ClusterSpec const& cluster) const {
        if (is_of_port()) return gigabits(stated_.gbps);
        BytesPerSecond const all = gigabits(std::max(1.0, stated_.ports) * stated_.gbps);
        return stated_.of == RateOf::accelerator ? all : all / accelerators_of_node(cluster);
    }
    [[nodiscard]] bool is_that_of(ClusterSpec const& cluster) const {
        return std::abs(of(cluster) / cluster.scale_out->bandwidth.value - 1) < near;
    }
    /// Whether the usual nodes have a whole number of such ports, fewer than accelerators ("EDR" of four in a DGX-1).
    [[nodiscard]] bool is_port_of(ClusterSpec const& cluster) const {
        double const ports =
            cluster.scale_out->bandwidth.value * accelerators_of_node(cluster) / gigabits(stated_.gbps);
        return is_of_port() && ports > 1 - near && of(cluster) > cluster.scale_out->bandwidth.value &&
               std::abs(ports - std::round(ports)) < near;
    }

private:
    static constexpr double near = 0.01;

    static BytesPerSecond gigabits(double rate) { return rate / 8 * (units::GB / units::s); }
    /// Ports are those of the whole node, also when the run took only some of its accelerators.
    [[nodiscard]] double accelerators_of_node(ClusterSpec const& cluster) const {
        return static_cast<double>(is_tray(row_, cluster) ? row_.gpus_per_node
                                                          : std::max(row_.gpus_per_node, cluster.domain_size));
    }

    CollectiveMachineRow const& row_;
    StatedNetworkRate stated_;
};

/// One of those with this network, best with the stated rate.
ClusterSpec with_network(std::vector<ClusterSpec const*> const& candidates, std::string_view kind,
                         CollectiveMachineRow const& row, CollectiveMachine& out) {
    std::vector<ClusterSpec const*> of_kind;
    for (ClusterSpec const* const cluster : candidates)
        if (cluster->scale_out && cluster->scale_out->kind == kind) of_kind.push_back(cluster);
    if (of_kind.empty())
        throw RowSkip(
            fmt::format("no profile for {} with {} between nodes", candidates.front()->accelerator.name, kind));
    StatedRate const rate(row);
    if (!rate.is_stated()) {
        out.assumptions.emplace_back("rate between nodes as usual for the device");
        return *of_kind.front();
    }
    for (ClusterSpec const* const cluster : of_kind)
        if (rate.is_that_of(*cluster)) return *cluster;
    for (ClusterSpec const* const cluster : of_kind)
        if (rate.is_port_of(*cluster)) {
            out.assumptions.emplace_back("as many ports of the stated rate between nodes as usual for the device");
            return *cluster;
        }
    ClusterSpec cluster = *of_kind.front();
    cluster.scale_out->bandwidth = {
        .value = rate.of(cluster), .basis = Basis::datasheet, .source = "stated with the measurement"};
    out.assumptions.emplace_back(
        rate.is_of_port() ? "a port of the stated rate between nodes for each accelerator, the rest of the network as "
                            "in the profile"
                          : "rate between nodes as stated, the rest of the network as in the profile");
    out.rate = NetworkRate::of_row;
    return cluster;
}

/// The trays of a rack, of which the row says no network: what joins them is the rack.
bool are_trays_of_one_rack(CollectiveMachineRow const& row, std::string const& inter,
                           std::vector<ClusterSpec const*> const& candidates) {
    bool const says_no_network = inter.empty() || inter == "none";
    return says_no_network && std::all_of(candidates.begin(), candidates.end(), [&](ClusterSpec const* cluster) {
               return is_tray(row, *cluster) && row.nodes * row.gpus_per_node <= cluster->domain_size;
           });
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

std::optional<ScaleUpKind> stated_scale_up(std::string const& intra_link) {
    std::string const intra = lower_case(intra_link);
    for (UpWord const& word : up_words)
        if (intra.find(word.word) != std::string::npos) return word.kind;
    return std::nullopt;
}

CollectiveMachine collective_machine(CollectiveMachineRow const& row, ClusterSpec const* profile) {
    CollectiveMachine out;
    std::int64_t const ranks = row.nodes * row.gpus_per_node;
    std::vector<ClusterSpec const*> const candidates =
        profile != nullptr ? std::vector<ClusterSpec const*>{profile} : clusters_of(row);
    std::string const inter = lower_case(row.inter_link);
    std::string_view const network = network_in(inter);
    bool const says_rack = row.nodes > 1 && names_rack(inter, network);
    bool const in_trays = row.nodes > 1 && are_trays_of_one_rack(row, inter, candidates);
    out.cluster = *candidates.front();
    if (row.nodes == 1 || says_rack || in_trays) {
        if (says_rack && ranks > out.cluster.domain_size)
            throw RowSkip(
                fmt::format("{}: {} ranks are more than one domain that NVLink joins", out.cluster.name, ranks));
        if (in_trays) out.assumptions.emplace_back("nodes are trays of one rack, whose links join them");
        if (row.nodes == 1) set_domain(row, out);
        out.group = place_group(ranks, 1, out.cluster);
    } else {
        if (profile == nullptr) {
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
    if (has_word(lower_case(row.intra_link + " " + row.inter_link), "nvls off")) {
        out.without_reduction = out.cluster.scale_up.in_network_reduction_efficiency.has_value();
        out.cluster.scale_up.in_network_reduction_efficiency.reset();
        out.assumptions.emplace_back("no reduction in the switch, as stated");
    }
    return out;
}

}  // namespace sextant
