#include "simulator/critical_path.hpp"

#include "tests/catch.hpp"
#include "tests/simulator/sample_graph.hpp"

#include <algorithm>
#include <numeric>

using namespace sextant;
using fixtures::sample_graph;
using fixtures::SampleTimes;

TEST_CASE("critical_path: an unbroken chain of dependencies whose times add up to the step, for every schedule") {
    auto const [name, shape] = GENERATE(from_range(fixtures::sample_shapes()));
    SampleTimes const times{.forward = 1.1,
                            .backward = 1.7,
                            .transfer = GENERATE(0.0, 0.123),
                            .layer = GENERATE(0.0, 0.07),
                            .gradients = 2.9,
                            .optimizer = 0.01};
    CAPTURE(name, shape.ranks, shape.chunks, times.transfer);
    TaskGraph const graph = sample_graph(name, shape, times);
    CriticalPath const path = critical_path(graph, walk_graph(graph));
    REQUIRE(!path.tasks.empty());
    CHECK(graph.dependencies_of(path.tasks.front()).empty());
    for (std::size_t i = 1; i < path.tasks.size(); ++i) {
        auto const before = graph.dependencies_of(path.tasks[i]);
        CHECK(std::find(before.begin(), before.end(), path.tasks[i - 1]) != before.end());
    }
    auto const whole = Approx(path.length.base()).epsilon(1e-12);
    CHECK((path.parts.total() + path.waiting).base() == whole);
    CHECK(std::accumulate(path.ranks.begin(), path.ranks.end(), path.waiting).base() == whole);
    Seconds ops = path.waiting;
    std::int64_t count = 0;
    for (PathOp const& op : path.ops) {
        ops += op.time;
        count += op.count;
    }
    CHECK(ops.base() == whole);
    CHECK(static_cast<std::size_t>(count) == path.tasks.size());
    CHECK(
        std::is_sorted(path.ops.begin(), path.ops.end(), [](auto const& a, auto const& b) { return a.time > b.time; }));
    CHECK(path.network_delay.base() == Approx(0).margin(1e-9));
    CHECK(path.compute_delay.base() == Approx(0).margin(1e-9));
}

TEST_CASE("critical_path: a task made longer makes the step longer by as much if it is on the path") {
    TaskGraph graph = sample_graph("interleaved", {4, 8, 2}, {.forward = 1, .backward = 2, .transfer = 0.25});
    CriticalPath const path = critical_path(graph, walk_graph(graph));
    for (std::uint32_t const id : path.tasks) {
        graph.tasks[id].duration += 0.5;
        CHECK(walk_graph(graph).makespan().base() == Approx(path.length.base() + 0.5));
        graph.tasks[id].duration -= 0.5;
    }
}

TEST_CASE("critical_path: of dependencies that end together the first is followed") {
    TaskGraph graph;
    graph.ranks = {{0, 0, 1}};
    graph.names = {"a", "b", "c"};
    graph.tasks = {
        {.duration = 1, .name = 0}, {.duration = 1, .name = 1}, {.duration = 2, .first_dependency = 0, .name = 2}};
    graph.dependencies = {1, 0};
    CriticalPath const path = critical_path(graph, walk_graph(graph));
    CHECK(path.tasks == std::vector<std::uint32_t>{0, 2});
    CHECK(path.ops.front().name == "c");
}

TEST_CASE("critical_path: what tasks take longer than alone is told apart from waiting") {
    TaskGraph graph;
    graph.ranks = {{0, 0, 1}};
    graph.names = {"work", "exchange"};
    graph.tasks = {{.duration = 1},
                   {.duration = 2, .name = 1, .stream = Stream::pipeline, .part = TaskPart::pp},
                   {.duration = 3, .first_dependency = 1}};
    graph.dependencies = {0, 1};
    TaskTimes const times{.start = {0, 1, 6}, .end = {1, 5.5, 9.25}};
    CriticalPath const path = critical_path(graph, times);
    CHECK(path.tasks.size() == 3);
    CHECK(path.network_delay == 2.5 * units::s);
    CHECK(path.compute_delay == 0.25 * units::s);
    CHECK(path.waiting == 0.5 * units::s);
    CHECK(path.parts[TaskPart::pp] == 4.5 * units::s);
}
