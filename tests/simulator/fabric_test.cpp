#include "tests/catch.hpp"

#include "core/error.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "cost_models/collective_time.hpp"
#include "simulator/network/fabric.hpp"
#include "simulator/network/flow_pattern.hpp"
#include "simulator/network/topology.hpp"
#include "tests/fixtures.hpp"

#include <cmath>
#include <map>
#include <random>

using namespace sextant;
using namespace sextant::fixtures;
using Catch::Matchers::Contains;

namespace {

constexpr CollectiveKind all_kinds[] = {CollectiveKind::all_reduce,     CollectiveKind::all_gather,
                                        CollectiveKind::reduce_scatter, CollectiveKind::all_to_all,
                                        CollectiveKind::broadcast,      CollectiveKind::send_receive};

TaskGraph ranks_of(std::int64_t count, std::int64_t stands_for = 1) {
    TaskGraph graph;
    for (std::int64_t r = 0; r < count; ++r)
        graph.ranks.push_back({.rank = r, .pipeline = 0, .stands_for = stands_for});
    return graph;
}

/// What a plan asks for: `size` ranks from `first` on, `stride` apart.
NetworkDemand demand_of(ClusterSpec const& cluster, CollectiveKind kind, std::int64_t first, std::int64_t size,
                        std::int64_t stride) {
    NetworkDemand demand{.kind = kind,
                         .group = GroupKind::tensor,
                         .members = {},
                         .shares = network_shares(cluster, kind, place_group(size, stride, cluster.domain_size))};
    for (std::int64_t i = 0; i < size; ++i)
        demand.members.push_back(static_cast<std::int32_t>(first + i * stride));
    return demand;
}

std::map<std::string, double> asked_of(Fabric const& fabric, std::size_t demand) {
    std::map<std::string, double> asked;
    for (Flow const& flow : fabric.flows_of(demand))
        for (auto const link : flow.links)
            asked[fabric.links()[static_cast<std::size_t>(link)].name] += flow.rate.base();
    return asked;
}

BytesPerSecond bandwidth_of(Fabric const& fabric, std::string const& name) {
    return fabric.links()[static_cast<std::size_t>(matching_links(fabric.links(), name, "test").front())].bandwidth;
}

void check_alone(Fabric const& fabric, std::size_t demand) {
    REQUIRE_FALSE(fabric.flows_of(demand).empty());
    for (Flow const& flow : fabric.flows_of(demand)) {
        if (flow.links.empty() || !(flow.rate > BytesPerSecond{})) FAIL("a flow without links or rate");
    }
    for (auto const& [name, rate] : asked_of(fabric, demand))
        if (rate > bandwidth_of(fabric, name).base() * (1 + 1e-12))
            FAIL(name << ": " << rate << " asked of " << bandwidth_of(fabric, name).base());
}

std::vector<std::string> names_of(Fabric const& fabric, Flow const& flow) {
    std::vector<std::string> names;
    for (auto const link : flow.links)
        names.push_back(fabric.links()[static_cast<std::size_t>(link)].name);
    return names;
}

ClusterSpec pods(ScaleOutTopology topology, double oversubscription) {
    ClusterSpec c = cluster();
    c.scale_out->topology = topology;
    c.scale_out->pod_domains = 2;
    c.scale_out->oversubscription = known(oversubscription);
    return c;
}

}  // namespace

TEST_CASE("a demand alone reaches the rate of each of its flows, on all kinds of machines, folded or not") {
    auto const seed = 20260;
    std::mt19937_64 random(seed);
    CAPTURE(seed);
    std::vector<ClusterSpec> clusters{pods(ScaleOutTopology::rail_optimised, 4), pods(ScaleOutTopology::fat_tree, 3),
                                      pods(ScaleOutTopology::dragonfly, 2)};
    for (auto const* name : {"h100-sxm", "gb200-nvl72", "tpu-v5p", "tpu-v5e", "trainium2", "mi300x", "mi250x", "gh200",
                             "l40s-pcie", "dgx-1-v100"})
        clusters.push_back(find_cluster(name, "test"));
    for (ClusterSpec const& c : clusters) {
        CAPTURE(c.name);
        std::int64_t const count = 144;
        TaskGraph whole = ranks_of(count);
        TaskGraph folded = ranks_of(count, 4);
        for (int i = 0; i < 60; ++i) {
            auto const kind = all_kinds[random() % std::size(all_kinds)];
            auto const stride = pick<std::int64_t>(random, {1, 1, 2, 4, 8, 16});
            auto const size = kind == CollectiveKind::send_receive ? 2 : pick<std::int64_t>(random, {2, 3, 4, 8, 9});
            auto const first =
                static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(count - stride * size + 1));
            whole.demands.push_back(demand_of(c, kind, first, size, stride));
            folded.demands.push_back(whole.demands.back());
            if (random() % 2 == 0) folded.demands.back().members.resize(1);
        }
        Fabric const of_whole(c, whole);
        Fabric const of_folded(c, folded);
        for (std::size_t d = 0; d < whole.demands.size(); ++d) {
            CAPTURE(d);
            check_alone(of_whole, d);
            check_alone(of_folded, d);
        }
    }
}

TEST_CASE("on a switch and on rails every rank of a group uses exactly its shares, folded or not") {
    ClusterSpec const c = cluster();
    auto const kind = GENERATE(CollectiveKind::all_reduce, CollectiveKind::all_to_all, CollectiveKind::broadcast);
    auto const [size, stride] = GENERATE(table<std::int64_t, std::int64_t>({{8, 1}, {4, 1}, {16, 1}, {4, 8}, {8, 4}}));
    CAPTURE(name_of(kind), size, stride);
    TaskGraph whole = ranks_of(32);
    whole.demands.push_back(demand_of(c, kind, 0, size, stride));
    TaskGraph folded = ranks_of(1, 32);
    folded.demands.push_back(whole.demands[0]);
    folded.demands[0].members = {0};
    Fabric const of_whole(c, whole);
    Fabric const of_folded(c, folded);
    NetworkDemand const& demand = whole.demands[0];
    auto const used = asked_of(of_whole, 0);
    auto const alone = asked_of(of_folded, 0);
    std::size_t tiers = 0;
    for (std::string const tier : {"link", "nic"}) {
        double const rate = tier == "nic" ? demand.shares.scale_out * nic_rate(c).base()
                                          : demand.shares.scale_up * scale_up_rate(c).base();
        if (rate == 0) continue;
        ++tiers;
        for (std::string const way : {"out", "in"}) {
            CHECK(alone.at("rank0." + tier + "." + way) == Approx(rate));
            for (auto const member : demand.members) {
                auto const name = accelerator_name(c, member) + "." + tier + "." + way;
                CHECK(used.at(name) == Approx(rate));
            }
        }
    }
    CHECK(used.size() == 2 * tiers * demand.members.size());  // and nobody else's links
}

TEST_CASE("a group in a mesh reaches the share of its pair links that the closed form gives it") {
    ClusterSpec c = find_cluster("mi300x", "test");
    c.network_model = nullptr;  // whose copies inside a rank are on no link
    auto const size = GENERATE(2, 4, 8);
    TaskGraph graph = ranks_of(8);
    graph.demands.push_back(demand_of(c, CollectiveKind::all_gather, 0, size, 1));
    Fabric const fabric(c, graph);
    CHECK(fabric.flows_of(0).size() == static_cast<std::size_t>(size * (size - 1)));
    double sent = 0;
    for (Flow const& flow : fabric.flows_of(0))
        sent += flow.rate.base();
    auto const curve = collective_curve(c, CollectiveKind::all_gather, place_group(size, 1, 8));
    double const closed_form = (size - 1.0) / size / curve.asymptotic_slope().base();
    CHECK(sent / size == Approx(closed_form));
}

TEST_CASE("whole axes of a torus carry what the closed form says, wrapped and not") {
    ClusterSpec c = cluster();
    c.scale_up.kind = ScaleUpKind::torus;
    c.scale_up.torus = {4, 8, 4};
    c.domain_size = 128;
    c.scale_up.torus_wraps = GENERATE(true, false);
    auto const [size, stride] = GENERATE(table<std::int64_t, std::int64_t>({{4, 1}, {8, 4}, {32, 1}, {128, 1}}));
    CAPTURE(c.scale_up.torus_wraps, size, stride);
    TaskGraph graph = ranks_of(128);
    graph.demands.push_back(demand_of(c, CollectiveKind::reduce_scatter, 0, size, stride));
    Fabric const fabric(c, graph);
    check_alone(fabric, 0);
    double sent = 0;
    for (Flow const& flow : fabric.flows_of(0))
        sent += flow.rate.base();
    auto const n = static_cast<double>(size);
    auto const curve = collective_curve(c, CollectiveKind::reduce_scatter, place_group(size, stride, 128));
    CHECK(sent / n == Approx((n - 1) / n / curve.asymptotic_slope().base()));
}

TEST_CASE("whole axes of a job's slice carry what the closed form says, also where only some of them close") {
    struct Job {
        char const* cluster;
        std::int64_t chips, size, stride;
    };
    auto const job = GENERATE(Job{"tpu-v5p", 64, 64, 1}, Job{"tpu-v5p", 64, 16, 1}, Job{"tpu-v5p", 64, 16, 4},
                              Job{"tpu-v5p", 128, 8, 16}, Job{"tpu-v5p", 256, 32, 1}, Job{"tpu-v5e", 64, 64, 1},
                              Job{"tpu-v5e", 64, 8, 8}, Job{"tpu-v5e", 128, 128, 1}, Job{"tpu-v5e", 128, 16, 8},
                              Job{"tpu-v5e", 128, 8, 1}, Job{"tpu-v5e", 256, 256, 1});
    CAPTURE(job.cluster, job.chips, job.size, job.stride);
    ClusterSpec const c = find_cluster(job.cluster, "test");
    GroupPlacement const group = place_group(job.size, job.stride, c, job.chips);
    TaskGraph graph = ranks_of(static_cast<std::int32_t>(job.chips));
    graph.demands.push_back(demand_of(c, CollectiveKind::all_gather, 0, job.size, job.stride));
    graph.demands[0].shares = network_shares(c, CollectiveKind::all_gather, group);
    REQUIRE(on_whole_axes(c, graph));
    Fabric const fabric(c, graph);
    check_alone(fabric, 0);
    double sent = 0;
    for (Flow const& flow : fabric.flows_of(0))
        sent += flow.rate.base();
    auto const n = static_cast<double>(job.size);
    auto const curve = collective_curve(c, CollectiveKind::all_gather, group);
    CHECK(sent / n == Approx((n - 1) / n / curve.asymptotic_slope().base()));
}

TEST_CASE("members of a torus divide their share over the axes") {
    ClusterSpec c = cluster();
    c.scale_up.kind = ScaleUpKind::torus;
    c.scale_up.torus = {4, 4};
    c.domain_size = 16;
    TaskGraph graph = ranks_of(16);
    graph.demands.push_back(demand_of(c, CollectiveKind::all_gather, 0, 16, 1));
    graph.demands[0].shares.scale_up = 0.25;
    Fabric const fabric(c, graph);
    CHECK(fabric.flows_of(0).size() == 16 * 4);
    for (Flow const& flow : fabric.flows_of(0))
        CHECK(flow.rate.base() == Approx(0.25 * scale_up_rate(c).base() / 4));
}

TEST_CASE("members of a torus that share no line still exchange data") {
    ClusterSpec c = cluster();
    c.scale_up.kind = ScaleUpKind::torus;
    c.scale_up.torus = {4, 4};
    c.domain_size = 16;
    TaskGraph graph = ranks_of(16);
    graph.demands.push_back(demand_of(c, CollectiveKind::all_reduce, 0, 3, 5));  // a diagonal
    Fabric const fabric(c, graph);
    CHECK(fabric.flows_of(0).size() == 3);
    check_alone(fabric, 0);
}

TEST_CASE("a send/receive goes one way over the network that joins its two ranks") {
    using Names = std::vector<std::string>;
    ClusterSpec const c = pods(ScaleOutTopology::fat_tree, 2);
    TaskGraph graph = ranks_of(48);
    auto const send = [&](std::int32_t from, std::int32_t to) {
        auto const shares = network_shares(c, CollectiveKind::send_receive,
                                           {2, from / 8 == to / 8 ? 2 : 1, from / 8 == to / 8 ? 1 : 2, 1, 1});
        graph.demands.push_back({.kind = CollectiveKind::send_receive,
                                 .group = GroupKind::pipeline,
                                 .members = {from, to},
                                 .shares = shares});
    };
    send(1, 6);
    send(6, 14);
    send(0, 47);
    Fabric const fabric(c, graph);
    for (std::size_t d = 0; d < 3; ++d)
        REQUIRE(fabric.flows_of(d).size() == 1);
    CHECK(names_of(fabric, fabric.flows_of(0)[0]) == Names{"node0.gpu1.link.out", "node0.gpu6.link.in"});
    CHECK(fabric.flows_of(0)[0].rate.base() == Approx(scale_up_rate(c).base()));
    CHECK(names_of(fabric, fabric.flows_of(1)[0]) == Names{"node0.gpu6.nic.out", "node1.gpu6.nic.in"});
    CHECK(names_of(fabric, fabric.flows_of(2)[0]) ==
          Names{"node0.gpu0.nic.out", "pod0.up", "pod2.down", "node5.gpu7.nic.in"});
    CHECK(fabric.flows_of(2)[0].rate.base() == Approx(nic_rate(c).base()));

    for (SimulatedRank& rank : graph.ranks)
        rank.stands_for = 2;
    Fabric const folded(c, graph);
    CHECK(names_of(folded, folded.flows_of(0)[0]) == Names{"rank1.link.out", "rank6.link.in"});
    CHECK(names_of(folded, folded.flows_of(2)[0]) == Names{"rank0.nic.out", "rank47.nic.in"});
}

TEST_CASE("a group that straddles two domains although it was priced in one goes through the NICs") {
    ClusterSpec const c = cluster();
    TaskGraph graph = ranks_of(16);
    graph.demands.push_back(demand_of(c, CollectiveKind::all_reduce, 6, 4, 1));
    Fabric const fabric(c, graph);
    check_alone(fabric, 0);
    CHECK(asked_of(fabric, 0).at("node0.gpu7.nic.out") == Approx(nic_rate(c).base()));
}

TEST_CASE("a group wider than a pod takes its part of the uplinks, on links of its own when folded") {
    ClusterSpec const c = pods(ScaleOutTopology::rail_optimised, 4);
    double const nic = nic_rate(c).base();
    TaskGraph graph = ranks_of(1, 32);
    // A ring leaves a pod of two domains once for every two steps; with a pod for each domain at every step.
    graph.demands.push_back(demand_of(c, CollectiveKind::all_reduce, 0, 4, 8));
    graph.demands.push_back(demand_of(c, CollectiveKind::all_reduce, 0, 2, 8));
    graph.demands.push_back(demand_of(c, CollectiveKind::all_reduce, 0, 2, 16));
    graph.demands.push_back(demand_of(c, CollectiveKind::all_to_all, 0, 4, 8));
    for (NetworkDemand& demand : graph.demands)
        demand.members = {0};
    Fabric const fabric(c, graph);
    CHECK(bandwidth_of(fabric, "rank0.uplink.out").base() == Approx(nic / 4));
    using Asked = std::map<std::string, double>;
    auto const check = [&](std::size_t demand, double through_nic, double through_uplink) {
        CAPTURE(demand);
        Asked const asked = asked_of(fabric, demand);
        CHECK(asked.at("rank0.nic.out") == Approx(through_nic * nic));
        CHECK(asked.at("rank0.nic.in") == Approx(through_nic * nic));
        CHECK(asked.count("rank0.uplink.out") == (through_uplink > 0 ? 1 : 0));
        if (through_uplink > 0) CHECK(asked.at("rank0.uplink.in") == Approx(through_uplink * nic));
    };
    check(0, 0.5, 0.25);
    check(1, 1, 0);
    check(2, 0.25, 0.25);
    check(3, 0.375, 0.25);

    TaskGraph whole = ranks_of(32);
    whole.demands.push_back(demand_of(c, CollectiveKind::all_reduce, 3, 4, 8));
    Fabric const unfolded(c, whole);
    auto const asked = asked_of(unfolded, 0);
    CHECK(asked.at("node0.gpu3.nic.out") == Approx(nic / 2));
    CHECK(asked.count("pod0.rail3.up") == 1);
    CHECK(asked.count("pod0.rail2.up") == 0);
}

TEST_CASE("a graph of sends between any two ranks has a flow per pair on the cluster's own links") {
    ClusterSpec const c = cluster();
    TaskGraph graph = ranks_of(24);
    for (std::int32_t from = 0; from < 24; ++from)
        for (std::int32_t to = 0; to < 24; ++to)
            if (from != to)
                graph.demands.push_back(
                    {.kind = CollectiveKind::send_receive,
                     .group = GroupKind::data,
                     .members = {from, to},
                     .shares = from / 8 == to / 8 ? NetworkShares{.scale_up = 1} : NetworkShares{.scale_out = 1}});
    CHECK_FALSE(is_folded(graph));
    Fabric const fabric(c, graph);
    Topology const topology(c, 24);
    CHECK(fabric.links().size() == topology.links().size());
    for (std::size_t d = 0; d < graph.demands.size(); ++d) {
        REQUIRE(fabric.flows_of(d).size() == 1);
        auto const& members = graph.demands[d].members;
        CHECK(fabric.flows_of(d)[0].links == topology.route(members[0], members[1]));
    }
}

TEST_CASE("a graph is folded when a rank stands for others or a group has one member") {
    TaskGraph graph = ranks_of(4);
    CHECK_FALSE(is_folded(graph));
    graph.demands.push_back({.members = {1}, .shares = {.scale_up = 0.5}});
    CHECK(is_folded(graph));
    Fabric const fabric(cluster(), graph);
    REQUIRE(fabric.flows_of(0).size() == 1);
    CHECK(names_of(fabric, fabric.flows_of(0)[0]) == std::vector<std::string>{"rank1.link.out", "rank1.link.in"});
    CHECK(is_folded(ranks_of(4, 2)));
}

TEST_CASE("a demand without a share of the network has no flows") {
    TaskGraph graph = ranks_of(4);
    graph.demands.push_back({.members = {0, 1, 2, 3}});
    CHECK(Fabric(cluster(), graph).flows_of(0).empty());
}

TEST_CASE("degrade slows the links that match and no others") {
    ClusterSpec const c = cluster();
    TaskGraph const graph = ranks_of(16);
    Fabric const before(c, graph);
    Fabric fabric(c, graph);
    fabric.degrade("node1.*.nic.*", 0.5, "--degrade-link");
    fabric.degrade("node0.gpu0.link.out", 0.25, "--degrade-link");
    for (std::size_t i = 0; i < fabric.links().size(); ++i) {
        std::string const& name = fabric.links()[i].name;
        double const factor = matches("node1.*.nic.*", name) ? 0.5 : name == "node0.gpu0.link.out" ? 0.25 : 1;
        CHECK(fabric.links()[i].bandwidth.base() == Approx(factor * before.links()[i].bandwidth.base()));
    }
}

TEST_CASE("degrade refuses an unknown link with the nearest name, and a factor that is none") {
    Fabric fabric(cluster(), ranks_of(16));
    CHECK_THROWS_WITH(fabric.degrade("node7.gpu0.nic.out", 0.5, "--degrade-link"),
                      Contains("--degrade-link: no link matches 'node7.gpu0.nic.out'") &&
                          Contains("did you mean 'node0.gpu0.nic.out'"));
    CHECK_THROWS_WITH(fabric.degrade("node1.gpu0.nik.out", 0.5, "x"), Contains("did you mean 'node1.gpu0.nic.out'"));
    CHECK_THROWS_WITH(fabric.degrade("spine*", 0.5, "x"), Contains("named like") && Contains("node0.gpu0.link.out"));
    for (double const factor : {0.0, -1.0, 1.5, std::nan("")})
        CHECK_THROWS_WITH(fabric.degrade("*", factor, "x"), Contains("above 0 and up to 1"));
    CHECK_THROWS_AS(fabric.degrade("", 0.5, "x"), InputError);
}
