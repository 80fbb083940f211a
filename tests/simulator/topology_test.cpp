#include "tests/catch.hpp"

#include "core/error.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "cost_models/collective_time.hpp"
#include "simulator/network/topology.hpp"
#include "tests/fixtures.hpp"

#include <algorithm>
#include <map>
#include <set>

using namespace sextant;
using namespace sextant::fixtures;
using Catch::Matchers::Contains;

namespace {

ClusterSpec with_scale_out(ScaleOutTopology topology, std::int64_t pod_domains, double oversubscription) {
    ClusterSpec c = cluster();
    c.scale_out->topology = topology;
    c.scale_out->pod_domains = pod_domains;
    c.scale_out->oversubscription = known(oversubscription);
    return c;
}

ClusterSpec with_torus(std::vector<std::int64_t> axes, bool wraps = true) {
    ClusterSpec c = cluster();
    c.scale_up.kind = ScaleUpKind::torus;
    c.scale_up.torus_wraps = wraps;
    c.domain_size = 1;
    for (auto const axis : axes)
        c.domain_size *= axis;
    c.scale_up.torus = std::move(axes);
    c.scale_out->kind = "dcn";
    c.scale_out->topology = ScaleOutTopology::fat_tree;
    return c;
}

ClusterSpec with_scale_up(ScaleUpKind kind, std::int64_t domain_size) {
    ClusterSpec c = cluster();
    c.scale_up.kind = kind;
    c.domain_size = domain_size;
    return c;
}

FabricLink const& link_at(Topology const& t, std::int32_t id) { return t.links()[static_cast<std::size_t>(id)]; }

std::vector<std::string> names_of(Topology const& t, std::vector<std::int32_t> const& path) {
    std::vector<std::string> names;
    for (auto const id : path)
        names.push_back(link_at(t, id).name);
    return names;
}

BytesPerSecond bandwidth_of(Topology const& t, std::string const& pattern) {
    BytesPerSecond sum;
    for (auto const id : matching_links(t.links(), pattern, "test"))
        sum += link_at(t, id).bandwidth;
    return sum;
}

/// Direct links from the first half of the accelerators to the other.
BytesPerSecond cut_of_direct_links(Topology const& t) {
    std::set<std::int32_t> crossing;
    for (std::int64_t a = 0; a < t.accelerators() / 2; ++a)
        for (std::int64_t b = t.accelerators() / 2; b < t.accelerators(); ++b)
            if (auto const path = t.route(a, b); path.size() == 1) crossing.insert(path[0]);
    BytesPerSecond sum;
    for (auto const id : crossing)
        sum += link_at(t, id).bandwidth;
    return sum;
}

void check_routes(Topology const& t) {
    std::set<std::string> names;
    for (FabricLink const& link : t.links()) {
        names.insert(link.name);
        if (!(link.bandwidth > BytesPerSecond{})) FAIL(link.name << " has no bandwidth");
    }
    CHECK(names.size() == t.links().size());
    auto const links = static_cast<std::int32_t>(t.links().size());
    for (std::int64_t a = 0; a < t.accelerators(); ++a)
        for (std::int64_t b = 0; b < t.accelerators(); ++b) {
            auto const path = t.route(a, b);
            bool const known_links =
                std::all_of(path.begin(), path.end(), [&](std::int32_t id) { return id >= 0 && id < links; });
            bool const no_loop = std::set<std::int32_t>(path.begin(), path.end()).size() == path.size();
            if (path.empty() != (a == b) || !known_links || !no_loop || path.size() != t.route(b, a).size())
                FAIL("from " << a << " to " << b << ": " << path.size() << " links, back " << t.route(b, a).size());
        }
}

}  // namespace

TEST_CASE("every pair of accelerators of every cluster in the catalog has a route, as long there as back") {
    for (ClusterSpec const& c : all_clusters()) {
        CAPTURE(c.name);
        check_routes(Topology(c, std::min<std::int64_t>(160, c.scale_out ? 2 * c.domain_size + 3 : c.domain_size)));
    }
}

TEST_CASE("every pair has a route on every kind of network, whole and cut") {
    auto const topology =
        GENERATE(ScaleOutTopology::rail_optimised, ScaleOutTopology::fat_tree, ScaleOutTopology::dragonfly);
    auto const pod = GENERATE(0, 1, 3);
    auto const accelerators = GENERATE(1, 5, 8, 61, 64);
    CAPTURE(name_of(topology), pod, accelerators);
    check_routes(Topology(with_scale_out(topology, pod, 2), accelerators));
    for (auto const kind : {ScaleUpKind::mesh, ScaleUpKind::pcie})
        check_routes(Topology(with_scale_up(kind, 4), accelerators));
    for (bool const wraps : {true, false}) {
        check_routes(Topology(with_torus({4, 5}, wraps), accelerators));
        check_routes(Topology(with_torus({3, 2, 4}, wraps), accelerators));
        check_routes(Topology(with_torus({7}, wraps), accelerators));
    }
}

TEST_CASE("links of each kind are as many and as fast as the formula says") {
    ClusterSpec const c = cluster();
    BytesPerSecond const up = scale_up_rate(c);
    CHECK(up.base() == Approx(450e9 * 0.8));
    Topology const nodes(c, 32);  // out and in on the switch and on the NIC
    CHECK(nodes.links().size() == 4 * 32);
    CHECK(bandwidth_of(nodes, "*.nic.out").base() == Approx(32 * 50e9 * 0.9));
    CHECK(bandwidth_of(nodes, "node2.*.link.in").base() == Approx(8 * up.base()));

    Topology const mesh(with_scale_up(ScaleUpKind::mesh, 8), 8);
    CHECK(mesh.links().size() == 8 * 7);
    CHECK(bandwidth_of(mesh, "node0.gpu3.gpu*").base() == Approx(up.base()));
    CHECK(cut_of_direct_links(mesh).base() == Approx(16 * up.base() / 7));

    Topology const pcie(with_scale_up(ScaleUpKind::pcie, 4), 8);
    CHECK(pcie.links().size() == 8 * 4 + 2 * 2);
    CHECK(bandwidth_of(pcie, "node1.bridge.in").base() == Approx(4 * up.base()));

    Topology const torus(with_torus({4, 4, 8}), 128);
    CHECK(torus.links().size() == 128 * 6);
    CHECK(bandwidth_of(torus, "slice0.chip77.*").base() == Approx(up.base()));
    CHECK(cut_of_direct_links(torus).base() == Approx(2 * 16 * up.base() / 6));  // both ends of 16 lines
    Topology const grid(with_torus({4, 4, 8}, false), 128);
    CHECK(grid.links().size() == 2 * (3 * 4 * 8 + 3 * 4 * 8 + 7 * 16));
    CHECK(cut_of_direct_links(grid).base() == Approx(16 * up.base() / 6));
}

TEST_CASE("pods are joined by their NIC rates over the oversubscription, whatever the topology") {
    auto const topology =
        GENERATE(ScaleOutTopology::rail_optimised, ScaleOutTopology::fat_tree, ScaleOutTopology::dragonfly);
    ClusterSpec const c = with_scale_out(topology, 2, 3);
    Topology const t(c, 5 * 16);  // five pods of two nodes
    double const pod = 16 * 50e9 * 0.9 / 3;
    switch (topology) {
        case ScaleOutTopology::rail_optimised:
            CHECK(matching_links(t.links(), "pod*", "test").size() == 5 * 8 * 2);
            CHECK(bandwidth_of(t, "pod4.rail7.up").base() == Approx(pod / 8));
            CHECK(bandwidth_of(t, "pod3.*.down").base() == Approx(pod));
            break;
        case ScaleOutTopology::fat_tree:
            CHECK(matching_links(t.links(), "pod*", "test").size() == 5 * 2);
            CHECK(bandwidth_of(t, "pod3.up").base() == Approx(pod));
            break;
        case ScaleOutTopology::dragonfly:
            CHECK(matching_links(t.links(), "group*", "test").size() == 5 * 4);
            CHECK(bandwidth_of(t, "group2.*").base() == Approx(pod));
            // Two groups of the five against the other three: 6 direct links out of each group's 4.
            CHECK(bandwidth_of(t, "group0.group2").base() * 6 == Approx(6 * pod / 4));
            break;
    }
    Topology const one_pod(c, 16);
    CHECK(one_pod.links().size() == 4 * 16);
}

TEST_CASE("routes pass the links one would expect by name") {
    using Names = std::vector<std::string>;
    Topology const rails(with_scale_out(ScaleOutTopology::rail_optimised, 2, 2), 48);
    CHECK(names_of(rails, rails.route(3, 5)) == Names{"node0.gpu3.link.out", "node0.gpu5.link.in"});
    CHECK(names_of(rails, rails.route(3, 11)) == Names{"node0.gpu3.nic.out", "node1.gpu3.nic.in"});
    CHECK(names_of(rails, rails.route(3, 37)) ==
          Names{"node0.gpu3.nic.out", "pod0.rail3.up", "pod2.rail5.down", "node4.gpu5.nic.in"});
    Topology const tree(with_scale_out(ScaleOutTopology::fat_tree, 2, 2), 48);
    CHECK(names_of(tree, tree.route(40, 0)) ==
          Names{"node5.gpu0.nic.out", "pod2.up", "pod0.down", "node0.gpu0.nic.in"});
    Topology const groups(with_scale_out(ScaleOutTopology::dragonfly, 2, 2), 48);
    CHECK(names_of(groups, groups.route(40, 0)) == Names{"node5.gpu0.nic.out", "group2.group0", "node0.gpu0.nic.in"});
    Topology const pcie(with_scale_up(ScaleUpKind::pcie, 4), 4);
    CHECK(names_of(pcie, pcie.route(1, 2)) ==
          Names{"node0.gpu1.pcie.out", "node0.bridge.in", "node0.bridge.out", "node0.gpu2.pcie.in"});
    Topology const mesh(with_scale_up(ScaleUpKind::mesh, 4), 6);
    CHECK(names_of(mesh, mesh.route(3, 1)) == Names{"node0.gpu3.gpu1"});
    CHECK(names_of(mesh, mesh.route(4, 5)) == Names{"node1.gpu0.gpu1"});
    Topology const rack(find_cluster("gb200-nvl72", "test"), 73);
    CHECK(names_of(rack, rack.route(0, 71)) == Names{"rack0.gpu0.nvlink.out", "rack0.gpu71.nvlink.in"});
    CHECK(names_of(rack, rack.route(72, 0)) == Names{"rack1.gpu0.nic.out", "rack0.gpu0.nic.in"});
}

TEST_CASE("PCIe: a pair under one switch and four under one socket have what they were measured to have") {
    using Names = std::vector<std::string>;
    ClusterSpec c = find_cluster("l40s-pcie", "test");
    c.domain_size = 8;  // two sockets
    Topology const t(c, 8);
    double const pair = pcie_gain(c, 4, 5);
    double const quad = pcie_gain(c, 4, 6);
    REQUIRE(pair > quad);
    REQUIRE(quad > 1);
    CHECK(pcie_gain(c, 3, 4) == 1);
    CHECK(pcie_gain(c, 12, 13) == pair);  // of the second node
    double const whole = scale_up_rate(c).base();
    CHECK(bandwidth_of(t, "node0.gpu1.pcie.out").base() == Approx(whole * pair));
    CHECK(bandwidth_of(t, "node0.gpu1.switch.in").base() == Approx(whole * quad));
    CHECK(bandwidth_of(t, "node0.gpu1.socket.in").base() == Approx(whole));
    CHECK(names_of(t, t.route(0, 1)) ==
          Names{"node0.gpu0.pcie.out", "node0.bridge.in", "node0.bridge.out", "node0.gpu1.pcie.in"});
    CHECK(names_of(t, t.route(1, 6)) == Names{"node0.gpu1.pcie.out", "node0.gpu1.switch.out", "node0.gpu1.socket.out",
                                              "node0.bridge.in", "node0.bridge.out", "node0.gpu6.socket.in",
                                              "node0.gpu6.switch.in", "node0.gpu6.pcie.in"});
}

TEST_CASE("PCIe: what a bridge joins does not pass the host") {
    using Names = std::vector<std::string>;
    ClusterSpec const c = find_cluster("h100-nvl", "test");
    REQUIRE(c.scale_up.pair_bandwidth);
    Topology const t(c, 16);
    CHECK(names_of(t, t.route(4, 5)) == Names{"node0.gpu4.gpu5"});
    CHECK(names_of(t, t.route(13, 12)) == Names{"node1.gpu5.gpu4"});
    CHECK(bandwidth_of(t, "node0.gpu4.gpu5").base() == Approx(0.78 * 300e9));
    auto const past_host = names_of(t, t.route(5, 6));
    CHECK(std::find(past_host.begin(), past_host.end(), "node0.bridge.in") != past_host.end());
}

TEST_CASE("mesh: neighbours with links of their own have them, all others a share") {
    ClusterSpec const c = find_cluster("mi250x", "test");
    Topology const t(c, 16);
    BytesPerSecond const own = pair_rate(c);
    CHECK(own > 2 * scale_up_rate(c) / 7.0);
    CHECK(bandwidth_of(t, "node0.gpu4.gpu5").base() == Approx(own.base()));
    CHECK(bandwidth_of(t, "node1.gpu1.gpu0").base() == Approx(own.base()));
    CHECK(bandwidth_of(t, "node0.gpu1.gpu2").base() == Approx(scale_up_rate(c).base() / 7));
}

TEST_CASE("slices joined by a datacentre network are a pod each, with uplinks of all their NICs") {
    ClusterSpec const c = with_torus({4, 4});
    Topology const t(c, 48);
    CHECK(names_of(t, t.route(1, 33)) ==
          std::vector<std::string>{"slice0.chip1.nic.out", "pod0.up", "pod2.down", "slice2.chip1.nic.in"});
    CHECK(bandwidth_of(t, "pod1.up").base() == Approx(16 * nic_rate(c).base()));
}

TEST_CASE("a torus route leads to its destination one link at a time, the shorter way on each axis") {
    std::vector<std::int64_t> const axes{4, 3, 5};
    auto const wraps = GENERATE(true, false);
    Topology const t(with_torus(axes, wraps), 60);
    for (std::int64_t a = 0; a < 60; ++a)
        for (std::int64_t b = 0; b < 60; ++b) {
            std::int64_t at = a;
            std::int64_t shortest = 0;
            for (auto const id : t.route(a, b)) {
                std::string const name = link_at(t, id).name;  // slice0.chip12.x+
                auto const axis = static_cast<std::size_t>(name[name.size() - 2] - 'x');
                if (name.substr(0, name.size() - 2) != "slice0.chip" + std::to_string(at) + ".")
                    FAIL("a route from " << a << " to " << b << " takes " << name << " at " << at);
                std::int64_t const stride = axis == 0 ? 1 : axis == 1 ? 4 : 12;
                std::int64_t const place = at / stride % axes[axis];
                std::int64_t const step = name.back() == '+' ? 1 : axes[axis] - 1;
                at += ((place + step) % axes[axis] - place) * stride;
            }
            for (std::int64_t i = 0, stride = 1; i < 3; stride *= axes[static_cast<std::size_t>(i++)]) {
                auto const length = axes[static_cast<std::size_t>(i)];
                auto const apart = std::abs(a / stride % length - b / stride % length);
                shortest += wraps ? std::min(apart, length - apart) : apart;
            }
            if (at != b || static_cast<std::int64_t>(t.route(a, b).size()) != shortest)
                FAIL("from " << a << " to " << b << " ends at " << at);
        }
}

TEST_CASE("a torus route goes up where both ways round are as long") {
    Topology const t(with_torus({4, 2}), 8);
    using Names = std::vector<std::string>;
    CHECK(names_of(t, t.route(1, 3)) == Names{"slice0.chip1.x+", "slice0.chip2.x+"});
    CHECK(names_of(t, t.route(3, 1)) == Names{"slice0.chip3.x+", "slice0.chip0.x+"});
    CHECK(names_of(t, t.route(6, 2)) == Names{"slice0.chip6.y+"});
    CHECK(names_of(t, t.route(0, 3)) == Names{"slice0.chip0.x-"});
}

TEST_CASE("a job smaller than a torus has the links of the slice that holds it") {
    using Names = std::vector<std::string>;
    ClusterSpec c = with_torus({8, 8, 8});
    CHECK(Topology(c, 4).links().size() == 4 * 2);              // 2 x 2 x 1: nothing along the third axis
    CHECK(Topology(c, 16).links().size() == 2 * (8 + 8 + 12));  // 2 x 2 x 4, no axis closes
    CHECK(Topology(c, 13).links().size() == Topology(c, 16).links().size());
    CHECK(Topology(c, 128).links().size() == 2 * (96 + 96 + 128));  // 4 x 4 x 8, whose axis of 8 closes
    c.scale_up.slice_cube = 4;
    CHECK(Topology(c, 64).links().size() == 64 * 6);
    Topology const slice(c, 128);
    CHECK(slice.links().size() == 128 * 6);
    CHECK(names_of(slice, slice.route(0, 3)) == Names{"slice0.chip0.x-"});
    CHECK(names_of(slice, slice.route(0, 16 * 7 + 4)) == Names{"slice0.chip0.y+", "slice0.chip4.z-"});
}

TEST_CASE("accelerators beyond one domain are refused without a scale-out network") {
    ClusterSpec c = cluster();
    c.scale_out.reset();
    CHECK(Topology(c, 8).links().size() == 16);
    CHECK_THROWS_WITH(Topology(c, 9), Contains("9 accelerators do not fit into one domain of 8"));
}

TEST_CASE("link patterns: * stands for any text, everything else for itself") {
    CHECK(matches("pod1.up", "pod1.up"));
    CHECK(matches("*", ""));
    CHECK(matches("node*.nic.*", "node3.gpu5.nic.in"));
    CHECK(matches("*nic*nic*", "nic.nic"));
    CHECK(matches("a**b", "ab"));
    CHECK_FALSE(matches("pod1", "pod1.up"));
    CHECK_FALSE(matches("pod1.up", "pod10.up"));
    CHECK_FALSE(matches("*.nic.out", "node3.gpu5.nic.in"));
    CHECK_FALSE(matches("", "x"));
    CHECK_FALSE(matches("*nic*nic*", "nic"));
}
