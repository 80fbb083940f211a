#include "simulator/link_series.hpp"

#include "core/spec/hardware_catalog.hpp"
#include "simulator/engine/engine.hpp"
#include "tests/catch.hpp"
#include "tests/simulator/sample_graph.hpp"

#include <algorithm>

using namespace sextant;
using fixtures::sample_graph;

TEST_CASE("link_series: over the step each link carries what the simulation says it carried") {
    auto const name = GENERATE("1f1b", "zb-h1", "gpipe");
    CAPTURE(name);
    TaskGraph const graph = sample_graph(name, {4, 6, 1}, {.forward = 1e-3, .backward = 2e-3, .transfer = 7e-4}, 8);
    Fabric const fabric(find_cluster("h100-sxm", "test"), graph);
    Simulation const run = simulate(graph, fabric, {});
    REQUIRE(run.state == Simulation::State::finished);
    auto const series = link_series(graph, run.times, fabric, 1000);
    std::size_t carrying = 0;
    for (LinkUse const& use : run.links) {
        if (use.carried == Bytes{}) continue;
        ++carrying;
        auto const found =
            std::find_if(series.begin(), series.end(), [&](LinkSeries const& s) { return s.name == use.name; });
        REQUIRE(found != series.end());
        CHECK(found->bandwidth == use.bandwidth);
        Bytes carried;
        for (std::size_t i = 0; i + 1 < found->steps.size(); ++i) {
            CHECK(found->steps[i].time < found->steps[i + 1].time);
            carried += found->steps[i].rate * ((found->steps[i + 1].time - found->steps[i].time) * units::s);
        }
        CHECK(carried.base() == Approx(use.carried.base()).epsilon(1e-6));
        CHECK(found->steps.back().rate == BytesPerSecond{});
    }
    CHECK(carrying > 0);
    CHECK(series.size() == carrying);
    CHECK(link_series(graph, run.times, fabric, 2).size() == 2);
    CHECK(link_series(graph, run.times, fabric, 2)[0].name == series[0].name);
}

TEST_CASE("link_series: a transfer that waits for its latency moves nothing meanwhile") {
    TaskGraph graph;
    graph.ranks = {{0, 0, 8}, {8, 1, 8}};
    graph.names = {"send"};
    graph.demands = {{.kind = CollectiveKind::send_receive, .members = {0, 1}, .shares = {.scale_out = 0.5}}};
    graph.tasks = {{.duration = 3, .latency = 1, .demand = 0, .stream = Stream::pipeline, .part = TaskPart::pp}};
    Fabric const fabric(find_cluster("h100-sxm", "test"), graph);
    TaskTimes const slowed{.start = {2}, .end = {7}};  // 4 s of moving instead of 2
    auto const series = link_series(graph, slowed, fabric, 10);
    REQUIRE(!series.empty());
    for (LinkSeries const& link : series) {
        REQUIRE(link.steps.size() == 2);
        CHECK(link.steps[0].time == 3);
        CHECK(link.steps[1].time == 7);
        CHECK(link.steps[1].rate == BytesPerSecond{});
        for (Flow const& flow : fabric.flows_of(0))
            CHECK(link.steps[0].rate.base() == Approx(flow.rate.base() / 2));
    }
}

TEST_CASE("link_series: transfers that share a link never carry more than it") {
    TaskGraph graph;
    graph.ranks = {{0, 0, 8}, {8, 1, 8}};
    graph.names = {"send"};
    graph.demands = {{.kind = CollectiveKind::send_receive, .members = {0, 1}, .shares = {.scale_out = 1}}};
    Task const task{.duration = 1.5, .demand = 0, .stream = Stream::pipeline, .part = TaskPart::pp};
    graph.tasks = {task, task};
    graph.tasks[1].duration = 0.5;
    Fabric const fabric(find_cluster("h100-sxm", "test"), graph);
    // The first is alone for one second and then shares: mean rates of 0.75 and 0.5.
    auto const series = link_series(graph, {.start = {0, 1}, .end = {2, 2}}, fabric, 10);
    REQUIRE(!series.empty());
    for (LinkSeries const& link : series)
        for (LinkStep const& step : link.steps)
            CHECK(step.rate <= link.bandwidth);
}
