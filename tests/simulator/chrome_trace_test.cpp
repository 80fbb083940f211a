#include "simulator/chrome_trace.hpp"

#include "tests/catch.hpp"
#include "tests/simulator/sample_graph.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

using namespace sextant;
using fixtures::sample_graph;
using Json = nlohmann::json;

namespace {

std::string trace_text(TraceInput const& input) {
    std::ostringstream out;
    CHECK(write_chrome_trace(out, input) == TraceEnd::complete);
    return out.str();
}

std::int64_t nanoseconds(Json const& value) { return std::llround(value.get<double>() * 1000); }

/// Complete events by process and thread.
std::map<std::pair<int, int>, std::vector<Json>> threads_of(Json const& trace) {
    std::map<std::pair<int, int>, std::vector<Json>> threads;
    for (Json const& event : trace.at("traceEvents"))
        if (event.at("ph") == "X") threads[{event.at("pid"), event.at("tid")}].push_back(event);
    return threads;
}

std::vector<Json> of_phase(Json const& trace, std::string const& phase) {
    std::vector<Json> events;
    for (Json const& event : trace.at("traceEvents"))
        if (event.at("ph") == phase) events.push_back(event);
    return events;
}

}  // namespace

TEST_CASE("write_chrome_trace: valid JSON with every task once, none overlapping on its thread, for every schedule") {
    auto const [name, shape] = GENERATE(from_range(fixtures::sample_shapes()));
    CAPTURE(name, shape.ranks, shape.chunks);
    TaskGraph const graph = sample_graph(name, shape,
                                         {.forward = 1e-3 / 3,
                                          .backward = 1e-3,
                                          .transfer = 1e-5 / 7,
                                          .layer = 1e-4 / 9,
                                          .gradients = 1e-3,
                                          .optimizer = 1e-3});
    TaskTimes const times = walk_graph(graph);
    Json const trace = Json::parse(trace_text({.graph = graph, .times = times}));
    auto threads = threads_of(trace);
    std::size_t events = 0;
    for (auto& [thread, list] : threads) {
        events += list.size();
        std::sort(list.begin(), list.end(), [](Json const& a, Json const& b) { return a.at("ts") < b.at("ts"); });
        for (std::size_t i = 1; i < list.size(); ++i)
            CHECK(nanoseconds(list[i - 1].at("ts")) + nanoseconds(list[i - 1].at("dur")) <=
                  nanoseconds(list[i].at("ts")));
    }
    CHECK(events == graph.tasks.size());
    for (auto const& [thread, list] : threads) {
        auto const names = of_phase(trace, "M");
        CHECK(std::any_of(names.begin(), names.end(), [&](Json const& event) {
            return event.at("name") == "thread_name" && event.at("pid") == thread.first &&
                   event.at("tid") == thread.second;
        }));
    }
}

TEST_CASE(
    "write_chrome_trace: every transfer's arrow starts in an event of the sender and ends in one of the receiver") {
    auto const [name, shape] = GENERATE(from_range(fixtures::sample_shapes()));
    CAPTURE(name, shape.ranks, shape.chunks);
    TaskGraph const graph = sample_graph(name, shape, {.forward = 1e-3 / 3, .backward = 1e-3, .transfer = 1e-5 / 7});
    TaskTimes const times = walk_graph(graph);
    Json const trace = Json::parse(trace_text({.graph = graph, .times = times}));
    auto const threads = threads_of(trace);
    auto const inside = [&](Json const& point) -> Json {
        for (Json const& event : threads.at({point.at("pid"), point.at("tid")})) {
            auto const start = nanoseconds(event.at("ts")), at = nanoseconds(point.at("ts"));
            if (start <= at && at < start + nanoseconds(event.at("dur"))) return event;
        }
        return nullptr;
    };
    auto const starts = of_phase(trace, "s"), steps = of_phase(trace, "t"), ends = of_phase(trace, "f");
    auto const transfers = static_cast<std::size_t>(std::count_if(
        graph.tasks.begin(), graph.tasks.end(), [](Task const& task) { return task.part == TaskPart::pp; }));
    CHECK(starts.size() == transfers);
    REQUIRE(ends.size() == starts.size());
    REQUIRE(steps.size() == starts.size());
    for (std::size_t i = 0; i < starts.size(); ++i) {
        CHECK(starts[i].at("id") == ends[i].at("id"));
        CHECK(starts[i].at("id") == steps[i].at("id"));
        Json const from = inside(starts[i]), over = inside(steps[i]), to = inside(ends[i]);
        REQUIRE(from.is_object());
        REQUIRE(over.is_object());
        REQUIRE(to.is_object());
        CHECK(from.at("pid") != to.at("pid"));
        CHECK(over.at("cat") == "pp");
        CHECK(over.at("pid") == from.at("pid"));
        CHECK(from.at("args").at("microbatch") == to.at("args").at("microbatch"));
        CHECK(from.at("args").at("microbatch") == over.at("args").at("microbatch"));
        CHECK(std::abs(from.at("args").at("stage").get<int>() - to.at("args").at("stage").get<int>()) == 1);
    }
}

TEST_CASE(
    "write_chrome_trace: names are escaped, ranks say for how many they stand, counters follow memory and links") {
    TaskGraph graph = sample_graph("1f1b", {2, 3, 1}, {.transfer = 0.1, .layer = 0.01}, 128);
    graph.names[0] = "forward \"a\\b\"\n\xc3\xa9\xff";
    TaskTimes const times = walk_graph(graph);
    auto const memory = memory_timelines(
        graph, times, {{10 * units::GB, 11 * units::GB}, {{1 * units::GB, {}, {}}, {2 * units::GB, {}, {}}}});
    std::vector<LinkSeries> const links{
        {"node0.nic.out", 50 * units::GB / units::s, {{0.5, 25 * units::GB / units::s}, {0.75, {}}}}};
    Json const trace = Json::parse(
        trace_text({.graph = graph, .times = times, .title = "a \"title\"", .memory = memory, .links = links}));
    CHECK(trace.at("otherData").at("title") == "a \"title\"");
    auto const tasks = of_phase(trace, "X");
    CHECK(std::any_of(tasks.begin(), tasks.end(),
                      [](Json const& event) { return event.at("name") == "forward \"a\\b\"\n\xc3\xa9?"; }));
    auto const metadata = of_phase(trace, "M");
    CHECK(std::any_of(metadata.begin(), metadata.end(), [](Json const& event) {
        return event.at("args").value("name", "") == "rank 128, stage 1 (stands for 128 ranks)";
    }));
    std::size_t steps = 0;
    double most = 0;
    for (Json const& counter : of_phase(trace, "C")) {
        if (counter.at("pid") != 2) continue;
        ++steps;
        most = std::max(most, counter.at("args").at("GB").get<double>());
    }
    CHECK(steps == memory[1].steps.size());
    CHECK(most == memory[1].peak.in(units::GB));
    auto const counters = of_phase(trace, "C");
    CHECK(counters.back().at("name") == "node0.nic.out (of 50 GB/s)");
    CHECK(counters.back().at("ts") == 750000.0);
    CHECK(counters.back().at("args").at("GB/s") == 0.0);
}

TEST_CASE("write_chrome_trace: a collective is drawn on every member, and overlapping tasks get threads of their own") {
    TaskGraph graph;
    graph.ranks = {{0, 0, 1}, {1, 0, 1}};
    graph.names = {"a"};
    graph.demands = {{.members = {0, 1}}};
    Task const task{.duration = 1, .demand = 0, .stream = Stream::data_parallel, .part = TaskPart::dp};
    graph.tasks = {task, task};
    Json const trace = Json::parse(trace_text({.graph = graph, .times = walk_graph(graph)}));
    CHECK(threads_of(trace).size() == 4);
    auto const names = of_phase(trace, "M");
    CHECK(std::any_of(names.begin(), names.end(),
                      [](Json const& event) { return event.at("args").value("name", "") == "data parallel 2"; }));
}

TEST_CASE("write_chrome_trace: the same step gives the same bytes, and an interrupt is reported") {
    TaskGraph const graph = sample_graph("zb-v", {4, 8, 2}, {.transfer = 0.1});
    TaskTimes const times = walk_graph(graph);
    CHECK(trace_text({.graph = graph, .times = times}) == trace_text({.graph = graph, .times = times}));
    std::atomic<bool> const stop = true;
    std::ostringstream out;
    CHECK(write_chrome_trace(out, {.graph = graph, .times = times, .stop = &stop}) == TraceEnd::interrupted);
}
