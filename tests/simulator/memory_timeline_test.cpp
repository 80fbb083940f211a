#include "simulator/memory_timeline.hpp"

#include "simulator/schedule_walk.hpp"
#include "tests/catch.hpp"
#include "tests/simulator/sample_graph.hpp"

#include <algorithm>

using namespace sextant;
using fixtures::sample_graph;

namespace {

MemoryInput input_for(TaskGraph const& graph, std::int64_t stages, Bytes fixed, StageActivations activations) {
    return {std::vector<Bytes>(graph.ranks.size(), fixed),
            std::vector<StageActivations>(static_cast<std::size_t>(stages), activations)};
}

}  // namespace

TEST_CASE("memory_timelines: without a pair's overlap, memory is what the schedule's walk holds, for every schedule") {
    auto const [name, shape] = GENERATE(from_range(fixtures::sample_shapes()));
    CAPTURE(name, shape.ranks, shape.chunks);
    auto const schedule = build_schedule(find_schedule(name, "test"), shape, "test");
    auto const is_pair = [](Slot const& slot) { return slot.kind == SlotKind::forward_backward; };
    auto const& last = schedule.ranks.back();
    bool const paired = std::any_of(last.begin(), last.end(), is_pair);  // side by side in the walk
    if (paired || name == "forward-only") return;
    TaskGraph const graph = fixtures::SampleGraph(schedule, {}).graph;
    auto const timelines = memory_timelines(graph, walk_graph(graph),
                                            input_for(graph, shape.stages(), 100 * units::B, {1 * units::B, {}, {}}));
    UniformTimes const times{1 * units::s, 1 * units::s, 1 * units::s, 3 * units::s};
    ScheduleWalk const walk = walk_schedule(schedule, uniform_costs(shape.stages(), times));
    for (std::size_t rank = 0; rank < timelines.size(); ++rank) {
        CHECK(timelines[rank].peak.base() == 100 + static_cast<double>(walk.ranks[rank].peak_in_flight));
        auto const held = in_flight_over_time(schedule, walk, static_cast<std::int64_t>(rank));
        for (std::size_t i = 0; i < held.size(); ++i) {
            if (i + 1 < held.size() && held[i + 1].time == held[i].time) continue;  // the last change at an instant
            Bytes now;
            for (MemoryStep const& step : timelines[rank].steps)
                if (step.time <= held[i].time.base()) now = step.bytes;
            CHECK(now.base() == 100 + static_cast<double>(held[i].held));
        }
    }
}

TEST_CASE("memory_timelines: ends where it began, in ascending time, and reaches its peak when it says") {
    auto const [name, shape] = GENERATE(from_range(fixtures::sample_shapes()));
    CAPTURE(name, shape.ranks, shape.chunks);
    TaskGraph const graph = sample_graph(name, shape, {.forward = 1.3, .backward = 2.1, .transfer = 0.1});
    TaskTimes const times = walk_graph(graph);
    for (MemoryTimeline const& timeline : memory_timelines(
             graph, times,
             input_for(graph, shape.stages(), 7e9 * units::B, {3 * units::GB, 1 * units::GB, 1 * units::GB}))) {
        CHECK(timeline.steps.front().time == 0);
        CHECK(timeline.steps.back().bytes == 7e9 * units::B);
        Bytes most;
        Seconds when;
        for (std::size_t i = 0; i < timeline.steps.size(); ++i) {
            if (i > 0) CHECK(timeline.steps[i - 1].time < timeline.steps[i].time);
            CHECK(timeline.steps[i].bytes >= 7e9 * units::B);
            if (timeline.steps[i].bytes > most) {
                most = timeline.steps[i].bytes;
                when = timeline.steps[i].time * units::s;
            }
        }
        CHECK(timeline.peak == most);
        CHECK(timeline.peak_time == when);
    }
}

TEST_CASE("memory_timelines: logits wait from a forward to its backward, their gradients for the weight half") {
    TaskGraph graph;
    graph.ranks = {{0, 0, 1}};
    graph.names = {"a"};
    auto const task = [](TaskPass pass, std::int32_t microbatch, std::uint32_t first) {
        return Task{.duration = 1, .first_dependency = first, .microbatch = microbatch, .stage = 0, .pass = pass};
    };
    graph.tasks = {task(TaskPass::forward, 0, 0),         task(TaskPass::forward, 1, 0),
                   task(TaskPass::backward_input, 0, 1),  task(TaskPass::backward_input, 1, 2),
                   task(TaskPass::backward_weight, 0, 3), task(TaskPass::backward_weight, 1, 4)};
    graph.dependencies = {0, 1, 2, 3, 4};
    auto const timelines = memory_timelines(
        graph, walk_graph(graph),
        {{Bytes{}}, {{.kept = {}, .forward = {}, .backward = {}, .logits = 10 * units::B, .gradients = 1 * units::B}}});
    std::vector<double> bytes;
    for (MemoryStep const& step : timelines[0].steps)
        bytes.push_back(step.bytes.base());
    // F0; F1 beside the logits of 0; I0 beside those of 1; then gradients of 0, of both, of 1.
    CHECK(bytes == std::vector<double>{0, 10, 1, 2, 1, 0});
}

TEST_CASE("memory_timelines: a split backward keeps activations until its weight half, and works in its input half") {
    TaskGraph graph;
    graph.ranks = {{0, 0, 1}};
    graph.names = {"a"};
    auto const task = [](double time, std::uint32_t first, TaskPass pass) {
        return Task{.duration = time, .first_dependency = first, .microbatch = 0, .stage = 0, .pass = pass};
    };
    graph.tasks = {task(1, 0, TaskPass::forward), task(2, 0, TaskPass::backward_input),
                   task(4, 1, TaskPass::backward_weight)};
    graph.dependencies = {0, 1};
    auto const timeline =
        memory_timelines(
            graph, walk_graph(graph),
            {{10 * units::B},
             {{.kept = 5 * units::B, .forward = 2 * units::B, .backward = 9 * units::B, .input_half = 2 * units::B}}})
            .front();
    REQUIRE(timeline.steps.size() == 3);
    CHECK(timeline.steps[0].bytes == 17 * units::B);
    CHECK(timeline.steps[1].time == 3);
    CHECK(timeline.steps[1].bytes == 15 * units::B);
    CHECK(timeline.steps[2].time == 7);
    CHECK(timeline.steps[2].bytes == 10 * units::B);
    CHECK(timeline.peak == 17 * units::B);
}

TEST_CASE(
    "memory_timelines: what is run again for an input half stays for the weight half, and goes with a whole one") {
    TaskGraph graph;
    graph.ranks = {{0, 0, 1}};
    graph.names = {"a"};
    auto const task = [](double time, std::uint32_t first, TaskPass pass) {
        return Task{.duration = time, .first_dependency = first, .microbatch = 0, .stage = 0, .pass = pass};
    };
    graph.tasks = {task(1, 0, TaskPass::forward), task(2, 0, TaskPass::backward_input),
                   task(4, 1, TaskPass::backward_weight)};
    graph.dependencies = {0, 1};
    MemoryInput const input{.fixed = {10 * units::B},
                            .stages = {{.kept = 1 * units::B,
                                        .forward = {},
                                        .backward = 3 * units::B,
                                        .input_half = 2 * units::B,
                                        .waiting = 6 * units::B}}};
    auto const steps = [&] {
        std::vector<std::pair<double, double>> out;
        auto const timeline = memory_timelines(graph, walk_graph(graph), input).front();
        for (MemoryStep const& s : timeline.steps)
            out.emplace_back(s.time, s.bytes.base());
        return out;
    };
    CHECK(steps() == std::vector<std::pair<double, double>>{{0, 11}, {1, 19}, {3, 17}, {7, 10}});
    graph.tasks = {task(1, 0, TaskPass::forward), task(6, 0, TaskPass::backward)};
    graph.dependencies = {0};
    CHECK(steps() == std::vector<std::pair<double, double>>{{0, 11}, {1, 14}, {7, 10}});
}

TEST_CASE(
    "memory_timelines: what an update holds comes after a step's last pass and goes before the next step's first") {
    TaskGraph graph;
    graph.ranks = {{0, 0, 1}};
    graph.names = {"a"};
    auto const pass = [](double time, std::uint32_t first, TaskPass kind) {
        return Task{.duration = time, .first_dependency = first, .microbatch = 0, .stage = 0, .pass = kind};
    };
    auto const step = [&](double forward) {
        graph.tasks.push_back(pass(forward, 0, TaskPass::forward));
        graph.tasks.push_back(pass(2, 0, TaskPass::backward));
        graph.tasks.push_back({.duration = 4, .first_dependency = 0, .pass = TaskPass::step});
    };
    step(1);
    step(1);
    graph.steps = {3};
    TaskTimes times;
    times.start = {0, 1, 3, 6, 7, 9};
    times.end = {1, 3, 7, 7, 9, 13};  // the first update ends beside the next forward
    auto const timeline =
        memory_timelines(graph, times,
                         {.fixed = {10 * units::B}, .stages = {{5 * units::B, {}, {}}}, .updating = {7 * units::B}})
            .front();
    CHECK(timeline.peak == 17 * units::B);
    std::vector<std::pair<double, double>> steps;
    for (MemoryStep const& s : timeline.steps)
        steps.emplace_back(s.time, s.bytes.base());
    CHECK(steps == std::vector<std::pair<double, double>>{{0, 15}, {3, 17}, {6, 15}, {9, 17}, {13, 10}});
}

TEST_CASE("memory_timelines: a rank without work keeps what is fixed") {
    TaskGraph graph;
    graph.ranks = {{0, 0, 1}};
    auto const timeline = memory_timelines(graph, walk_graph(graph), {{10 * units::B}, {}}).front();
    CHECK(timeline.peak == 10 * units::B);
    CHECK(timeline.steps.size() == 1);
}
