#include "tests/catch.hpp"
#include "tests/seeds.hpp"
#include "tests/simulator/graph_maker.hpp"

#include <algorithm>
#include <set>

using namespace sextant;
using namespace sextant::fixtures;

TEST_CASE("walk_graph: a diamond takes its longer side", "[INV-60]") {
    GraphMaker maker;
    auto const first = maker.compute(0, 1);
    auto const left = maker.compute(0, 2, {first});
    auto const right = maker.compute(0, 5, {first});
    auto const last = maker.compute(0, 3, {left, right});
    TaskTimes const times = walk_graph(maker.graph);
    CHECK(times.start == std::vector<double>{0, 1, 1, 6});
    CHECK(times.end == std::vector<double>{1, 3, 6, 9});
    CHECK(times.makespan().base() == 9);
    CHECK(times.end[last] == 9);
}

TEST_CASE("walk_graph: nothing takes no time", "[INV-60]") {
    CHECK(walk_graph(TaskGraph{}).makespan().base() == 0);
    CHECK(walk_graph(TaskGraph{}).end.empty());
}

TEST_CASE("walk_graph: every task starts when the last it waits for ends, and takes its time", "[INV-60]") {
    auto const seed = GENERATE(range(0, 50));
    std::mt19937_64 random(seeded(static_cast<std::uint64_t>(seed)));
    TaskGraph const graph = random_graph(random, 500, 1 + seed % 7, 1e-3, 4);
    TaskTimes const times = walk_graph(graph);
    for (std::size_t task = 0; task < graph.tasks.size(); ++task) {
        double ready = 0;
        for (auto const needed : graph.dependencies_of(task))
            ready = std::max(ready, times.end[needed]);
        CHECK(times.start[task] == ready);
        CHECK(times.end[task] == ready + graph.tasks[task].duration);
    }
    CHECK(times.makespan().base() == *std::max_element(times.end.begin(), times.end.end()));
}

TEST_CASE("walk_graph: a task that takes longer never makes the step shorter", "[INV-60]") {
    std::mt19937_64 random(seeded(7));
    TaskGraph graph = random_graph(random, 300, 4, 1e-3, 2);
    double before = walk_graph(graph).makespan().base();
    for (int change = 0; change < 100; ++change) {
        graph.tasks[random() % graph.tasks.size()].duration *= 1.5;
        double const after = walk_graph(graph).makespan().base();
        CHECK(after >= before);
        before = after;
    }
}

TEST_CASE("streams, parts and passes each have a name of their own", "[INV-60]") {
    std::set<std::string_view> streams;
    for (std::size_t i = 0; i < stream_count; ++i)
        streams.insert(name_of(static_cast<Stream>(i)));
    CHECK(streams.size() == stream_count);
    std::set<std::string_view> parts;
    for (int i = 0; i <= static_cast<int>(TaskPart::compute); ++i)
        parts.insert(name_of(static_cast<TaskPart>(i)));
    CHECK(parts.size() == static_cast<std::size_t>(TaskPart::compute) + 1);
    std::set<std::string_view> passes;
    for (int i = 0; i <= static_cast<int>(TaskPass::step); ++i)
        passes.insert(name_of(static_cast<TaskPass>(i)));
    CHECK(passes.size() == 5);
    CHECK(streams.count("?") + parts.count("?") + passes.count("?") == 0);
}
