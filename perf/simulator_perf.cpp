#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "perf/goal.hpp"
#include "planner/verify.hpp"
#include "simulator/engine/engine.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace sextant::perf {
namespace {

/// Pipelines of `ranks` that work through rounds: compute of each rank, then a transfer to the next rank, which its
/// next compute waits for. @param demands whether transfers use the network.
TaskGraph pipeline(std::size_t tasks, std::int32_t ranks, bool demands) {
    TaskGraph graph;
    graph.names = {"compute", "transfer"};
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
        graph.ranks.push_back({.rank = rank});
        graph.demands.push_back({.kind = CollectiveKind::all_gather, .members = {rank, (rank + 1) % ranks}});
    }
    auto const add = [&](Task task, std::vector<std::uint32_t> const& after) {
        task.first_dependency = static_cast<std::uint32_t>(graph.dependencies.size());
        graph.dependencies.insert(graph.dependencies.end(), after.begin(), after.end());
        graph.tasks.push_back(task);
        return static_cast<std::uint32_t>(graph.tasks.size() - 1);
    };
    auto const count = static_cast<std::size_t>(ranks);
    std::vector<std::uint32_t> computed(count), sent(count);
    for (std::size_t round = 0; graph.tasks.size() < tasks; ++round)
        for (std::int32_t rank = 0; rank < ranks; ++rank) {
            auto const r = static_cast<std::size_t>(rank);
            // Durations vary, so that few tasks end at the same moment.
            double const duration = 1e-3 + 1e-6 * static_cast<double>((round * 7919 + r * 104729) % 1000);
            std::vector<std::uint32_t> after;
            if (round > 0) after = {computed[r], sent[(r + count - 1) % count]};
            computed[r] = add({.duration = duration, .rank = rank}, after);
            sent[r] = add({.duration = 0.3 * duration,
                           .latency = 1e-6,
                           .rank = rank,
                           .demand = demands ? rank : -1,
                           .name = 1,
                           .stream = Stream::pipeline},
                          {computed[r]});
        }
    return graph;
}

/// Every transfer goes out of its rank and into the next, at 60 % of links that neighbours share in pairs.
Fabric ring_fabric(std::int32_t ranks) {
    BytesPerSecond const bandwidth = 50 * units::GB / units::s;
    std::vector<FabricLink> links;
    std::vector<std::vector<Flow>> flows;
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
        links.push_back({"rank" + std::to_string(rank) + ".nic.out", bandwidth});
        flows.push_back({{.links = {rank / 2 * 2}, .rate = 0.6 * bandwidth}});
    }
    return {std::move(links), std::move(flows)};
}

double walk_rate() {
    TaskGraph const graph = pipeline(1'000'000, 64, false);
    double count = 0;
    Seconds total;  // keeps the work from being optimised away
    auto const start = Clock::now();
    while (seconds_since(start) < 0.5) {
        total += walk_graph(graph).makespan();
        count += static_cast<double>(graph.tasks.size());
    }
    if (total <= Seconds{}) std::abort();
    return count / seconds_since(start);
}

/// Activities a second, from the call to the result, best of three.
double engine_rate(TaskGraph const& graph, Fabric const& fabric, EngineOptions const& options) {
    double best = 0;
    for (int i = 0; i < 3; ++i) {
        auto const start = Clock::now();
        Simulation const simulation = simulate(graph, fabric, options);
        if (simulation.state != Simulation::State::finished) {
            fmt::print(stderr, "perf: {}\n", simulation.message);
            std::exit(1);
        }
        best = std::max(best, static_cast<double>(simulation.activities) / seconds_since(start));
    }
    return best;
}

/// One all-reduce of 1 GiB over 1,024 GPUs, 1,024 flows on a rail-optimised fat tree: seconds from the call to the
/// result.
double all_reduce_seconds() {
    constexpr std::int32_t gpus = 1024;
    ClusterSpec const cluster = find_cluster("h100-sxm", "perf");
    TaskGraph graph;
    graph.names = {"all-reduce"};
    NetworkDemand demand{
        .kind = CollectiveKind::all_reduce, .group = GroupKind::data, .members = {}, .shares = {.scale_out = 1}};
    for (std::int32_t rank = 0; rank < gpus; ++rank) {
        graph.ranks.push_back({.rank = rank});
        demand.members.push_back(rank);
    }
    graph.demands.push_back(demand);
    graph.tasks.push_back({.duration = 0.05, .latency = 1e-4, .demand = 0, .stream = Stream::data_parallel});
    Fabric const fabric(cluster, graph);
    double best = 1e9;
    for (int i = 0; i < 5; ++i) {
        auto const start = Clock::now();
        Simulation const simulation = simulate(graph, fabric, {});
        if (simulation.state != Simulation::State::finished || fabric.flows_of(0).size() < gpus) std::abort();
        best = std::min(best, seconds_since(start));
    }
    return best;
}

struct Question {
    ModelSpec model;
    ClusterSpec cluster;
    FrameworkProfile framework;
    Workload workload;
};

Question question(char const* model, std::int64_t global_batch) {
    return {.model = find_model(model),
            .cluster = find_cluster("h100-sxm", "perf"),
            .framework = find_framework("megatron", "perf"),
            .workload = {.sequence = 8192, .global_batch = global_batch}};
}

/// Seconds of one simulated step, prices and task graph included.
double step_seconds(Question const& q, ParallelPlan const& plan) {
    auto const start = Clock::now();
    ClosedForm form(q.model, q.workload, q.cluster, q.framework, plan.precision);
    PlanSimulation const run = simulate_plan(form, plan, {});
    if (!run.finished()) std::abort();
    return seconds_since(start);
}

ParallelPlan megatron_plan(std::int64_t dp, std::int64_t pp) {
    ParallelPlan plan;
    plan.tp = 8;
    plan.dp = dp;
    plan.pp = pp;
    plan.zero = 1;
    plan.sequence_parallel = Switch::on;
    return plan;
}

double verify_seconds(unsigned threads) {
    Question const q = question("llama-3.1-70b", 512);
    std::vector<ParallelPlan> plans;
    for (std::int64_t const pp : {2, 4, 8, 16})
        for (std::int64_t const micro_batch : {1, 2, 4, 8}) {
            plans.push_back(megatron_plan(64 / pp, pp));
            plans.back().micro_batch = micro_batch;
        }
    VerifyOptions options;
    options.simulation.graph.granularity = Granularity::layer;
    options.threads = threads;
    auto const start = Clock::now();
    for (Verification const& v : verify(q.model, q.workload, q.cluster, q.framework, plans, options))
        if (v.state != Simulation::State::finished && v.message.empty()) std::abort();
    return seconds_since(start);
}

}  // namespace

void simulator_goals() {
    Fabric const none(std::vector<FabricLink>{}, {});
    EngineOptions ideal;
    ideal.network = NetworkMode::ideal;
    print("graph walk, one core", walk_rate(), "tasks/s", 10e6, ">=");
    auto const start = Clock::now();
    simulate(TaskGraph{}, none, ideal);
    print("first simulation of a process: loads SimGrid", 1e3 * seconds_since(start), "ms", 60, "<=");
    print("engine, ideal network, 100 k tasks", engine_rate(pipeline(100'000, 64, false), none, ideal), "activities/s",
          250e3, ">=");
    print("engine, ideal network, 1 M tasks", engine_rate(pipeline(1'000'000, 64, false), none, ideal), "activities/s",
          250e3, ">=");
    EngineOptions holding = ideal;
    holding.communication_sms = 0.1;
    print("engine, compute slowed by collectives, 100 k tasks", engine_rate(pipeline(100'000, 16, true), none, holding),
          "activities/s", 250e3, ">=");
    print("engine, fair network, 100 k tasks", engine_rate(pipeline(100'000, 64, true), ring_fabric(64), {}),
          "activities/s", 250e3, ">=");
    print("engine, fair network, 1 M tasks", engine_rate(pipeline(1'000'000, 64, true), ring_fabric(64), {}),
          "activities/s", 250e3, ">=");
    ParallelPlan large = megatron_plan(128, 16);
    large.vpp = 8;
    large.schedule = Schedule::interleaved;
    print("simulate llama-3.1-405b on 16384 H100, op granularity, folded",
          step_seconds(question("llama-3.1-405b", 2048), large), "s", 10, "<=");
    print("simulate llama-3.1-70b on 1024 H100, op granularity, folded",
          step_seconds(question("llama-3.1-70b", 1024), megatron_plan(32, 4)), "s", 1, "<=");
    double const alone = verify_seconds(1);
    print("verify 16 plans of llama-3.1-70b on 512 H100, one thread", alone, "s", 10, "<=");
    print("  speed-up with two threads", alone / verify_seconds(2), "x", 1.5, ">=");
    print("one 1 GiB all-reduce over 1,024 GPUs as 1,024 flows", 1e3 * all_reduce_seconds(), "ms", 50, "<=");
}

}  // namespace sextant::perf
