#include "core/spec/hardware_catalog.hpp"
#include "core/spec/hardware_json.hpp"
#include "core/spec/value_checks.hpp"

#include "core/nearest.hpp"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <string>
#include <system_error>

namespace sextant {
namespace {

/// What a file may leave out of a network: figures of the measured machines nearest in kind.
struct NetworkDefaults {
    double ring;
    double all_to_all;
    Seconds base;
    Seconds hop;
};

NetworkDefaults defaults_of(ScaleUpKind kind) {
    using namespace units;
    switch (kind) {
        case ScaleUpKind::switched: return {0.78, 0.74, 9 * us, 0.9 * us};  // 8 x A100, H100, B200 with NVSwitch
        case ScaleUpKind::mesh: return {0.72, 0.70, 14 * us, 1.0 * us};     // MI300X, GH200 nodes
        case ScaleUpKind::pcie: return {0.38, 0.35, 6 * us, 1.3 * us};      // RTX PRO 6000 boxes
        case ScaleUpKind::torus: return {0.85, 0.80, 3 * us, 1.0 * us};     // jax-ml scaling book: about 1 us per hop
    }
    return {0.72, 0.70, 14 * us, 1.0 * us};
}

/// Of cards on PCIe that copy through host memory: 4 x L40S, 5 of 31.5 GB/s.
constexpr double through_host_ring = 0.17, through_host_all_to_all = 0.15;

/// NVIDIA's drivers give GeForce cards and TITAN RTX no peer access over PCIe.
bool lacks_peer_access(AcceleratorProfile const& accelerator) {
    return accelerator.title.find("GeForce") != std::string::npos ||
           accelerator.title.find("TITAN RTX") != std::string::npos;
}

NetworkDefaults scale_out_defaults(std::string_view kind) {
    using namespace units;
    if (kind == "infiniband") return {0.90, 0.60, 12 * us, 3.5 * us};  // H100 on NDR rails
    if (kind == "roce") return {0.83, 0.60, 24 * us, 5 * us};          // H200 on 400G RoCE
    if (kind == "efa") return {0.80, 0.50, 40 * us, 9 * us};           // H100 on EFA v2
    if (kind == "slingshot") return {0.92, 0.60, 4 * us, 5.8 * us};    // GH200 on Slingshot-11
    if (kind == "omni-path") return {0.85, 0.50, 20 * us, 6 * us};
    return {0.80, 0.50, 50 * us, 15 * us};  // ethernet, dcn
}

Sourced<double> efficiency_or(ObjectReader& in, std::string_view key, double fallback, std::string const& why) {
    if (in.has(key)) return efficiency(in, key);
    in.allow(key);
    return {fallback, Basis::assumed, why};
}

Sourced<Seconds> latency_or(ObjectReader& in, std::string_view key, Seconds fallback, std::string const& why) {
    if (in.has(key)) return in.sourced_quantity<Seconds>(key);
    in.allow(key);
    return {fallback, Basis::assumed, why};
}

std::int64_t count_between(ObjectReader& in, std::string_view key, std::int64_t fallback, std::int64_t low,
                           std::int64_t high) {
    auto const value = in.integer(key, fallback);
    if (value < low || value > high)
        throw InputError("{}: is {} (it must lie between {} and {})", in.path_to(key), value, low, high);
    return value;
}

constexpr std::int64_t most_accelerators = 10'000'000;

void read_pair_links(ObjectReader& in, ScaleUpNetwork& network) {
    in.allow("pair_bandwidth");
    if (in.has("pair_bandwidth")) {
        if (network.kind != ScaleUpKind::pcie && network.kind != ScaleUpKind::mesh)
            throw InputError(
                "{}: links of pairs with kind '{}' (pairs have links of their own where the kind is 'pcie' or 'mesh')",
                in.path_to("pair_bandwidth"), name_of(network.kind));
        network.pair_bandwidth = positive_quantity<BytesPerSecond>(in, "pair_bandwidth");
        network.pair_efficiency =
            efficiency_or(in, "pair_efficiency", 0.78, "the file gives none; as 8 x A100, H100, B200 with NVSwitch");
    } else if (in.has("pair_efficiency")) {
        throw InputError("{}: of what? (pair_bandwidth says what the links of a pair carry)",
                         in.path_to("pair_efficiency"));
    }
}

void read_quad_links(ObjectReader& in, ScaleUpNetwork& network) {
    in.allow("quad_bandwidth");
    if (!in.has("quad_bandwidth")) return;
    if (network.kind != ScaleUpKind::mesh)
        throw InputError("{}: links of quads with kind '{}' (a 'mesh' has them)", in.path_to("quad_bandwidth"),
                         name_of(network.kind));
    network.quad_bandwidth = positive_quantity<BytesPerSecond>(in, "quad_bandwidth");
    if (network.quad_bandwidth->value > network.bandwidth.value)
        throw InputError("{}: is more than all links together (at most `bandwidth`)", in.path_to("quad_bandwidth"));
}

void read_peer_access(ObjectReader& in, ScaleUpNetwork& network, AcceleratorProfile const& accelerator) {
    in.allow("peer_access");
    if (!in.has("peer_access")) {
        network.peer_access = network.kind != ScaleUpKind::pcie || !lacks_peer_access(accelerator);
        return;
    }
    if (network.kind != ScaleUpKind::pcie)
        throw InputError("{}: with kind '{}' (direct links and switches always have it; leave it out)",
                         in.path_to("peer_access"), name_of(network.kind));
    network.peer_access = in.flag("peer_access", true);
}

void read_slice_cube(ObjectReader& in, ScaleUpNetwork& network) {
    in.allow("slice_cube");
    if (!in.has("slice_cube")) return;
    if (network.kind != ScaleUpKind::torus)
        throw InputError("{}: with kind '{}' (a 'torus' has slices)", in.path_to("slice_cube"), name_of(network.kind));
    network.slice_cube = in.integer("slice_cube");
    for (auto const axis : network.torus)
        if (network.slice_cube < 2 || axis % network.slice_cube != 0)
            throw InputError("{}: is {} (2 or more, and every axis of the torus has a multiple of it)",
                             in.path_to("slice_cube"), network.slice_cube);
}

ScaleUpNetwork read_scale_up(ObjectReader in, AcceleratorProfile const& accelerator) {
    in.expect({"kind", "bandwidth"}, {"pair_bandwidth", "quad_bandwidth"});
    read_default_provenance(in);
    ScaleUpNetwork network;
    network.kind = scale_up_kind_from(in.text("kind"), in.path_to("kind"));
    network.bandwidth = positive_quantity<BytesPerSecond>(in, "bandwidth");
    read_peer_access(in, network, accelerator);
    auto defaults = defaults_of(network.kind);
    std::string const why = fmt::format("the file gives none; usual for kind '{}'", name_of(network.kind));
    std::string reached = why;
    if (!network.peer_access) {
        defaults.ring = through_host_ring;
        defaults.all_to_all = through_host_all_to_all;
        reached +=
            in.has("peer_access") ? " without peer access" : ", GeForce has no peer access unless peer_access says so";
    }
    network.ring_efficiency = efficiency_or(in, "ring_efficiency", defaults.ring, reached);
    network.all_to_all_efficiency = efficiency_or(in, "all_to_all_efficiency", defaults.all_to_all, reached);
    constexpr std::string_view in_network = "in_network_reduction_efficiency";
    in.allow(in_network);
    if (in.has(in_network)) network.in_network_reduction_efficiency = bounded_number(in, in_network, 0.01, 2);
    network.base_latency = latency_or(in, "base_latency", defaults.base, why);
    network.hop_latency = latency_or(in, "hop_latency", defaults.hop, why);
    read_pair_links(in, network);
    read_quad_links(in, network);
    network.torus = in.integers("torus");
    network.torus_wraps = in.flag("torus_wraps", true);
    if ((network.kind == ScaleUpKind::torus) != !network.torus.empty())
        throw InputError("{}: has {} entries with kind '{}' (a torus needs its axis lengths, nothing else has them)",
                         in.path_to("torus"), network.torus.size(), name_of(network.kind));
    for (auto const axis : network.torus)
        if (axis < 1 || axis > most_accelerators)
            throw InputError("{}: has an axis of {} (1 or more is expected)", in.path_to("torus"), axis);
    read_slice_cube(in, network);
    in.finish();
    return network;
}

ScaleOutNetwork read_scale_out(ObjectReader in) {
    static std::vector<std::string> const kinds{"infiniband", "roce",     "efa", "slingshot",
                                                "omni-path",  "ethernet", "dcn"};
    in.expect({"kind", "bandwidth"}, {});
    read_default_provenance(in);
    ScaleOutNetwork network;
    network.kind = in.text("kind");
    if (std::find(kinds.begin(), kinds.end(), network.kind) == kinds.end())
        throw InputError("{}: unknown network '{}'{} (known: {})", in.path_to("kind"), network.kind,
                         did_you_mean(network.kind, kinds), join(kinds));
    network.topology = usual_topology(network.kind);
    in.allow("topology");
    if (in.has("topology")) network.topology = scale_out_topology_from(in.text("topology"), in.path_to("topology"));
    network.bandwidth = positive_quantity<BytesPerSecond>(in, "bandwidth");
    auto const defaults = scale_out_defaults(network.kind);
    std::string const why = fmt::format("the file gives none; usual for kind '{}'", network.kind);
    network.ring_efficiency = efficiency_or(in, "ring_efficiency", defaults.ring, why);
    network.all_to_all_efficiency = efficiency_or(in, "all_to_all_efficiency", defaults.all_to_all, why);
    network.base_latency = latency_or(in, "base_latency", defaults.base, why);
    network.hop_latency = latency_or(in, "hop_latency", defaults.hop, why);
    constexpr std::string_view in_network = "in_network_reduction_efficiency";
    in.allow(in_network);
    if (in.has(in_network)) network.in_network_reduction_efficiency = efficiency(in, in_network);
    if (in.has("oversubscription")) {
        network.oversubscription = bounded_number(in, "oversubscription", 1, 1000);
    } else {
        in.allow("oversubscription");
        network.oversubscription = {1, Basis::assumed, "the file gives none; full bisection"};
    }
    network.pod_domains = count_between(in, "pod_domains", 0, 0, most_accelerators);
    if (network.oversubscription.value > 1 && network.pod_domains == 0)
        throw InputError("{}: is {:g} without pods (add \"pod_domains\": the domains whose NICs share a pod's uplinks)",
                         in.path_to("oversubscription"), network.oversubscription.value);
    in.finish();
    return network;
}

/// A file that a cluster file names lies beside it, or else where the program was started.
std::string file_beside(std::string const& cluster_file, std::string const& name) {
    auto const beside = std::filesystem::path(cluster_file).parent_path() / name;
    std::error_code ignored;
    return std::filesystem::exists(beside, ignored) ? beside.string() : name;
}

AcceleratorProfile accelerator_of(ObjectReader& in) {
    if (!in.is_text("accelerator")) return read_accelerator(in.object("accelerator"));
    std::string const name = in.text("accelerator");
    return find_accelerator(name.ends_with(".json") ? file_beside(in.where(), name) : name, in.path_to("accelerator"));
}

void check_sizes(ClusterSpec const& cluster, ObjectReader const& in) {
    if (cluster.scale_up.kind != ScaleUpKind::torus) return;
    auto const slice =
        std::accumulate(cluster.scale_up.torus.begin(), cluster.scale_up.torus.end(), 1.0,
                        [](double product, std::int64_t axis) { return product * static_cast<double>(axis); });
    if (slice != static_cast<double>(cluster.domain_size))
        throw InputError("{}: is {} but the torus axes multiply to {} (they must agree)", in.path_to("domain_size"),
                         cluster.domain_size, slice);
}

}  // namespace

ClusterSpec read_cluster(ObjectReader in) {
    in.format("cluster", 1);
    in.expect({"name", "accelerator", "domain_size", "scale_up", "host_memory"},
              {"title", "aliases", "max_accelerators", "scale_out", "usd_per_accelerator_hour", "collectives", "basis",
               "source"});
    in.set_default_provenance(Basis::assumed, "the file gives no source");
    read_default_provenance(in);

    ClusterSpec cluster;
    cluster.name = in.text("name");
    cluster.title = in.text("title", cluster.name);
    cluster.aliases = in.texts("aliases");
    cluster.accelerator = accelerator_of(in);
    cluster.domain_size = count_between(in, "domain_size", in.integer("domain_size"), 1, most_accelerators);
    cluster.max_accelerators = count_between(in, "max_accelerators", 0, 0, most_accelerators);
    cluster.scale_up = read_scale_up(in.object("scale_up"), cluster.accelerator);
    if (auto scale_out = in.optional_object("scale_out")) cluster.scale_out = read_scale_out(std::move(*scale_out));
    cluster.host_memory = positive_quantity<Bytes>(in, "host_memory");
    in.allow("usd_per_accelerator_hour");
    if (in.has("usd_per_accelerator_hour"))
        cluster.usd_per_accelerator_hour = bounded_number(in, "usd_per_accelerator_hour", 0, 1e6);
    std::string const model = in.text("collectives", "calibrated");
    if (model != "calibrated" && model != "plain")
        throw InputError("{}: is '{}' (calibrated or plain)", in.path_to("collectives"), model.substr(0, 40));
    if (model == "plain") cluster.collective_model = CollectiveModel::plain;
    check_sizes(cluster, in);
    in.finish();
    return cluster;
}

}  // namespace sextant
