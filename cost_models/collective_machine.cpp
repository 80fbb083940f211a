#include "core/spec/hardware_catalog.hpp"
#include "core/text.hpp"
#include "cost_models/collective_row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
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

/// True when `word` stands in `text` with no letter before or after it ("Slingshot-11", "100GbE").
bool has_word(std::string const& text, std::string_view word) {
    auto const is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
    for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
        std::size_t const end = at + word.size();
        bool const begins = at == 0 || !is_letter(text[at - 1]);
        if (begins && (end == text.size() || !is_letter(text[end]))) return true;
    }
    return false;
}

/// Gbit/s of all ports of a node from a text that begins like "8x400G"; 0 when it does not.
double stated_node_gbps(std::string const& text) {
    std::int64_t ports = 0;
    double rate = 0;
    char const* const end = text.data() + text.size();
    auto const [times, error] = std::from_chars(text.data(), end, ports);
    if (error != std::errc{} || times == end || *times != 'x') return 0;
    auto const [unit, rate_error] = std::from_chars(times + 1, end, rate);
    if (rate_error != std::errc{} || unit == end || *unit != 'g' || ports <= 0 || !(rate > 0 && rate < 1e5)) return 0;
    return static_cast<double>(ports) * rate;
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

/// One of those with this network, best with the stated rate.
ClusterSpec with_network(std::vector<ClusterSpec const*> const& candidates, std::string_view kind, double node_gbps,
                         CollectiveMachineRow const& row, CollectiveMachine& out) {
    ClusterSpec const* first = nullptr;
    BytesPerSecond stated;
    for (ClusterSpec const* const cluster : candidates) {
        if (!cluster->scale_out || cluster->scale_out->kind != kind) continue;
        // Ports are those of the whole node, also when the run took only some of its accelerators.
        auto const per_node = static_cast<double>(
            is_tray(row, *cluster) ? row.gpus_per_node : std::max(row.gpus_per_node, cluster->domain_size));
        BytesPerSecond const rate = node_gbps / per_node / 8 * (units::GB / units::s);
        if (first == nullptr) {
            first = cluster;
            stated = rate;
        }
        if (node_gbps > 0 && std::abs(rate / cluster->scale_out->bandwidth.value - 1) < 0.01) return *cluster;
    }
    if (first == nullptr)
        throw RowSkip(
            fmt::format("no profile for {} with {} between nodes", candidates.front()->accelerator.name, kind));
    ClusterSpec cluster = *first;
    if (node_gbps > 0) {
        cluster.scale_out->bandwidth = {
            .value = stated, .basis = Basis::datasheet, .source = "stated with the measurement"};
        out.assumptions.emplace_back("rate between nodes as stated, the rest of the network as in the profile");
        out.rate = NetworkRate::of_row;
    } else {
        out.assumptions.emplace_back("rate between nodes as usual for the device");
    }
    return cluster;
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
    bool const in_rack = row.nodes > 1 && inter.starts_with("nvlink");
    out.cluster = *candidates.front();
    if (row.nodes == 1 || in_rack) {
        if (in_rack && ranks > out.cluster.domain_size)
            throw RowSkip(
                fmt::format("{}: {} ranks are more than one domain that NVLink joins", out.cluster.name, ranks));
        if (!in_rack) set_domain(row, out);
        out.group = place_group(ranks, 1, out.cluster);
    } else {
        if (profile == nullptr) {
            std::string_view kind;
            for (OutWord const& word : out_words)
                if (kind.empty() && has_word(inter, word.word)) kind = word.kind;
            if (kind.empty() && inter.empty())
                throw RowSkip("network between nodes is not stated (column inter_link, or --profile CLUSTER for all)");
            if (kind.empty())
                throw RowSkip(fmt::format("network between nodes is not known: '{}'", row.inter_link.substr(0, 60)));
            out.cluster = with_network(candidates, kind, stated_node_gbps(inter), row, out);
        } else if (!out.cluster.scale_out) {
            throw RowSkip(fmt::format("{} has no network between nodes", out.cluster.name));
        }
        set_domain(row, out);
        // The nodes of a rack are its trays: NVLink joins all of them, and the network what does not fit into one.
        std::int64_t const domain = out.cluster.domain_size;
        bool const in_trays = is_tray(row, out.cluster);
        bool const fills_racks = in_trays && ranks > domain && ranks % domain == 0;
        if (fills_racks)
            out.assumptions.emplace_back("ranks fill whole racks");
        else if (in_trays)
            out.assumptions.push_back(
                fmt::format("nodes of {} joined by {} alone, as inter_link says, not by the rack that is usual for {}",
                            row.gpus_per_node, out.cluster.scale_out->kind, out.cluster.accelerator.name));
        out.group = place_group(ranks, 1, fills_racks ? domain : row.gpus_per_node);
    }
    if (has_word(lower_case(row.intra_link + " " + row.inter_link), "nvls off")) {
        out.without_reduction = out.cluster.scale_up.in_network_reduction_efficiency.has_value();
        out.cluster.scale_up.in_network_reduction_efficiency.reset();
        out.assumptions.emplace_back("no reduction in the switch, as stated");
    }
    return out;
}

}  // namespace sextant
