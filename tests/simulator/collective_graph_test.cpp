#include "simulator/collectives/collective_graph.hpp"

#include "core/error.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "cost_models/collective_time.hpp"
#include "simulator/collectives/collective_run.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/sanitized.hpp"
#include "tests/simulator/collective_cases.hpp"

#include <algorithm>
#include <map>
#include <set>

using namespace sextant;
using namespace sextant::fixtures;
using namespace sextant::units;

namespace {

using Kind = CollectiveKind;

CollectiveAlgorithm const& algorithm(char const* name) { return find_collective(name, "test"); }

CollectiveTiming run(ClusterSpec const& machine, char const* name, Kind kind, std::int64_t ranks, Bytes bytes,
                     CollectiveRunOptions const& options = {}) {
    CollectiveShape const shape = collective_shape(machine, kind, ranks, "test");
    CollectiveRun result = run_collective(machine, algorithm(name), shape, std::span(&bytes, 1), options);
    INFO(result.reason.value_or(""));
    REQUIRE_FALSE(result.reason.has_value());
    INFO(result.timings.front().message);
    REQUIRE(result.timings.front().state == Simulation::State::finished);
    return result.timings.front();
}

CollectiveRunOptions ideal() {
    CollectiveRunOptions options;
    options.engine.network = NetworkMode::ideal;
    return options;
}

/// Seconds per byte of large buffers.
double slope(ClusterSpec const& machine, char const* name, Kind kind, std::int64_t ranks,
             CollectiveRunOptions const& options = {}) {
    Seconds const small = run(machine, name, kind, ranks, 1 * GB, options).time;
    Seconds const large = run(machine, name, kind, ranks, 3 * GB, options).time;
    return (large - small).base() / 2e9;
}

double closed_slope(ClusterSpec const& machine, Kind kind, std::int64_t ranks) {
    return collective_curve(machine, kind, place_group(ranks, 1, machine.domain_size)).asymptotic_slope().base();
}

/// Groups of ranks that are `stride` apart, as many as lie across one another.
CollectiveRun run_across(ClusterSpec const& machine, Kind kind, std::int64_t ranks, std::int64_t stride, Bytes bytes) {
    CollectiveShape const shape = collective_shape(machine, kind, ranks, "test", stride);
    return run_collective(machine, algorithm("ring"), shape, std::span(&bytes, 1), {});
}

ClusterSpec torus_cluster() {
    ClusterSpec machine = cluster();
    machine.scale_up.kind = ScaleUpKind::torus;
    machine.scale_up.torus = {4, 4, 4};
    machine.domain_size = 64;
    return machine;
}

}  // namespace

TEST_CASE("groups that lie across one another take the time of the closed form, and share the uplinks of pods",
          "[INV-43]") {
    ClusterSpec machine = cluster();
    machine.scale_out->pod_domains = 4;
    auto const slope_across = [&](Kind kind, std::int64_t ranks, std::int64_t stride) {
        auto const time = [&](double gigabytes) {
            CollectiveRun const result = run_across(machine, kind, ranks, stride, gigabytes * GB);
            REQUIRE_FALSE(result.reason.has_value());
            CHECK(result.flows % stride == 0);
            return result.timings.front().time;
        };
        return (time(3) - time(1)).base() / 2e9;
    };
    for (double const oversubscription : {1.0, 2.0}) {
        machine.scale_out->oversubscription = known(oversubscription);
        for (auto const kind : {Kind::all_gather, Kind::reduce_scatter})
            for (auto const& [ranks, stride] :
                 {std::pair<std::int64_t, std::int64_t>{4, 2}, {8, 8}, {8, 2}, {16, 4}, {4, 32}}) {
                CAPTURE(oversubscription, name_of(kind), ranks, stride);
                CollectiveCurve const closed = collective_curve(machine, kind, place_group(ranks, stride, 8));
                CHECK(slope_across(kind, ranks, stride) == Approx(closed.asymptotic_slope().base()).epsilon(0.02));
            }
    }
    CHECK(slope_across(Kind::all_gather, 4, 32) > 1.9 * slope_across(Kind::all_gather, 4, 8));
}

TEST_CASE("groups across one another that the simulated network cannot tell apart are left to the closed form") {
    ClusterSpec const boxes = find_cluster("a100-pcie", "test");
    CHECK_THAT(run_across(boxes, Kind::all_reduce, 4, 2, 1 * GB).reason.value_or(""), contains("PCIe"));
    CHECK_FALSE(run_across(boxes, Kind::all_reduce, 4, 8, 1 * GB).reason.has_value());  // only NICs
    CHECK(run_across(torus_cluster(), Kind::all_reduce, 4, 4, 1 * GB).reason.has_value());
    CHECK_THROWS_WITH(collective_shape(boxes, Kind::all_reduce, 4, "--gpus", 3), contains("--stride: 3"));
    CHECK_THROWS_WITH(collective_shape(boxes, Kind::all_reduce, 4, "--gpus", 0), contains("--stride: 0"));
    CHECK(collective_shape(boxes, Kind::all_reduce, 4, "--gpus", 16).ranks_per_domain == 1);
}

TEST_CASE("collective graph: a ring inside a domain takes what the closed form says, latency and all", "[INV-43]") {
    ClusterSpec const machine = cluster();
    for (std::int64_t ranks = 2; ranks <= 8; ++ranks)
        for (auto const kind : {Kind::all_reduce, Kind::all_gather, Kind::reduce_scatter, Kind::broadcast}) {
            CAPTURE(ranks, name_of(kind));
            Seconds const closed = collective_curve(machine, kind, place_group(ranks, 1, 8)).time(1 * GB);
            CHECK(run(machine, "ring", kind, ranks, 1 * GB).time.base() == Approx(closed.base()).epsilon(1e-9));
        }
}

TEST_CASE("collective graph: the best algorithm reaches the bandwidth of the closed form", "[INV-43]") {
    ClusterSpec const machine = cluster();
    for (std::int64_t const ranks : {16, 24, 64})
        for (auto const kind : {Kind::all_reduce, Kind::all_gather, Kind::reduce_scatter}) {
            CAPTURE(ranks, name_of(kind));
            CHECK(slope(machine, "ring", kind, ranks) == Approx(closed_slope(machine, kind, ranks)).epsilon(1e-6));
        }
    for (std::int64_t const ranks : {8, 16, 32})
        CHECK(slope(machine, "direct", Kind::all_to_all, ranks) ==
              Approx(closed_slope(machine, Kind::all_to_all, ranks)).epsilon(1e-6));
    CHECK(slope(machine, "direct", Kind::send_receive, 16) ==
          Approx(closed_slope(machine, Kind::send_receive, 16)).epsilon(1e-6));
    for (auto const kind : {Kind::all_reduce, Kind::all_gather, Kind::reduce_scatter})
        CHECK(slope(torus_cluster(), "torus", kind, 64) ==
              Approx(closed_slope(torus_cluster(), kind, 64)).epsilon(1e-6));
}

TEST_CASE("collective graph: rings over the links of a mesh keep up with the NICs, and load every pair alike",
          "[INV-43]") {
    ClusterSpec mesh = cluster();
    mesh.scale_up.kind = ScaleUpKind::mesh;
    for (auto const kind : {Kind::all_reduce, Kind::all_gather, Kind::reduce_scatter, Kind::broadcast})
        for (std::int64_t const ranks : {16, 24}) {
            CAPTURE(name_of(kind), ranks);
            CHECK(slope(mesh, "ring", kind, ranks) == Approx(slope(cluster(), "ring", kind, ranks)).epsilon(1e-6));
        }
    // In one domain a ring goes from its last rank to its first over a link that another one has, too.
    for (auto const kind : {Kind::all_gather, Kind::broadcast})
        CHECK(slope(mesh, "ring", kind, 8) <= 2 * closed_slope(mesh, kind, 8));
    CHECK(slope(mesh, "direct", Kind::all_gather, 8) == Approx(closed_slope(mesh, Kind::all_gather, 8)).epsilon(1e-6));
    for (char const* const name : {"mi300x", "dgx-1-v100"}) {
        ClusterSpec const machine = find_cluster(name, "test");
        CAPTURE(name);
        CHECK(slope(machine, "ring", Kind::all_gather, 16) ==
              Approx(closed_slope(machine, Kind::all_gather, 16)).epsilon(0.05));
    }
}

TEST_CASE("collective graph: a send takes what the closed form says, however many ranks lie between the two",
          "[INV-43]") {
    ClusterSpec mesh = cluster();
    mesh.scale_up.kind = ScaleUpKind::mesh;
    for (ClusterSpec const& machine : {cluster(), mesh, find_cluster("mi300x", "test"), torus_cluster()})
        for (std::int64_t const ranks : {2, 4, 8}) {
            CAPTURE(machine.name, name_of(machine.scale_up.kind), ranks);
            CHECK(slope(machine, "direct", Kind::send_receive, ranks) ==
                  Approx(closed_slope(machine, Kind::send_receive, ranks)).epsilon(1e-6));
        }
}

TEST_CASE("collective graph: uplinks of pods slow rings as little as the closed form says, and exchanges as much",
          "[INV-43]") {
    ClusterSpec machine = cluster();
    machine.scale_out->pod_domains = 4;
    for (auto const topology : {ScaleOutTopology::rail_optimised, ScaleOutTopology::fat_tree})
        for (double const oversubscription : {2.0, 4.0, 8.0}) {
            machine.scale_out->topology = topology;
            machine.scale_out->oversubscription = known(oversubscription);
            CAPTURE(oversubscription, name_of(topology));
            for (auto const kind : {Kind::all_reduce, Kind::all_gather})
                CHECK(slope(machine, "ring", kind, 64) == Approx(closed_slope(machine, kind, 64)).epsilon(1e-6));
            CHECK(slope(machine, "direct", Kind::all_to_all, 64) ==
                  Approx(closed_slope(machine, Kind::all_to_all, 64)).epsilon(0.02));
        }
}

TEST_CASE("collective graph: where no two flows meet, fair is ideal", "[INV-43]") {
    ClusterSpec const machine = cluster();
    struct Case {
        char const* name;
        Kind kind;
        std::int64_t ranks;
    };
    for (Case const& c : {Case{"ring", Kind::all_reduce, 32},
                          {"ring", Kind::broadcast, 24},
                          {"hierarchical", Kind::all_reduce, 32},
                          {"halving-doubling", Kind::all_reduce, 32},
                          {"halving-doubling", Kind::all_gather, 16},
                          {"binomial-tree", Kind::broadcast, 20},
                          {"pairwise", Kind::all_to_all, 8},
                          {"hierarchical-all-to-all", Kind::all_to_all, 32}}) {
        CAPTURE(c.name, name_of(c.kind), c.ranks);
        for (Bytes const bytes : {1 * KB, 10 * MB, 1 * GB})
            CHECK(run(machine, c.name, c.kind, c.ranks, bytes).time.base() ==
                  Approx(run(machine, c.name, c.kind, c.ranks, bytes, ideal()).time.base()).epsilon(1e-9));
    }
    // The two children of a node of the tree share its links.
    CHECK(run(machine, "tree", Kind::all_reduce, 64, 1 * GB).time >
          1.5 * run(machine, "tree", Kind::all_reduce, 64, 1 * GB, ideal()).time);
}

TEST_CASE("collective run: leaving lone flows out of the simulation changes nothing", "[INV-43][long]") {
    ClusterSpec mesh = cluster();
    mesh.scale_up.kind = ScaleUpKind::mesh;
    ClusterSpec line = torus_cluster();
    line.scale_up.torus_wraps = false;
    ClusterSpec pods = cluster();
    pods.scale_out->pod_domains = 1;
    pods.scale_out->oversubscription = known(2.0);
    CollectiveRunOptions timed;
    timed.engine.other_traffic = 0.25;
    CollectiveRunOptions simulated = timed;
    simulated.lone_flows = LoneFlows::simulated;
    std::vector<std::int64_t> rank_counts{8, 20, 6, 16, 24};
    rank_counts.resize(fixtures::cases(5, 2));
    int without_simulation = 0;
    for (ClusterSpec const& machine : {cluster(), mesh, torus_cluster(), line, pods})
        for (std::int64_t const ranks : rank_counts)
            for (CollectiveAlgorithm const* each : collective_catalog())
                for (Kind const kind : each->kinds) {
                    CollectiveShape const shape = collective_shape(machine, kind, ranks, "test");
                    if (why_not(*each, shape)) continue;
                    CAPTURE(each->name, name_of(kind), ranks, name_of(machine.scale_up.kind));
                    for (CollectiveRunOptions* options : {&timed, &simulated})
                        options->degraded = {
                            {.pattern = machine.domain_size == 64 ? "slice0.chip1.*" : "node0.gpu1.*", .factor = 0.7}};
                    Bytes const bytes = 64 * MB;
                    auto const quick = run_collective(machine, *each, shape, std::span(&bytes, 1), timed).timings[0];
                    auto const full = run_collective(machine, *each, shape, std::span(&bytes, 1), simulated).timings[0];
                    REQUIRE(full.state == Simulation::State::finished);
                    CHECK(full.activities > 0);
                    CHECK(quick.time.base() == Approx(full.time.base()).epsilon(1e-9));
                    CHECK(quick.busiest.front().busy_share == Approx(full.busiest.front().busy_share).epsilon(1e-9));
                    if (quick.activities == 0) ++without_simulation;
                }
    CHECK(without_simulation > fixtures::cases(50, 20));
}

TEST_CASE("collective graph: links carry what the flows send, and no more than they can", "[INV-43]") {
    ClusterSpec const machine = cluster();
    for (CollectiveAlgorithm const* each : collective_catalog())
        for (Kind const kind : each->kinds) {
            CollectiveShape const shape = collective_shape(machine, kind, 16, "test");
            if (why_not(*each, shape)) continue;
            CAPTURE(each->name, name_of(kind));
            CollectiveGraph collective = collective_graph(*each, shape, machine);
            Fabric const fabric(machine, collective.graph);
            set_bytes(collective, fabric, 100 * MB);
            Simulation const simulation = simulate(collective.graph, fabric, {});
            REQUIRE(simulation.state == Simulation::State::finished);
            double sent = 0;
            for (double const share : collective.shares)
                sent += share * 100e6;
            double carried = 0;
            for (LinkUse const& link : simulation.links) {
                if (link.name.ends_with(".out")) carried += link.carried.base();
                CHECK(link.busy_share <= 1 + 1e-9);
            }
            CHECK(carried == Approx(sent).epsilon(1e-6));
        }
}

TEST_CASE("collective graph: a rank begins a phase when its part in the one before is done", "[INV-43]") {
    ClusterSpec const machine = cluster();
    for (char const* name : {"hierarchical", "direct", "halving-doubling"}) {
        CAPTURE(name);
        CollectiveShape const shape = collective_shape(machine, Kind::all_reduce, 32, "test");
        CollectiveGraph collective = collective_graph(algorithm(name), shape, machine);
        Fabric const fabric(machine, collective.graph);
        set_bytes(collective, fabric, 100 * MB);
        TaskTimes const times = simulate(collective.graph, fabric, {}).times;
        std::map<std::int32_t, std::map<std::int32_t, double>> ended;  // by rank and phase
        auto const members = [&](std::size_t task) {
            return collective.graph.demands[static_cast<std::size_t>(collective.graph.tasks[task].demand)].members;
        };
        for (std::size_t i = 0; i < collective.graph.tasks.size(); ++i) {
            Task const& task = collective.graph.tasks[i];
            if (task.demand < 0) continue;
            for (std::int32_t const rank : members(i))
                for (auto const& [phase, end] : ended[rank])
                    if (phase < task.name) CHECK(times.start[i] >= end * (1 - 1e-12));
            for (std::int32_t const rank : members(i))
                ended[rank][task.name] = std::max(ended[rank][task.name], times.end[i]);
        }
    }
}

TEST_CASE("collective graph: it stays small where ranks have many flows", "[INV-43]") {
    CollectiveShape const shape = collective_shape(cluster(), Kind::all_reduce, 64, "test");
    CollectiveGraph const collective = collective_graph(algorithm("direct"), shape, cluster());
    CHECK(collective.flows == 2 * 64 * 63);
    CHECK(collective.graph.dependencies.size() < 3 * collective.graph.tasks.size());
}

TEST_CASE("collective run: a NIC at half its bandwidth doubles the ring's time per byte", "[INV-43]") {
    ClusterSpec const machine = cluster();
    CollectiveRunOptions options;
    options.degraded = {{.pattern = "node1.gpu3.nic.out", .factor = 0.5}};
    CHECK(slope(machine, "ring", Kind::all_reduce, 32, options) ==
          Approx(2 * slope(machine, "ring", Kind::all_reduce, 32)).epsilon(1e-6));
    CHECK(run(machine, "ring", Kind::all_reduce, 32, 1 * GB, options).busiest.front().name == "node1.gpu3.nic.out");
    // Inside one node no NIC is used.
    options.degraded.front().pattern = "node0.gpu3.*";
    options.degraded.front().factor = 0.25;
    CHECK(slope(machine, "ring", Kind::all_reduce, 8, options) ==
          Approx(4 * slope(machine, "ring", Kind::all_reduce, 8)).epsilon(1e-6));
    options.degraded.front().pattern = "node9.gpu3.*";
    options.degraded_where = "--degrade-link";
    CollectiveShape const shape = collective_shape(machine, Kind::all_reduce, 32, "test");
    Bytes const bytes = 1 * GB;
    CHECK_THROWS_WITH(run_collective(machine, algorithm("ring"), shape, std::span(&bytes, 1), options),
                      contains("--degrade-link") && contains("node9"));
}

TEST_CASE("collective run: more bytes never take less time, and other traffic its share", "[INV-43]") {
    ClusterSpec const machine = cluster();
    for (CollectiveAlgorithm const* each : collective_catalog())
        for (Kind const kind : each->kinds) {
            CollectiveShape const shape = collective_shape(machine, kind, 16, "test");
            if (why_not(*each, shape)) continue;
            CAPTURE(each->name, name_of(kind));
            std::vector<Bytes> const sizes{1 * B, 1 * KB, 1 * MB, 1 * GB, 50 * GB};
            CollectiveRun const result = run_collective(machine, *each, shape, sizes, {});
            for (std::size_t i = 1; i < sizes.size(); ++i)
                CHECK(result.timings[i].time > result.timings[i - 1].time);
        }
    CollectiveRunOptions options;
    options.engine.other_traffic = 0.5;
    CHECK(slope(machine, "ring", Kind::all_reduce, 32, options) ==
          Approx(2 * slope(machine, "ring", Kind::all_reduce, 32)).epsilon(1e-6));
}

TEST_CASE("collective run: what is longer than asked for is left out, and the same as ever otherwise", "[INV-43]") {
    CollectiveShape const shape = collective_shape(torus_cluster(), Kind::all_to_all, 16, "test");
    std::vector<Bytes> const sizes{1 * units::MB, 1 * units::GB};
    auto const run = [&](double most_meetings) {
        CollectiveRunOptions options;
        options.most_meetings = most_meetings;
        return run_collective(torus_cluster(), algorithm("direct"), shape, sizes, options);
    };
    double const meetings = 2.0 * 240 * 240;  // 16 x 15 flows in one phase, for each of two sizes
    CollectiveRun const all = run(meetings);
    CHECK_FALSE(all.takes_long);
    REQUIRE(all.timings.size() == 2);
    CHECK(all.timings[1].time == run(std::numeric_limits<double>::infinity()).timings[1].time);
    CollectiveRun const none = run(0.99 * meetings);
    CHECK(none.takes_long);
    CHECK(none.timings.empty());
    CHECK(none.flows == 240);
    REQUIRE(none.reason.has_value());
    CHECK_THAT(*none.reason, contains("240 flows") && contains("s to simulate"));
}

TEST_CASE("collective shape: axes of the slice that holds the ranks are filled one after the other", "[INV-43]") {
    ClusterSpec const machine = torus_cluster();
    auto const axes = [&](std::int64_t ranks) {
        return collective_shape(machine, Kind::all_reduce, ranks, "test").torus;
    };
    CHECK(axes(4) == std::vector<std::int64_t>{2, 2, 1});
    CHECK(axes(8) == std::vector<std::int64_t>{2, 2, 2});
    CHECK(axes(12) == std::vector<std::int64_t>{2, 2, 3});  // of 2 x 2 x 4
    CHECK(axes(32) == std::vector<std::int64_t>{2, 4, 4});
    CHECK(axes(3).empty());
    CHECK(axes(6).empty());
    CHECK(axes(128).empty());  // two slices
    CHECK(why_not(algorithm("torus"), collective_shape(machine, Kind::all_reduce, 6, "test")).has_value());
    CHECK_THROWS_WITH(collective_shape(machine, Kind::all_reduce, 0, "--gpus"), contains("--gpus: 0"));
    ClusterSpec alone = cluster();
    alone.scale_out.reset();
    CHECK_THROWS_WITH(collective_shape(alone, Kind::all_reduce, 9, "--gpus"), contains("one domain of 8"));
}
