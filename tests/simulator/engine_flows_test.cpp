#include "simulator/engine/engine.hpp"
#include "tests/catch.hpp"
#include "tests/fixtures.hpp"
#include "tests/seeds.hpp"
#include "tests/simulator/graph_maker.hpp"
#include "tests/simulator/max_min.hpp"

#include <algorithm>

using namespace sextant;
using namespace sextant::fixtures;
using State = Simulation::State;

namespace {

EngineOptions const fair{};

/// Times at which transfers end that start together and move, each alone, `duration` seconds at its flow's rate.
std::vector<double> ends(std::vector<double> const& bandwidths, std::vector<Flow> const& flows, double duration) {
    GraphMaker maker(static_cast<std::int64_t>(flows.size()));
    std::vector<std::vector<Flow>> demands;
    for (Flow const& one : flows) {
        maker.transfer({static_cast<std::int32_t>(demands.size())}, duration);
        demands.push_back({one});
    }
    Simulation simulation = simulate(maker.graph, Fabric(links_of(bandwidths), demands), fair);
    REQUIRE(simulation.state == State::finished);
    return simulation.times.end;
}

/// Hundreds of transfers between random ranks, one demand each.
struct RandomTraffic {
    GraphMaker maker;
    std::vector<FabricLink> links;
    std::vector<std::vector<Flow>> flows;

    explicit RandomTraffic(std::mt19937_64& random, std::size_t transfers) : maker(8) {
        std::vector<double> bandwidths;
        for (int i = 0; i < 8; ++i)
            bandwidths.push_back(10 + static_cast<double>(random() % 90));
        links = links_of(bandwidths);
        for (std::size_t i = 0; i < transfers; ++i) {
            double const latency = random() % 3 == 0 ? 0 : 1e-6 * static_cast<double>(random() % 20);
            double const duration = latency + 1e-6 * static_cast<double>(1 + random() % 5000);
            std::vector<std::uint32_t> after;
            if (i > 0 && random() % 4 != 0) after.push_back(static_cast<std::uint32_t>(random() % i));
            maker.transfer({static_cast<std::int32_t>(random() % 8)}, duration, latency, after);
            std::vector<Flow> own;
            for (auto count = 1 + random() % 3; count > 0; --count) {
                auto const first = static_cast<std::int32_t>(random() % 8);
                auto const second =
                    static_cast<std::int32_t>((static_cast<std::uint64_t>(first) + 1 + random() % 7) % 8);
                double const narrowest =
                    std::min(bandwidths[static_cast<std::size_t>(first)], bandwidths[static_cast<std::size_t>(second)]);
                own.push_back(flow({first, second}, random() % 2 == 0 ? narrowest : 0.3 * narrowest));
            }
            flows.push_back(own);
        }
    }
};

}  // namespace

TEST_CASE("flows: a transfer alone takes its own time, latency included", "[INV-65]") {
    auto const latency = GENERATE(0.0, 1e-6, 0.01);
    GraphMaker maker;
    maker.transfer({0}, 0.02, latency);
    Simulation const simulation =
        simulate(maker.graph, Fabric(links_of({50, 40}), {{flow({0, 1}, 40), flow({0}, 10)}}), fair);
    CHECK(simulation.times.end[0] == Approx(0.02).epsilon(1e-12));
    REQUIRE(simulation.links.size() == 2);
    CHECK(simulation.links[0].name == "link0");
    CHECK(simulation.links[0].carried.in(units::GB) == Approx(50 * (0.02 - latency)).epsilon(1e-12));
    CHECK(simulation.links[1].carried.in(units::GB) == Approx(40 * (0.02 - latency)).epsilon(1e-12));
    CHECK(simulation.links[1].busy_share == Approx((0.02 - latency) / 0.02).epsilon(1e-9));
}

TEST_CASE("flows: transfers of an ideal network, and those without a demand, never touch a link", "[INV-65]") {
    GraphMaker maker(2);
    maker.transfer({0}, 1);
    maker.transfer({1}, 1);
    Fabric const fabric(links_of({10}), {{flow({0}, 10)}, {flow({0}, 10)}});
    EngineOptions ideal;
    ideal.network = NetworkMode::ideal;
    Simulation const without = simulate(maker.graph, fabric, ideal);
    CHECK(without.times.makespan().base() == 1);
    CHECK(without.links.empty());
    for (Task& task : maker.graph.tasks)
        task.demand = -1;
    CHECK(simulate(maker.graph, fabric, fair).times.makespan().base() == 1);
}

TEST_CASE("flows: two that share a link take twice as long, two on links of their own do not", "[INV-66]") {
    for (double const end : ends({10, 10}, {flow({0}, 10), flow({0}, 10)}, 1))
        CHECK(end == Approx(2).epsilon(1e-12));
    for (double const end : ends({10, 10}, {flow({0}, 10), flow({1}, 10)}, 1))
        CHECK(end == Approx(1).epsilon(1e-12));
}

TEST_CASE("flows: what a slow one leaves goes to the others", "[INV-66]") {
    // 2 of 10 go to the slow one, which never notices; the two others get 4 each instead of 8.
    auto const times = ends({10}, {flow({0}, 2), flow({0}, 8), flow({0}, 8)}, 1);
    CHECK(times[0] == Approx(1).epsilon(1e-12));
    // 4 GB of 8 by then; afterwards 5 each.
    CHECK(times[1] == Approx(1 + 4 / 5.0).epsilon(1e-12));
    CHECK(times[2] == Approx(times[1]).epsilon(1e-12));
}

TEST_CASE("flows: a narrow link elsewhere leaves more of the shared one", "[INV-66]") {
    // The first is held to 3 by link 1, so the second has 7 of link 0 and moves its 10 GB in 10/7 s.
    auto const times = ends({10, 3}, {flow({0, 1}, 10), flow({0}, 10)}, 1);
    CHECK(times[1] == Approx(10 / 7.0).epsilon(1e-12));
    CHECK(times[0] == Approx(10 / 3.0).epsilon(1e-12));
}

TEST_CASE("flows: rates are max-min at every moment", "[INV-66]") {
    auto const seed = GENERATE(range(0, 150));
    std::mt19937_64 random(seeded(static_cast<std::uint64_t>(seed)));
    std::vector<double> bandwidths(1 + random() % 8);
    for (double& bandwidth : bandwidths)
        bandwidth = 1 + static_cast<double>(random() % 100);
    std::vector<Flow> flows(1 + random() % 20);
    for (Flow& one : flows) {
        std::vector<std::int32_t> links;
        for (std::size_t link = 0; link < bandwidths.size(); ++link)
            if (random() % 3 == 0) links.push_back(static_cast<std::int32_t>(link));
        if (links.empty()) links.push_back(static_cast<std::int32_t>(random() % bandwidths.size()));
        one = flow(links, 0.5 * static_cast<double>(1 + random() % 150));
    }
    std::vector<double> const expected = max_min_ends(bandwidths, flows, 1.0);
    std::vector<double> const simulated = ends(bandwidths, flows, 1.0);
    INFO("seed " << seed);
    for (std::size_t i = 0; i < flows.size(); ++i)
        CHECK(simulated[i] == Approx(expected[i]).epsilon(1e-9));
}

TEST_CASE("flows: transfers of seconds end, however far the one before them lies back", "[INV-66]") {
    // From 8 s on the step of a double is more than 1e-15 s, and a sum may be past the end that it is to reach.
    auto const times = ends({6, 70, 20, 36},
                            {flow({3}, 44.5), flow({0, 1}, 38.5), flow({1}, 19), flow({3}, 51.5), flow({0, 2}, 44.5),
                             flow({3}, 48), flow({1}, 5.5), flow({1}, 29), flow({3}, 24)},
                            1.0);
    CHECK(times[1] == Approx(38.5 / 3).epsilon(1e-12));
    CHECK(times[4] == Approx(38.5 / 3 + 1).epsilon(1e-12));
    std::mt19937_64 random(seeded(9));
    for (int i = 0; i < 50; ++i) {
        GraphMaker maker(2);
        double const first = uniform(random, 0.1, 5);
        maker.transfer({0}, first);
        double const second = uniform(random, 8, 1e4);
        maker.transfer({1}, second);
        CAPTURE(first, second);
        Simulation const simulation =
            simulate(maker.graph, Fabric(links_of({10, 10}), {{flow({0}, 10)}, {flow({1}, 10)}}), fair);
        REQUIRE(simulation.state == State::finished);
        CHECK(simulation.times.makespan().base() == Approx(second).epsilon(1e-12));
    }
}

TEST_CASE("flows: no link carries more than it can, none loses a byte, nothing is faster than alone", "[INV-67]") {
    auto const seed = GENERATE(range(0, 30));
    std::mt19937_64 random(seeded(static_cast<std::uint64_t>(seed)));
    RandomTraffic traffic(random, 200);
    Simulation const simulation = simulate(traffic.maker.graph, Fabric(traffic.links, traffic.flows), fair);
    REQUIRE(simulation.state == State::finished);
    std::vector<double> sent(traffic.links.size(), 0);
    for (std::size_t task = 0; task < traffic.flows.size(); ++task) {
        Task const& it = traffic.maker.graph.tasks[task];
        for (Flow const& one : traffic.flows[task])
            for (std::int32_t const link : one.links)
                sent[static_cast<std::size_t>(link)] += one.rate.base() * (it.duration - it.latency);
        CHECK(simulation.times.end[task] - simulation.times.start[task] >= it.duration * (1 - 1e-9));
    }
    for (std::size_t link = 0; link < sent.size(); ++link) {
        CHECK(simulation.links[link].carried.base() == Approx(sent[link]).epsilon(1e-9));
        CHECK(simulation.links[link].busy_share <= 1 + 1e-9);
    }
}

TEST_CASE("flows: traffic of others takes its share of scale-out links alone", "[INV-66]") {
    GraphMaker maker(2);
    maker.transfer({0}, 1);
    maker.transfer({1}, 1);
    std::vector<FabricLink> const links{{"node0.gpu0.nic.out", 10 * units::GB / units::s},
                                        {"node0.gpu1.nvlink.out", 10 * units::GB / units::s}};
    EngineOptions options;
    options.other_traffic = 0.6;
    Simulation const simulation = simulate(maker.graph, Fabric(links, {{flow({0}, 10)}, {flow({1}, 10)}}), options);
    CHECK(simulation.times.end[0] == Approx(2.5).epsilon(1e-12));
    CHECK(simulation.times.end[1] == Approx(1).epsilon(1e-12));
    CHECK(simulation.links[0].bandwidth.in(units::GB / units::s) == Approx(4));
    CHECK(simulation.links[0].busy_share == Approx(1));
}

TEST_CASE("flows: a link that fails stops what is on it, with the sentence that says so", "[INV-68]") {
    GraphMaker maker(5);
    auto const sent = maker.transfer({0}, 0.25);
    auto const stuck = maker.transfer({3}, 0.5, 0, {sent});
    maker.graph.tasks[stuck].microbatch = 2;
    maker.graph.tasks[stuck].stage = 1;
    auto last = stuck;
    for (int i = 0; i < 7; ++i)
        last = maker.compute(1, 1, {last});
    auto const elsewhere = maker.compute(2, 9);
    Fabric const fabric(links_of({10, 20}), {{flow({0}, 10)}, {flow({0, 1}, 10)}});
    EngineOptions options;
    options.failures = {{"link0", 0.5 * units::s}};
    Simulation const simulation = simulate(maker.graph, fabric, options);
    CHECK(simulation.state == State::stuck);
    CHECK(simulation.message ==
          "link link0 failed at 0.5 s; 1 task never finishes: rank 3 all-reduce (microbatch 2, stage 1); 7 more wait "
          "for it");
    CHECK(simulation.times.end[sent] == Approx(0.25));
    CHECK(simulation.times.end[stuck] < 0);
    CHECK(simulation.times.start[last] < 0);
    CHECK(simulation.times.end[elsewhere] == 9);
    CHECK(simulation.links[1].carried.in(units::GB) == Approx(2.5));  // half a transfer of 5
    CHECK(simulation.links[0].carried.in(units::GB) == Approx(5));
}

TEST_CASE("flows: transfers that start after the failure are stuck as well, and only three are named", "[INV-68]") {
    GraphMaker maker(8);
    std::vector<std::vector<Flow>> flows;
    for (std::int32_t rank = 0; rank < 8; ++rank) {
        maker.transfer({rank}, 1, 0.1);
        flows.push_back({flow({rank}, 10)});
    }
    Fabric const fabric(links_of(std::vector<double>(8, 10)), flows);
    EngineOptions options;
    options.failures = {{"link*", Seconds{}}};
    Simulation const all = simulate(maker.graph, fabric, options);
    CHECK(all.state == State::stuck);
    CHECK(all.message ==
          "link link0 and 7 more failed at 0 s; 8 tasks never finish: rank 0 all-reduce, rank 1 "
          "all-reduce, rank 2 all-reduce and 5 more");
    // A failure that nobody meets changes nothing.
    options.failures = {{"link*", 1.5 * units::s}};
    CHECK(simulate(maker.graph, fabric, options).state == State::finished);
}
