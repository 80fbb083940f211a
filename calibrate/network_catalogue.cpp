#include "calibrate/network_catalogue.hpp"

#include "core/error.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace sextant {
namespace {

NetworkEntry of_class(std::string name, std::string title, NetworkPart part, std::string kind, std::string generation,
                      std::string parent) {
    return {.name = std::move(name),
            .title = std::move(title),
            .part = part,
            .scope = {.clusters = {}, .kind = std::move(kind), .generation = std::move(generation)},
            .parent = std::move(parent)};
}

NetworkEntry of_clusters(std::string name, std::string title, NetworkPart part, std::vector<std::string> clusters,
                         std::string parent) {
    return {.name = std::move(name),
            .title = std::move(title),
            .part = part,
            .scope = {.clusters = std::move(clusters), .kind = {}},
            .parent = std::move(parent)};
}

/// All rows in a node are of NVIDIA's links and NCCL: what others reach is theirs.
NetworkEntry of_nvidia(NetworkEntry entry) {
    entry.scope.vendor = "NVIDIA";
    return entry;
}

/// For what has no class of its own; fitted to switches, of which there are most rows.
NetworkEntry any_scale_up() {
    NetworkEntry entry = of_class("class-scale-up", "Any node, as NVSwitch nodes of all generations",
                                  NetworkPart::scale_up, "*", "*", "");
    entry.rows_of = "switched";
    return of_nvidia(std::move(entry));
}

/// Two cards with peer access reach twice as much as through the memory of a host, and hosts differ by far more: of
/// those the file of the machine knows best.
NetworkEntry pcie() {
    NetworkEntry entry = of_class("class-pcie", "PCIe nodes", NetworkPart::scale_up, "pcie", "*", "class-scale-up");
    entry.scope.with_peer_access = true;
    return of_nvidia(std::move(entry));
}

std::vector<NetworkEntry> scale_up_entries() {
    constexpr auto up = NetworkPart::scale_up;
    return {
        any_scale_up(),
        of_class("class-nvswitch-ampere", "NVSwitch nodes, Ampere", up, "switched", "ampere", "class-scale-up"),
        of_class("class-nvswitch-hopper", "NVSwitch nodes, Hopper", up, "switched", "hopper", "class-scale-up"),
        of_class("class-nvswitch-blackwell", "NVSwitch nodes, Blackwell", up, "switched", "blackwell",
                 "class-scale-up"),
        of_nvidia(of_class("class-mesh", "Direct links between all pairs", up, "mesh", "*", "class-scale-up")),
        pcie(),
        of_clusters("a100-nvswitch", "8 x A100 SXM on NVSwitch", up,
                    {"a100-sxm-80gb", "a100-sxm-40gb", "a100-roce", "a100-40gb-roce", "a100-roce-400", "aws-p4d",
                     "aws-p4de", "gcp-a2-ultra"},
                    "class-nvswitch-ampere"),
        of_clusters("h100-nvswitch", "8 x H100 SXM on NVSwitch", up,
                    {"h100-sxm", "h100-roce", "h100-96gb-roce", "aws-p5", "gcp-a3-mega", "gcp-a3-high"},
                    "class-nvswitch-hopper"),
        of_clusters("h200-nvswitch", "8 x H200 SXM on NVSwitch", up, {"h200-sxm", "h200-roce", "aws-p5en", "abci3"},
                    "class-nvswitch-hopper"),
        of_clusters("b200-nvswitch", "8 x B200 SXM on NVSwitch", up, {"b200-sxm", "b200-roce", "aws-p6-b200"},
                    "class-nvswitch-blackwell"),
        of_clusters("gb-nvl72", "GB200 and GB300 NVL72 racks", up,
                    {"gb200-nvl72", "gb300-nvl72", "gb200-roce", "gb300-roce", "aws-p6e-gb200", "aws-p6e-gb300"},
                    "class-nvswitch-blackwell"),
        of_clusters("gh200-nvlink", "4 x GH200 with direct NVLink", up, {"gh200", "jupiter"}, "class-mesh"),
        of_clusters("l40s-pcie", "L40S on PCIe 4.0, over two sockets", up, {"l40s-pcie"}, "class-pcie"),
        of_clusters("rtx-pro-6000-pcie", "RTX PRO 6000 on PCIe 5.0", up,
                    {"rtx-pro-6000-pcie", "rtx-pro-6000d-pcie", "aws-g7e"}, "class-pcie"),
    };
}

/// EFA from its second version on.
NetworkEntry later_efa() {
    NetworkEntry entry =
        of_class("class-efa", "AWS EFA v2 and later", NetworkPart::scale_out, "efa", "*", "class-network");
    entry.rows_generation = "hopper";
    return entry;
}

/// V100 nodes have the first EFA, as A100 nodes; their own rows say more of a NIC that eight devices share.
NetworkEntry first_efa() {
    NetworkEntry entry =
        of_class("class-efa-volta", "AWS EFA of V100 nodes: the first EFA, fitted to that of A100 nodes",
                 NetworkPart::scale_out, "efa", "volta", "class-network");
    entry.rows_generation = "ampere";
    return entry;
}

std::vector<NetworkEntry> scale_out_entries() {
    constexpr auto out = NetworkPart::scale_out;
    return {
        of_class("class-network", "Any network between nodes", out, "*", "*", ""),
        of_class("class-infiniband", "InfiniBand", out, "infiniband", "*", "class-network"),
        of_class("class-roce", "RoCE", out, "roce", "*", "class-network"),
        of_class("class-efa-ampere", "AWS EFA of A100 nodes", out, "efa", "ampere", "class-network"),
        first_efa(),
        later_efa(),
        of_class("class-slingshot", "Slingshot", out, "slingshot", "*", "class-network"),
        of_class("class-ethernet", "Ethernet and GPUDirect-TCPX(O)", out, "ethernet", "*", "class-network"),
        of_clusters("a100-infiniband", "A100 SXM nodes on 8 x 200G HDR", out, {"a100-sxm-80gb", "a100-sxm-40gb"},
                    "class-infiniband"),
        of_clusters("a100-roce", "A100 SXM nodes on 8 x 200G RoCE", out, {"a100-roce", "a100-40gb-roce"}, "class-roce"),
        of_clusters("aws-p4-efa", "A100 SXM nodes on 4 x 100G EFA", out, {"aws-p4d", "aws-p4de"}, "class-efa-ampere"),
        of_clusters("h100-infiniband", "H100 SXM nodes on 8 x 400G NDR", out, {"h100-sxm"}, "class-infiniband"),
        of_clusters("aws-p5-efa", "H100 SXM nodes on 32 x 100G EFA v2", out, {"aws-p5"}, "class-efa"),
        of_clusters("gcp-a3-mega-tcpxo", "H100 SXM nodes on 8 x 200G GPUDirect-TCPXO", out, {"gcp-a3-mega"},
                    "class-ethernet"),
        of_clusters("gcp-a3-high-tcpx", "H100 SXM nodes on 4 x 200G GPUDirect-TCPX", out, {"gcp-a3-high"},
                    "class-ethernet"),
        of_clusters("h200-roce", "H200 SXM nodes on 8 x 400G RoCE", out, {"h200-roce"}, "class-roce"),
        of_clusters("b200-infiniband", "B200 SXM nodes on 8 x 400G NDR", out, {"b200-sxm"}, "class-infiniband"),
        of_clusters("gh200-slingshot", "GH200 nodes on 4 x 200G Slingshot-11", out, {"gh200"}, "class-slingshot"),
        of_clusters("mi300-roce", "MI300X to MI355X nodes on 8 x 400G RoCE", out,
                    {"mi300x", "mi325x", "mi350x", "mi355x"}, "class-roce"),
        of_clusters("mi250x-slingshot", "MI250X nodes on 4 x 200G Slingshot-11", out, {"mi250x"}, "class-slingshot"),
        of_clusters("dgx-1-infiniband", "DGX-1 V100 nodes on 4 x 100G EDR", out, {"dgx-1-v100"}, "class-infiniband"),
    };
}

/// What the rows of one platform in a class count at most. Between domains a platform is one fabric of its own, whose
/// rows miss together: there they say less of others than as many rows would that were independent.
constexpr double most_rows_inside = 20;
constexpr double most_rows_between = 6;

NetworkEntry const* entry_named(std::string const& name) {
    for (NetworkEntry const& entry : network_entries())
        if (entry.name == name) return &entry;
    return nullptr;
}

/// Scale-out networks that say nothing of others of their kind. Volta nodes share a NIC between two devices over PCIe;
/// AMD's RCCL takes rings where NCCL takes trees (two nodes of MI300X or MI355X: 0.9 to 0.97 of what a ring may reach);
/// the first GPUDirect-TCPX takes a millisecond where TCPXO takes 0.1.
bool is_like_no_other(ClusterSpec const& cluster) {
    std::string const& generation = cluster.accelerator.generation;
    return generation == "volta" || generation.starts_with("cdna") || cluster.name == "gcp-a3-high";
}

/// These and all above them.
std::set<std::string> with_parents(std::vector<std::string> const& names) {
    std::set<std::string> out;
    for (std::string const& name : names)
        for (NetworkEntry const* entry = entry_named(name); entry != nullptr; entry = entry_named(entry->parent))
            out.insert(entry->name);
    return out;
}

/// How far a child may leave its parent: less than the parent its tuner.
NetworkPriorSpreads spreads_of(NetworkEntry const& entry) {
    if (!entry.scope.is_class()) return {.latency = 0.4, .rate = 0.2, .hop = 0.25, .latency_scale = 0.6};
    NetworkPriorSpreads out;
    if (!entry.parent.empty()) out = {.latency = 0.5, .rate = 0.25, .hop = 0.3, .latency_scale = 0.7};
    // Smallest all-reduce: 10 to 22 us of four generations in a node, 19 to 160 us of six networks between two nodes.
    // Largest rates: 0.8 to 0.98 of the NICs (docs/collectives.md).
    out.cluster_latency = entry.part == NetworkPart::scale_up ? 0.3 : 0.6;
    out.cluster_rate = 0.1;
    return out;
}

/// By a calibration, else the tuner's; with the efficiencies that hold of the cluster.
ScaleUpConstants scale_up_of(ClusterSpec cluster, std::vector<NetworkCalibration> known) {
    sort_for_choice(known);
    apply_network_calibrations(cluster, known);
    if (!cluster.network_model) return tuner_scale_up();
    ScaleUpConstants up = cluster.network_model->up;
    up.ring = cluster.scale_up.ring_efficiency.value;
    up.exchange = cluster.scale_up.all_to_all_efficiency.value;
    return up;
}

}  // namespace

std::vector<NetworkEntry> const& network_entries() {
    static auto const entries = [] {
        auto all = scale_up_entries();
        auto const out = scale_out_entries();
        all.insert(all.end(), out.begin(), out.end());
        return all;
    }();
    return entries;
}

std::string const& kind_of_entry(std::string const& name) {
    NetworkEntry const* const entry = entry_named(name);
    if (entry == nullptr) throw InputError("no calibration of a network is named '{}'", name);
    return entry->scope.is_class() ? entry->scope.kind : kind_of_entry(entry->parent);
}

bool NetworkEntry::takes(CollectiveMeasurement const& row) const {
    if (row.between_domains() != (part == NetworkPart::scale_out)) return false;
    ClusterSpec const& cluster = row.machine->cluster;
    if (!scope.is_class()) {
        bool const named =
            std::find(scope.clusters.begin(), scope.clusters.end(), cluster.name) != scope.clusters.end();
        return named && (part == NetworkPart::scale_up || row.machine->rate == NetworkRate::of_profile);
    }
    std::string_view const kind =
        part == NetworkPart::scale_up ? name_of(cluster.scale_up.kind) : std::string_view(cluster.scale_out->kind);
    std::string const& wanted = rows_of.empty() ? scope.kind : rows_of;
    std::string const& generation = rows_generation.empty() ? scope.generation : rows_generation;
    if (part == NetworkPart::scale_out && is_like_no_other(cluster)) return false;
    return (wanted == "*" || wanted == kind) && (generation == "*" || generation == cluster.accelerator.generation);
}

void sort_for_choice(std::vector<NetworkCalibration>& calibrations) {
    auto const width = [](NetworkCalibration const& c) {
        NetworkScope const& scope = c.scale_up ? c.scale_up->scope : c.scale_out->scope;
        if (!scope.is_class()) return 0;
        return 1 + (scope.generation == "*" ? 1 : 0) + (scope.kind == "*" ? 2 : 0);
    };
    std::stable_sort(calibrations.begin(), calibrations.end(),
                     [&](auto const& a, auto const& b) { return width(a) < width(b); });
}

std::vector<NetworkCalibration> fit_entries(std::vector<std::string> const& names, MeasurementList const& rows,
                                            LeftOut const& left_out, std::vector<NetworkCalibration> const& known,
                                            FitOptions const& options, std::string const& command) {
    std::set<std::string> const wanted = with_parents(names);
    std::vector<NetworkCalibration> out;
    auto const done = [&](std::string const& name) -> NetworkCalibration const* {
        for (NetworkCalibration const& c : out)
            if (c.name == name) return &c;
        return nullptr;
    };
    for (NetworkEntry const& entry : network_entries()) {
        if (!wanted.contains(entry.name)) continue;
        NetworkCalibration const* above = nullptr;
        for (auto const* e = entry_named(entry.parent); e != nullptr && above == nullptr; e = entry_named(e->parent))
            above = done(e->name);
        bool const has_rows = std::any_of(rows.begin(), rows.end(), [&](CollectiveMeasurement const* row) {
            return entry.takes(*row) && !left_out(*row);
        });
        if (!has_rows) continue;
        std::vector<NetworkCalibration> ups = out;
        ups.insert(ups.end(), known.begin(), known.end());
        out.push_back(fit_one_entry(entry, rows, left_out, above, ups, options, command));
    }
    return out;
}

NetworkCalibration fit_one_entry(NetworkEntry const& entry, MeasurementList const& rows, LeftOut const& left_out,
                                 NetworkCalibration const* above, std::vector<NetworkCalibration> const& known,
                                 FitOptions const& options, std::string const& command) {
    NetworkFitChoices choices{.name = entry.name,
                              .title = entry.title,
                              .command = command,
                              .scope = entry.scope,
                              .spreads = spreads_of(entry),
                              .options = options};
    if (above != nullptr && above->scale_up) choices.up_start = above->scale_up->constants;
    if (above != nullptr && above->scale_out) choices.out_start = above->scale_out->constants;
    std::map<std::string, ScaleUpConstants> ups;
    choices.up_of = [&](CollectiveMeasurement const& row) {
        auto const [found, is_new] = ups.try_emplace(row.machine->cluster.name);
        if (is_new) found->second = scale_up_of(row.machine->cluster, known);
        return found->second;
    };
    std::vector<CollectiveMeasurement> balanced;  // copies, with weights of this entry
    std::map<std::string, double> rows_of;
    for (CollectiveMeasurement const* row : rows)
        if (entry.takes(*row) && !left_out(*row)) {
            balanced.push_back(*row);
            ++rows_of[row->machine->cluster.name];
        }
    double const most_rows = entry.part == NetworkPart::scale_up ? most_rows_inside : most_rows_between;
    MeasurementList taken;
    for (CollectiveMeasurement& row : balanced) {
        // In a class no platform counts for more because more of its sizes were measured.
        if (entry.scope.is_class()) {
            row.weight *= std::min(1.0, most_rows / rows_of[row.machine->cluster.name]);
            if (row.role == RowRole::robustness) row.weight *= 0.05;
        }
        taken.push_back(&row);
    }
    return fit_network(taken, choices);
}

}  // namespace sextant
