#include "cli/simulate/view.hpp"

#include "cli/simulate/svg.hpp"
#include "cli/simulate/timeline.hpp"
#include "cli/simulate/timeline_cells.hpp"
#include "tests/catch.hpp"
#include "tests/simulator/sample_graph.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <numeric>
#include <sstream>

using namespace sextant;
using namespace sextant::cli;
using fixtures::sample_graph;
using Json = nlohmann::json;

namespace {

std::vector<std::string> lines_of(std::string const& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);)
        lines.push_back(line);
    return lines;
}

SimulationReport sample_report(TaskGraph const& graph, TaskTimes const& times) {
    SimulationReport report{.graph = graph, .times = times};
    report.headline = "a-model on 4 x a-machine";
    report.plan_label = "dp 1, pp 4, 1f1b";
    report.model = "a-model";
    report.network = "fair";
    report.granularity = "stage";
    report.step_time = times.makespan();
    report.tokens_per_second = 12345;
    report.accelerators = 4;
    report.mfu = 0.4321;
    report.closed_form = 0.8 * times.makespan();
    report.analysis = analyse(graph, times);
    report.path = critical_path(graph, times);
    std::size_t stages = 0;
    for (Task const& task : graph.tasks)
        stages = std::max(stages, static_cast<std::size_t>(task.stage + 1));
    report.memory =
        memory_timelines(graph, times,
                         {std::vector<Bytes>(graph.ranks.size(), 10 * units::GB),
                          std::vector<StageActivations>(stages, {2 * units::GB, 1 * units::GB, 1 * units::GB})});
    report.links = {{"rank0.nic.out", 50 * units::GB / units::s, 5 * units::GB, 0.1},
                    {"rank1.nic.out", 50 * units::GB / units::s, 10 * units::GB, 0.2}};
    return report;
}

}  // namespace

TEST_CASE("simulation_timeline: a small pipeline, to the letter") {
    TaskGraph const graph = sample_graph("1f1b", {3, 4, 1}, {.forward = 1e-3, .backward = 2e-3});
    CHECK(simulation_timeline(graph, walk_graph(graph), {.columns = 71}) ==
          "rank 0  F0-F1-F2-............B0====F3-B1====...B2====...B3====   33.3 %\n"
          "rank 1  ...F0-F1-......B0====F2-B1====F3-B2====...B3====......   33.3 %\n"
          "rank 2  ......F0-B0====F1-B1====F2-B2====F3-B3====............   33.3 %\n"
          "        0                                                18 ms     idle\n"
          "\n"
          "F0- forward  B0= backward  . idle\n");
}

TEST_CASE("simulation_timeline: every line fits, every rank has a line or is counted, for every schedule") {
    auto const [name, shape] = GENERATE(from_range(fixtures::sample_shapes()));
    auto const columns = GENERATE(std::size_t{40}, std::size_t{80}, std::size_t{160});
    auto const rows = GENERATE(std::size_t{1}, std::size_t{3}, std::size_t{32});
    CAPTURE(name, shape.ranks, shape.chunks, columns, rows);
    TaskGraph const graph = sample_graph(name, shape, {.transfer = 0.3, .layer = 0.2, .gradients = 2});
    auto const lines = lines_of(simulation_timeline(graph, walk_graph(graph), {columns, rows}));
    std::size_t ranks = 0;
    for (std::string const& line : lines) {
        CHECK(line.size() <= std::max<std::size_t>(columns, 60));
        ranks += line.starts_with("rank ") ? 1 : 0;
    }
    CHECK(ranks == std::min(rows, graph.ranks.size()));
    CHECK(std::any_of(lines.begin(), lines.end(), [](auto const& l) {
              return l.find("more ranks") != std::string::npos;
          }) == (ranks < graph.ranks.size()));
}

TEST_CASE("cells_of: finer or coarser than the tasks, each shade has its share of the cells") {
    auto const count = GENERATE(std::size_t{50}, std::size_t{333}, std::size_t{5000});
    TaskGraph const graph = sample_graph("1f1b", {4, 400, 1}, {.forward = 1, .backward = 2});
    TaskTimes const times = walk_graph(graph);
    TasksByRank const tasks(graph, times);
    double const until = times.makespan().base();
    for (std::size_t rank = 0; rank < 4; ++rank) {
        auto const cells = cells_of(graph, rank_spans(graph, times, tasks[rank], until), until, count);
        REQUIRE(cells.size() == count);
        auto const part = [&](Shade shade) {
            return static_cast<double>(
                       std::count_if(cells.begin(), cells.end(), [&](Cell cell) { return cell.shade == shade; })) /
                   static_cast<double>(count);
        };
        CHECK(part(Shade::forward) == Approx(400 / until).margin(0.05));
        CHECK(part(Shade::backward) == Approx(800 / until).margin(0.05));
        auto const runs = runs_of(graph, cells);
        CHECK(std::accumulate(runs.begin(), runs.end(), std::size_t{0},
                              [](std::size_t sum, CellRun const& run) { return sum + run.count; }) == count);
    }
}

TEST_CASE("what is reserved is that of the rank that reserves most, whichever has most allocated") {
    TaskGraph const graph = sample_graph("1f1b", {2, 3, 1}, {.forward = 10e-3, .backward = 20e-3, .transfer = 1e-3}, 2);
    SimulationReport report = sample_report(graph, walk_graph(graph));
    REQUIRE(fullest_rank(report) == std::size_t{0});
    CHECK(most_reserved(report) == 15 * units::GB);
    report.reserved_factors = {1.0, 1.4};
    CHECK(most_reserved(report).base() == Approx(18.2e9));
    report.usable_memory = 18 * units::GB;
    CHECK_FALSE(fits_memory(report));
    report.usable_memory = 19 * units::GB;
    CHECK(fits_memory(report));
}

TEST_CASE("simulation_text: a small pipeline, to the letter") {
    TaskGraph const graph = sample_graph("1f1b", {2, 3, 1}, {.forward = 10e-3, .backward = 20e-3, .transfer = 1e-3}, 2);
    TaskTimes const times = walk_graph(graph);
    SimulationReport report = sample_report(graph, times);
    report.usable_memory = 18 * units::GB;
    report.reserved_factors = {1.1, 1.1};
    report.repetitions = {3 * units::s, 1 * units::s, 2 * units::s};
    report.notes = {"rank 1 is slow"};
    CHECK(simulation_text(report) == R"(a-model on 4 x a-machine
dp 1, pp 4, 1f1b

step time      124 ms
80 % interval  99.2 ms to 155 ms (its error on measured steps)
closed form    99.2 ms, +25.0 %
throughput     12.3 K tokens/s, 3.09 K per accelerator
MFU            43.2 %
bubble         24.6 % on average, 24.2 % on the busiest: rank 2 (stage 1)
memory         15 GB allocated on rank 0 (stage 0) at 10 ms
reserved       16.5 GB of 18 GB usable: fits
simulated      18 tasks by stage, 2 ranks, fair network
repetitions    3 seeds: median 2 s, 80 % in 1.2 s to 2.8 s, worst 3 s

time per rank in ms: computing, waiting for communication, idle
rank  stage  compute    pp   idle  bubble  memory
----  -----  -------  ----  -----  ------  ------
   0      0    90.00  3.00  31.00  25.0 %   15 GB
   2      1    90.00  4.00  30.00  24.2 %   13 GB

overlap in ms, mean per rank
communication  total  beside compute  overlap  exposed
-------------  -----  --------------  -------  -------
pp              6.00            2.50   41.7 %     3.50

links
link           bandwidth  carried    busy
-------------  ---------  -------  ------
rank1.nic.out    50 GB/s    10 GB  20.0 %
rank0.nic.out    50 GB/s     5 GB  10.0 %

critical path: 12 tasks; compute 96.8 %, pp 3.2 %
op on the path  times     ms   share
--------------  -----  -----  ------
backward            4  80.00  64.5 %
forward             4  40.00  32.3 %
transfer            4   4.00   3.2 %

- rank 1 is slow
)");
}

TEST_CASE("simulation_text: at most 80 columns, whatever waits") {
    auto const [name, shape] = GENERATE(from_range(fixtures::sample_shapes()));
    CAPTURE(name, shape.ranks, shape.chunks);
    double const scale = GENERATE(1e-6, 1e-3, 1.0, 1000.0);
    TaskGraph graph = sample_graph(name, shape,
                                   {.forward = 10 * scale,
                                    .backward = 20 * scale,
                                    .transfer = 3 * scale,
                                    .layer = 2 * scale,
                                    .gradients = 9 * scale,
                                    .optimizer = scale});
    TaskPart const kinds[] = {TaskPart::tp, TaskPart::cp, TaskPart::ep, TaskPart::pp, TaskPart::dp, TaskPart::offload};
    for (std::size_t id = 0; id < graph.tasks.size(); ++id)
        if (is_communication(graph.tasks[id].part)) graph.tasks[id].part = kinds[id % 6];
    TaskTimes const times = walk_graph(graph);
    for (std::string const& line : lines_of(simulation_text(sample_report(graph, times)))) {
        CAPTURE(line);
        CHECK(line.size() <= 80);
    }
}

TEST_CASE("simulation_json: what is in it adds up, for every schedule") {
    auto const [name, shape] = GENERATE(from_range(fixtures::sample_shapes()));
    CAPTURE(name, shape.ranks, shape.chunks);
    TaskGraph const graph = sample_graph(name, shape, {.forward = 1.3, .transfer = 0.3, .layer = 0.2, .gradients = 2});
    TaskTimes const times = walk_graph(graph);
    SimulationReport const report = sample_report(graph, times);
    std::string const text = simulation_json(report);
    CHECK(text == simulation_json(report));
    Json const json = Json::parse(text);
    CHECK(json.at("format") == "simulation");
    CHECK(json.at("version") == 1);
    double const step = json.at("iteration_time_s");
    CHECK(step == times.makespan().base());
    REQUIRE(json.at("ranks").size() == graph.ranks.size());
    for (Json const& rank : json.at("ranks")) {
        double sum = rank.at("idle_s");
        for (char const* group : {"compute", "exposed"})
            for (auto const& [key, value] : rank.at(group).items())
                sum += value.get<double>();
        CHECK(sum == Approx(step));
        CHECK(rank.at("bubble_share").get<double>() == Approx(rank.at("idle_s").get<double>() / step));
    }
    for (auto const& [kind, overlap] : json.at("overlap").items())
        CHECK(overlap.at("hidden_s").get<double>() <= overlap.at("total_s").get<double>());
    double path = json.at("critical_path").at("waiting_s");
    for (Json const& op : json.at("critical_path").at("ops"))
        path += op.at("time_s").get<double>();
    CHECK(path == Approx(step));
    for (Json const& rank : json.at("memory")) {
        auto const bytes = rank.at("bytes").get<std::vector<double>>();
        CHECK(*std::max_element(bytes.begin(), bytes.end()) == rank.at("peak_bytes").get<double>());
        CHECK(bytes.size() == rank.at("time_s").size());
    }
    CHECK(json.at("links").at(0).at("name") == "rank1.nic.out");
    CHECK(json.at("repetitions").is_null());
    CHECK(json.at("plan").contains("tp"));
}

TEST_CASE("simulation_table: one row per rank, as many cells as columns") {
    TaskGraph const graph = sample_graph("interleaved", {4, 8, 2}, {.transfer = 0.3});
    TaskTimes const times = walk_graph(graph);
    Table const table = simulation_table(sample_report(graph, times));
    CHECK(table.row_count() == 4);
    auto const lines = lines_of(table.csv());
    CHECK_THAT(lines.front(), contains("rank,stage,stands_for,compute_s,exposed_tp_s"));
    for (std::string const& line : lines)
        CHECK(std::count(line.begin(), line.end(), ',') == std::count(lines[0].begin(), lines[0].end(), ','));
}

TEST_CASE("quantile: the ends, the middle, and linear between") {
    std::vector<Seconds> const sample{4 * units::s, 1 * units::s, 3 * units::s};
    CHECK(time_quantile(sample, 0) == 1 * units::s);
    CHECK(time_quantile(sample, 0.5) == 3 * units::s);
    CHECK(time_quantile(sample, 1) == 4 * units::s);
    CHECK(time_quantile(sample, 0.25).base() == Approx(2));
}

TEST_CASE("simulation_svg: tags are closed, the title is escaped, the size stays below the limit") {
    auto const [name, shape] = GENERATE(from_range(fixtures::sample_shapes()));
    CAPTURE(name, shape.ranks, shape.chunks);
    TaskGraph const graph = sample_graph(name, shape, {.transfer = 0.3, .layer = 0.02, .gradients = 2});
    TaskTimes const times = walk_graph(graph);
    std::string const svg = simulation_svg(graph, times, {.title = "a <b> & c"});
    CHECK(svg == simulation_svg(graph, times, {.title = "a <b> & c"}));
    CHECK_THAT(svg, contains("a &lt;b&gt; &amp; c"));
    std::vector<std::string> open;
    for (std::size_t at = svg.find('<'); at != std::string::npos; at = svg.find('<', at + 1)) {
        std::size_t const end = svg.find('>', at);
        REQUIRE(end != std::string::npos);
        std::string const tag = svg.substr(at + 1, end - at - 1);
        if (tag.front() == '/') {
            REQUIRE(!open.empty());
            CHECK(open.back() == tag.substr(1));
            open.pop_back();
        } else if (tag.back() != '/') {
            open.push_back(tag.substr(0, tag.find(' ')));
        }
    }
    CHECK(open.empty());
    CHECK(svg.size() < 2'000'000);
}

TEST_CASE("simulation_svg: a long step of many ranks is drawn more coarsely instead of in a larger file") {
    TaskGraph const graph = sample_graph("1f1b", {32, 200, 1}, {.transfer = 0.3, .layer = 0.02});
    TaskTimes const times = walk_graph(graph);
    CHECK(simulation_svg(graph, times, {.title = "", .rows = 64, .most_bytes = 100'000}).size() < 130'000);
    CHECK(simulation_svg(graph, times, {}).size() < 2'000'000);
}

TEST_CASE("views: a step without tasks has a report too") {
    TaskGraph graph;
    graph.ranks = {{0, 0, 1}};
    TaskTimes const times = walk_graph(graph);
    CHECK_THAT(simulation_timeline(graph, times, {}), contains("rank 0"));
    CHECK_THAT(simulation_svg(graph, times, {}), contains("</svg>"));
    CHECK_THAT(simulation_text(sample_report(graph, times)), contains("step time"));
    CHECK(Json::parse(simulation_json(sample_report(graph, times))).at("iteration_time_s") == 0.0);
}
