#include "simulator/step_analysis.hpp"

#include "tests/catch.hpp"
#include "tests/simulator/sample_graph.hpp"

#include <set>

using namespace sextant;
using fixtures::sample_graph;
using fixtures::SampleTimes;

namespace {

/// The same sums second by second, for graphs in which every time is a whole number.
RankAnalysis by_seconds(TaskGraph const& graph, TaskTimes const& times, std::int32_t rank) {
    RankAnalysis sums;
    auto const steps = static_cast<int>(times.makespan().base());
    auto const runs = [&](std::size_t id, int second) {
        auto const ranks = ranks_of(graph, graph.tasks[id]);
        return times.start[id] <= second && times.end[id] > second &&
               std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
    };
    int first = -1, last = -1;
    std::vector<int> idle;
    for (int second = 0; second < steps; ++second) {
        TaskPart const order[] = {TaskPart::tp, TaskPart::cp, TaskPart::ep,
                                  TaskPart::pp, TaskPart::dp, TaskPart::offload};
        std::set<TaskPart> communications;
        bool computing = false;
        for (std::size_t id = 0; id < graph.tasks.size(); ++id) {
            if (!runs(id, second)) continue;
            if (computes(graph.tasks[id])) {
                computing = true;
                sums.compute[graph.tasks[id].part] += 1 * units::s;
            } else {
                communications.insert(graph.tasks[id].part);
            }
        }
        for (TaskPart const part : communications) {
            sums.overlap[static_cast<std::size_t>(part)].total += 1 * units::s;
            if (computing) sums.overlap[static_cast<std::size_t>(part)].hidden += 1 * units::s;
        }
        if (computing) {
            if (first < 0) first = second;
            last = second;
        } else if (communications.empty()) {
            idle.push_back(second);
        } else {
            for (TaskPart const part : order)
                if (communications.contains(part)) {
                    sums.exposed[part] += 1 * units::s;
                    break;
                }
        }
    }
    for (int const second : idle)
        (second < first ? sums.idle.before : second > last ? sums.idle.after : sums.idle.between) += 1 * units::s;
    return sums;
}

}  // namespace

TEST_CASE("analyse: what each rank computes, waits for and idles adds up to the step, for every schedule") {
    auto const [name, shape] = GENERATE(from_range(fixtures::sample_shapes()));
    SampleTimes const times{.forward = GENERATE(1.0, 0.3),
                            .backward = 1.7,
                            .transfer = GENERATE(0.0, 0.123),
                            .layer = GENERATE(0.0, 0.07),
                            .gradients = 2.9,
                            .optimizer = 0.01};
    CAPTURE(name, shape.ranks, shape.chunks, times.transfer);
    TaskGraph const graph = sample_graph(name, shape, times);
    StepAnalysis const analysis = analyse(graph, walk_graph(graph));
    for (RankAnalysis const& rank : analysis.ranks) {
        Seconds const sum = rank.compute.total() + rank.exposed.total() + rank.idle.total();
        CHECK(sum.base() == Approx(analysis.makespan.base()).epsilon(1e-12));
        for (std::size_t part = 0; part < task_part_count; ++part) {
            CHECK(rank.overlap[part].hidden <= rank.overlap[part].total);
            CHECK((rank.overlap[part].total - rank.overlap[part].hidden - rank.exposed.time[part]).base() >= -1e-9);
        }
    }
    CHECK(analysis.bubble_share() >= analysis.least_bubble_share());
}

TEST_CASE("analyse: sums equal those counted second by second") {
    auto const [name, shape] = GENERATE(from_range(fixtures::sample_shapes()));
    SampleTimes const times{.forward = 2,
                            .backward = 4,
                            .transfer = GENERATE(0.0, 1.0, 5.0),
                            .layer = GENERATE(0.0, 3.0),
                            .gradients = 7,
                            .optimizer = 2};
    CAPTURE(name, shape.ranks, shape.chunks, times.transfer, times.layer);
    TaskGraph const graph = sample_graph(name, shape, times);
    TaskTimes const ran = walk_graph(graph);
    StepAnalysis const analysis = analyse(graph, ran);
    for (std::size_t i = 0; i < graph.ranks.size(); ++i) {
        RankAnalysis const expected = by_seconds(graph, ran, static_cast<std::int32_t>(i));
        RankAnalysis const& rank = analysis.ranks[i];
        CHECK(rank.idle.before == expected.idle.before);
        CHECK(rank.idle.between == expected.idle.between);
        CHECK(rank.idle.after == expected.idle.after);
        for (std::size_t part = 0; part < task_part_count; ++part) {
            CHECK(rank.compute.time[part] == expected.compute.time[part]);
            CHECK(rank.exposed.time[part] == expected.exposed.time[part]);
            CHECK(rank.overlap[part].total == expected.overlap[part].total);
            CHECK(rank.overlap[part].hidden == expected.overlap[part].hidden);
        }
    }
}

TEST_CASE("analyse: a 1F1B pipeline idles (p - 1)/(m + p - 1) of the step on every rank") {
    TaskGraph const graph = sample_graph("1f1b", {4, 8, 1}, {});
    StepAnalysis const analysis = analyse(graph, walk_graph(graph));
    CHECK(analysis.makespan == 33 * units::s);
    CHECK(analysis.bubble_share() == Approx(3.0 / 11));
    CHECK(analysis.least_bubble_share() == Approx(3.0 / 11));
    CHECK(analysis.ranks[0].idle.before == Seconds{});
    CHECK(analysis.ranks[0].idle.between == 9 * units::s);
    CHECK(analysis.ranks[3].idle.before == 3 * units::s);
    CHECK(analysis.ranks[3].idle.between == Seconds{});
    CHECK(analysis.ranks[3].idle.after == 6 * units::s);
}

TEST_CASE("analyse: a collective of several ranks counts on each of them, at its precedence") {
    TaskGraph graph;
    graph.ranks = {{0, 0, 1}, {1, 0, 3}};
    graph.names = {"work", "exchange"};
    graph.demands = {{.members = {0, 1}}};
    graph.tasks = {{.duration = 4, .rank = 0},
                   {.duration = 1, .rank = 1},
                   {.duration = 5, .rank = 0, .demand = 0, .stream = Stream::data_parallel, .part = TaskPart::dp},
                   {.duration = 2, .rank = 1, .stream = Stream::layer_communication, .part = TaskPart::tp}};
    StepAnalysis const analysis = analyse(graph, walk_graph(graph));
    CHECK(analysis.ranks[0].exposed[TaskPart::dp] == 1 * units::s);
    CHECK(analysis.ranks[0].overlap[static_cast<std::size_t>(TaskPart::dp)].hidden == 4 * units::s);
    CHECK(analysis.ranks[1].exposed[TaskPart::tp] == 1 * units::s);
    CHECK(analysis.ranks[1].exposed[TaskPart::dp] == 3 * units::s);
    CHECK(analysis.ranks[1].overlap[static_cast<std::size_t>(TaskPart::dp)].share() == 0.2);
    CHECK(analysis.mean.compute.total() == 1.75 * units::s);  // rank 1 stands for three
    CHECK(analysis.bubble_share() == 0);
}

TEST_CASE("analyse: tasks that never ran leave their time idle") {
    TaskGraph const graph = sample_graph("1f1b", {2, 2, 1}, {});
    TaskTimes times = walk_graph(graph);
    for (std::size_t id = 0; id < graph.tasks.size(); ++id)
        if (graph.tasks[id].rank == 1) times.start[id] = times.end[id] = -1;
    StepAnalysis const analysis = analyse(graph, times);
    CHECK(analysis.ranks[1].idle.total() == analysis.makespan);
    CHECK(analysis.ranks[1].busy() == Seconds{});
    CHECK(analysis.busiest == 0);
    CHECK(analysis.idlest == 1);
}
