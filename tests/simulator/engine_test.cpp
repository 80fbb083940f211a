#include "simulator/engine/engine.hpp"
#include "core/error.hpp"
#include "core/parallel_for.hpp"
#include "simulator/engine/worker.hpp"
#include "tests/catch.hpp"
#include "tests/seeds.hpp"
#include "tests/simulator/graph_maker.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <string>

using namespace sextant;
using namespace sextant::fixtures;
using State = Simulation::State;

namespace {

Fabric const no_fabric(std::vector<FabricLink>{}, {});
EngineOptions const ideal{.network = NetworkMode::ideal};

Simulation run_ideal(TaskGraph const& graph) { return simulate(graph, no_fabric, ideal); }

double makespan(Simulation const& simulation) { return simulation.times.makespan().base(); }

}  // namespace

TEST_CASE("simulate: an ideal network gives the walk of the graph to 1e-9", "[INV-62]") {
    auto const seed = GENERATE(range(0, 300));
    std::mt19937_64 random(seeded(static_cast<std::uint64_t>(seed)));
    double const scales[] = {1e-6, 1e-3, 1, 100};
    TaskGraph const graph = random_graph(random, 20 + random() % 400, 1 + seed % 9, scales[seed % 4],
                                         seed % 3 == 0 ? 8 : 2, 1 + random() % 100);
    TaskTimes const walk = walk_graph(graph);
    Simulation const simulation = run_ideal(graph);
    INFO("seed " << seed << " " << simulation.message);
    REQUIRE(simulation.state == State::finished);
    double worst = 0;
    for (std::size_t task = 0; task < graph.tasks.size(); ++task)
        worst = std::max({worst, std::abs(simulation.times.end[task] - walk.end[task]),
                          std::abs(simulation.times.start[task] - walk.start[task])});
    CHECK(worst <= 1e-9 * walk.makespan().base());
}

TEST_CASE("simulate: microseconds inside a step of minutes keep their digits, also where collectives hold compute",
          "[INV-62]") {
    GraphMaker maker(2);
    auto const long_task = maker.compute(0, 100);
    std::uint32_t last = maker.compute(1, 100);
    double expected = 100;
    for (int i = 0; i < 20000; ++i) {
        last = maker.compute(1, 1e-6, {last});
        expected += 1e-6;
    }
    maker.compute(0, 3, {last, long_task});
    CHECK(makespan(run_ideal(maker.graph)) == Approx(expected + 3).epsilon(1e-12));

    // The same through SimGrid's own compute model: a collective at the end makes rank 1 one that can slow down.
    maker.transfer({1}, 0.5, 0, {last});
    EngineOptions holding = ideal;
    holding.communication_sms = 0.25;
    Simulation const simulation = simulate(maker.graph, no_fabric, holding);
    CHECK(makespan(simulation) == Approx(expected + 3).epsilon(1e-12));
    CHECK(simulation.times.end[last] == Approx(walk_graph(maker.graph).end[last]).epsilon(1e-13));
}

TEST_CASE("simulate: tasks without duration cost nothing, however many follow each other", "[INV-62]") {
    GraphMaker maker;
    std::uint32_t last = maker.compute(0, 1);
    for (int i = 0; i < 200000; ++i)
        last = maker.compute(0, 0, {last});
    maker.compute(0, 2, {last});
    Simulation const simulation = run_ideal(maker.graph);
    CHECK(simulation.state == State::finished);
    CHECK(makespan(simulation) == 3);
    CHECK(simulation.activities < 10);
}

TEST_CASE("simulate: an empty graph is finished at once", "[INV-62]") {
    Simulation const simulation = run_ideal(TaskGraph{});
    CHECK(simulation.state == State::finished);
    CHECK(makespan(simulation) == 0);
}

TEST_CASE("simulate: compute beside a collective runs at what it leaves", "[INV-63]") {
    auto const [share, compute, collective, expected] = GENERATE(table<double, double, double, double>({
        {0.2, 1.0, 0.5, 1.1},  // 0.5 s at 0.8, the other 0.6 at full speed
        {0.2, 1.0, 5.0, 1.25},
        {0.75, 1.0, 2.0, 2.5},
        {0.0, 1.0, 0.5, 1.0},
    }));
    GraphMaker maker(3);
    auto const work = maker.compute(1, compute);
    auto const other = maker.compute(2, compute);
    maker.transfer({0, 1}, collective);
    EngineOptions options = ideal;
    options.communication_sms = share;
    Simulation const simulation = simulate(maker.graph, no_fabric, options);
    REQUIRE(simulation.state == State::finished);
    CHECK(simulation.times.end[work] == Approx(expected).epsilon(1e-12));
    CHECK(simulation.times.end[other] == compute);  // no member
}

TEST_CASE("simulate: two collectives at once take the share once, and send/receives take none", "[INV-63]") {
    GraphMaker maker(1);
    auto const work = maker.compute(0, 2);
    maker.transfer({0}, 0.5);
    maker.transfer({0}, 1.0);
    maker.transfer({0}, 1.5, 0, {}, CollectiveKind::send_receive);
    EngineOptions options = ideal;
    options.communication_sms = 0.5;
    CHECK(simulate(maker.graph, no_fabric, options).times.end[work] == Approx(2.5).epsilon(1e-12));
}

TEST_CASE("simulate: the same input gives the same result to the bit, also from several threads at once", "[INV-64]") {
    std::mt19937_64 random(seeded(11));
    GraphMaker maker(4);
    std::vector<std::vector<Flow>> flows;
    std::uint32_t last = 0;
    for (int i = 0; i < 400; ++i) {
        std::vector<std::uint32_t> after;
        if (i >= 4) after.push_back(last - static_cast<std::uint32_t>(random() % 4));
        auto const rank = static_cast<std::int32_t>(random() % 4);
        if (random() % 2 == 0) {
            last = maker.compute(rank, 1e-3 * static_cast<double>(1 + random() % 100), after);
        } else {
            last = maker.transfer({rank, (rank + 1) % 4}, 1e-3 * static_cast<double>(1 + random() % 100), 1e-5, after);
            flows.push_back({flow({rank}, 10), flow({(rank + 1) % 4}, 7)});
        }
    }
    Fabric const fabric(links_of({10, 10, 12, 15}), flows);
    EngineOptions const options{.communication_sms = 0.2};
    Simulation const once = simulate(maker.graph, fabric, options);
    REQUIRE(once.state == State::finished);
    std::vector<Simulation> again(8);
    parallel_for(8, worker_threads(8),
                 [&](std::int64_t i) { again[static_cast<std::size_t>(i)] = simulate(maker.graph, fabric, options); });
    for (Simulation const& simulation : again) {
        CHECK(simulation.state == State::finished);
        CHECK(simulation.times.start == once.times.start);
        CHECK(simulation.times.end == once.times.end);
        CHECK(simulation.activities == once.activities);
        for (std::size_t i = 0; i < once.links.size(); ++i)
            CHECK(simulation.links[i].carried.base() == once.links[i].carried.base());
    }
}

TEST_CASE("simulate: a time limit and an interrupt are states with the progress so far", "[INV-61]") {
    std::mt19937_64 random(seeded(3));
    TaskGraph const graph = random_graph(random, 300000, 64, 1e-3, 2);
    EngineOptions options = ideal;
    options.time_limit = 1 * units::us;
    Simulation const late = simulate(graph, no_fabric, options);
    CHECK(late.state == State::timed_out);
    CHECK_THAT(late.message, contains("not finished within 1e-06 s"));
    CHECK_THAT(late.message, contains("of 300000 tasks were done"));

    std::atomic<bool> const stop = true;
    options = ideal;
    options.stop = &stop;
    Simulation const interrupted = simulate(graph, no_fabric, options);
    CHECK(interrupted.state == State::interrupted);
    CHECK_THAT(interrupted.message, contains("interrupted: 0 of 300000"));
    CHECK(interrupted.times.end.size() == graph.tasks.size());
    CHECK((waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD));
}

TEST_CASE("simulate: options out of range are named", "[INV-11]") {
    auto const [change, message] = GENERATE(table<void (*)(EngineOptions&), char const*>({
        {[](EngineOptions& o) { o.communication_sms = 1; }, "here: the share of compute that communication takes is 1"},
        {[](EngineOptions& o) { o.communication_sms = -0.1; }, "is -0.1 (from 0 up to, but not, 1)"},
        {[](EngineOptions& o) { o.other_traffic = NAN; }, "the share of links that other traffic takes is nan"},
        {[](EngineOptions& o) { o.time_limit = Seconds{}; }, "the time limit must be positive"},
        {[](EngineOptions& o) {
             o.failures = {{"link0", -1 * units::s}};
         },
         "link \"link0\" fails at -1 s"},
        {[](EngineOptions& o) {
             o.failures = {{"link7", 1 * units::s}};
         },
         "link7"},
        {[](EngineOptions& o) { o.network = NetworkMode::ideal, o.other_traffic = 0.5; }, "an ideal network"},
    }));
    EngineOptions options;
    change(options);
    Fabric const fabric(links_of({1}), {});
    CHECK_THROWS_WITH(check_engine_options(options, fabric, "here"), contains(message));
    CHECK_THROWS_AS(simulate(TaskGraph{}, fabric, options), InputError);
}

TEST_CASE("network modes are found by name", "[INV-11]") {
    for (NetworkMode const mode : {NetworkMode::ideal, NetworkMode::fair})
        CHECK(network_mode_from(name_of(mode), "here") == mode);
    CHECK_THROWS_WITH(network_mode_from("fare", "--network"),
                      "--network: \"fare\" is no kind of network (allowed: ideal, fair)");
}
