#include "planner/validation/stated_links.hpp"

#include "core/is_one_of.hpp"
#include "core/spec/device_name.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/text.hpp"
#include "core/words.hpp"
#include "cost_models/borrowed_network.hpp"
#include "cost_models/link_words.hpp"
#include "planner/validation/row_spelling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace sextant {
namespace {

/// What a cell says of the network of the accelerators, in parts: "Storage: 2x NDR, Compute: 8x NDR 400Gb/s".
std::vector<std::string> parts_of(std::string_view cell) {
    std::string text(cell);
    auto const replace = [&](std::string_view part, std::string_view by) {
        for (auto at = text.find(part); at != std::string::npos; at = text.find(part))
            text.replace(at, part.size(), by);
    };
    replace(" and ", ";");
    replace(" + ", ";");
    constexpr std::array others{std::string_view("storage"), std::string_view("management"),
                                std::string_view("mgmt"),    std::string_view("pcie"),
                                std::string_view("front"),   std::string_view("north-south"),
                                std::string_view(" for ns"), std::string_view("in-band")};
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin < text.size();) {
        std::size_t const end = std::min(text.find_first_of(",;()|", begin), text.size());
        std::string part = text.substr(begin, end - begin);
        std::string const words = lower_case(part);
        if (!has_any(words, others) || has(words, "compute")) parts.push_back(std::move(part));
        begin = end + 1;
    }
    return parts;
}

/// With the kind of network that the row names.
void set_kind(LinkedCluster& out, std::string_view kind) {
    if (kind.empty() || out.cluster.scale_out->kind == kind) return;
    for (ClusterSpec const& cluster : all_clusters())
        if (cluster.accelerator.name == out.cluster.accelerator.name && cluster.scale_out &&
            cluster.scale_out->kind == kind) {
            out.cluster = cluster;
            return;
        }
    if (ClusterSpec const* const other = cluster_with_network(kind, out.cluster.accelerator)) {
        out.assumptions.push_back(fmt::format("{} between nodes as in {}: no profile has it with {}", kind, other->name,
                                              out.cluster.accelerator.name));
        out.cluster = with_network_of(std::move(out.cluster), *other);
    }
}

/// Accelerators of what a table calls a node.
double node_of(TrainingRow const& row, ClusterSpec const& cluster) {
    constexpr std::int64_t tray = 4;  // of a rack, or of a torus
    std::int64_t const usual = cluster.domain_size > 16 ? tray : cluster.domain_size;
    std::int64_t const stated = row.gpus_per_node.value_or(0);
    return static_cast<double>(stated > 0 ? stated : usual);
}

/// Gbit/s for each accelerator. Where ports are not counted a node has one of Ethernet, and of any other kind each
/// accelerator has one, unless the usual machine makes do with a part of one (four HDR ports for eight accelerators).
double rate_of_accelerator(StatedNetwork const& stated, TrainingRow const& row, LinkedCluster& out) {
    double const node = node_of(row, out.cluster);
    double const all = stated.gbps * std::max(1.0, stated.ports);
    if (stated.of == RateOf::accelerator) return all;
    if (stated.of == RateOf::node || stated.ports > 0) return all / node;
    double const usual = out.cluster.scale_out->bandwidth.value.in(units::GB / units::s) * 8;
    if (out.cluster.scale_out->kind == "ethernet") {
        double const share = stated.gbps / node;
        out.network_is_stated = std::abs(share / usual - 1) < 0.01;
        out.assumptions.emplace_back("one port of the stated rate a node");
        return share;
    }
    if (stated.gbps >= usual) return usual;
    out.assumptions.emplace_back("one port of the stated rate for each accelerator");
    out.network_is_stated = false;
    return stated.gbps;
}

/// Professional boards of one die and one PCIe. Several L40S reach each other over PCIe switches in published runs:
/// TensorRT-LLM's own tables sum at 18 to 26 GB/s on eight, and MLPerf's steps of LoRA take half of what the
/// tensor-parallel sums alone take at the 5 GB/s that four reach through the host's memory.
ClusterSpec with_peer_access(ClusterSpec usual) {
    constexpr std::array boards{"l40s-pcie", "l40-pcie", "l20-pcie", "rtx-6000-ada-pcie", "rtx-5000-ada-pcie"};
    if (is_one_of(boards, usual.name)) usual.scale_up = find_cluster("l40s-p2p", "cluster").scale_up;
    return usual;
}

/// The variant of the device that the stated PCIe joins, or the usual machine where that says nothing else.
ClusterSpec joined_as_stated(TrainingRow const& row, ClusterSpec usual) {
    std::string const link = lower_case(row.intra_node_link);
    constexpr std::array faster{std::string_view("nvlink"), std::string_view("nvswitch"), std::string_view("xgmi"),
                                std::string_view("fabric")};
    bool const by_pcie = stated_scale_up(link) == ScaleUpKind::pcie && !has_any(link, faster);
    if (!by_pcie || usual.scale_up.kind == ScaleUpKind::pcie) return usual;
    if (device_name(row.gpu).form.empty())
        if (auto variant = cluster_for_device(row.gpu + " PCIe");
            variant && variant->scale_up.kind == ScaleUpKind::pcie)
            return *std::move(variant);
    throw RowSkip(fmt::format("no profile for {} joined by '{}' (intra_node_link)", usual.accelerator.name,
                              row.intra_node_link.substr(0, 60)));
}

/// MLPerf's submissions name the network of the hosts here, often that of management alone: what counts no ports is not
/// taken for that of the accelerators, unless it names a kind that carries them.
StatedNetwork network_of(TrainingRow const& row) {
    StatedNetwork stated = stated_network(row.inter_node_link);
    if (is_mlperf(row) && stated.ports == 0) stated.gbps = 0;
    bool const is_tcp = has(lower_case(row.inter_node_link), "tcp");
    if (stated.kind == "ethernet" && stated.gbps == 0 && !is_tcp) stated.kind = {};  // RDMA is over Ethernet, too
    return stated;
}

}  // namespace

StatedNetwork stated_network(std::string_view cell) {
    StatedNetwork out;
    std::string words;
    for (std::string const& part : parts_of(cell)) {
        if (out.gbps == 0) static_cast<StatedNetworkRate&>(out) = stated_network_rate(part);
        words += part + ";";
    }
    out.kind = stated_network_kind(words);
    return out;
}

LinkedCluster with_stated_links(TrainingRow const& row, ClusterSpec usual) {
    LinkedCluster out{.cluster = joined_as_stated(row, with_peer_access(std::move(usual))), .assumptions = {}};
    if (!out.cluster.scale_out) return out;
    StatedNetwork const stated = network_of(row);
    set_kind(out, stated.kind);
    bool const is_column = row.inter_node_gbps.value_or(0) > 0;
    out.network_is_stated = is_column || !stated.kind.empty() || stated.gbps > 0;
    out.gbps = is_column ? *row.inter_node_gbps : stated.gbps > 0 ? rate_of_accelerator(stated, row, out) : 0;
    BytesPerSecond const rate = out.gbps / 8 * units::GB / units::s;
    if (out.gbps > 0)
        out.cluster.scale_out->bandwidth = {
            .value = rate, .basis = Basis::datasheet, .source = "stated with the measurement"};
    if (!out.network_is_stated && !row.inter_node_link.empty() && stated.gbps == 0)
        out.assumptions.push_back(fmt::format("stated network '{}' is not known here: {} as usual instead",
                                              row.inter_node_link.substr(0, 60), out.cluster.scale_out->kind));
    return out;
}

}  // namespace sextant
