#include "simulator/critical_path.hpp"

#include "simulator/task_graph_builder.hpp"
#include "tests/catch.hpp"
#include "tests/seeds.hpp"
#include "tests/simulator/planned_case.hpp"
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
    CHECK(static_cast<std::size_t>(count) >= path.tasks.size());
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

TEST_CASE("critical_path: of a transfer beside compute only what shows counts as one") {
    TaskGraph graph;
    graph.ranks = {{0, 0, 1}};
    graph.names = {"last layer", "layer", "reduce", "update"};
    // The reduction of one layer is stretched over the compute of the next, and is done half a second after it.
    graph.tasks = {
        {.duration = 1},
        {.duration = 2, .first_dependency = 0, .name = 1},
        {.duration = 2.5, .first_dependency = 1, .name = 2, .stream = Stream::data_parallel, .part = TaskPart::dp},
        {.duration = 1, .first_dependency = 2, .name = 3, .part = TaskPart::optimizer}};
    graph.dependencies = {0, 0, 1, 2};
    CriticalPath const path = critical_path(graph, walk_graph(graph));
    CHECK(path.tasks == std::vector<std::uint32_t>{0, 2, 3});
    CHECK(path.parts[TaskPart::dp].base() == Approx(0.5));
    CHECK(path.parts[TaskPart::compute].base() == Approx(3));
    CHECK(path.parts[TaskPart::optimizer].base() == Approx(1));
    CHECK(path.ops.front().name == "layer");
    CHECK(path.ops.front().time.base() == Approx(2));
}

TEST_CASE("critical_path: on one rank its parts are what the rank's time counts for") {
    using namespace fixtures;
    std::mt19937_64 random(fixtures::seeded(9));
    ClusterSpec const machine = cluster();
    int shown = 0;
    for (int i = 0; i < 100; ++i) {
        FrameworkProfile const framework = busy_framework(random);
        PlannedCase c = draw_plan(random, true);
        c.plan.pp = c.plan.vpp = 1;
        c.plan.schedule = Schedule::one_f_one_b;
        ClosedForm form(c.model, c.workload, machine, framework, Precision::bf16);
        TaskGraph const graph = build_task_graph(form, c.plan, {});
        TaskTimes const times = walk_graph(graph);
        CriticalPath const path = critical_path(graph, times);
        RankAnalysis const rank = analyse(graph, times).ranks.front();
        CAPTURE(i, c.plan.dp, c.plan.cp, c.plan.ep, c.plan.zero);
        for (std::size_t part = 0; part < task_part_count; ++part) {
            CAPTURE(name_of(static_cast<TaskPart>(part)));
            CHECK(path.parts.time[part].base() ==
                  Approx((rank.compute.time[part] + rank.exposed.time[part]).base()).margin(1e-9 * path.length.base()));
        }
        if (path.parts[TaskPart::dp] > Seconds{}) ++shown;
    }
    CHECK(shown > 30);
}
