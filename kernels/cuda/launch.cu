// What a launch costs. kernel_sync and graph_sync: from the call until the host knows that the (empty) kernel, or a
// graph of one, is done. kernel_queued and graph_queued: per launch when 200 are queued, by the host's clock.
// graph_node: per kernel of a graph of 200, by the device's clock.
#include <memory>
#include <stdexcept>

#include "kernels/cuda/catalog.hpp"
#include "kernels/cuda/device_timer.hpp"
#include "kernels/cuda/graph.hpp"
#include "kernels/simt/launch.cuh"

namespace sextant::bench {
namespace {

constexpr int many = 200;

__global__ void nothing() {}
__global__ void count_one(int* counter) { *counter += 1; }

/// What launches a kernel: a stream, or a graph of so many of them.
std::function<void()> launcher(DeviceWork const& kernel, bool by_graph, int nodes) {
    if (!by_graph) return [kernel] { kernel(work_stream()); };
    return [graph = std::make_shared<Graph>(kernel, nodes)] { graph->launch(); };
}

/// How often a kernel runs that is launched once so.
int runs(bool by_graph, int nodes) {
    DeviceArray<int> counter(1);
    counter.clear();
    launcher([&](cudaStream_t stream) { launch({1, 1, stream}, count_one, counter.data()); }, by_graph, nodes)();
    check(cudaStreamSynchronize(work_stream()), "running a kernel");
    return counter.read(0, 1)[0];
}

std::vector<Problem> problems(Scope const&) {
    std::vector<Problem> all;
    for (char const* kernel : {"kernel_sync", "kernel_queued", "graph_sync", "graph_queued", "graph_node"}) {
        Problem problem;
        problem.kernel = kernel;
        problem.dtype = "none";
        problem.expected_s = 1e-5;  // assumed
        problem.variants = {{Cache::hot, kernel[0] == 'g' ? Launch::graph : Launch::stream}};
        all.push_back(problem);
    }
    return all;
}

Timing collected_timing(StopRule const& rule, std::function<double()> const& sample) {
    sample();
    Collected const collected = collect(
        rule, [&] { return std::vector<double>{sample()}; }, steady_seconds);
    Timing timing;
    timing.seconds = summarise(collected.samples);
    timing.note = remark(collected.ended);
    add_clocks(timing);
    return timing;
}

Prepared prepare(Problem const& problem, Scope const&) {
    bool const by_graph = problem.kernel.starts_with("graph");
    int const nodes = problem.kernel == "graph_node" ? many : 1;
    Prepared prepared;
    prepared.max_rel_error = runs(by_graph, nodes) == nodes ? 0 : 1;
    prepared.tolerance = 1e-9;
    std::function<void()> const enqueue = launcher(
        [](cudaStream_t stream) {
            launch({1, 1, stream}, nothing);
        },
        by_graph, nodes);
    auto const wait = [] { check(cudaStreamSynchronize(work_stream()), "running a kernel"); };
    std::function<double()> sample;
    if (nodes > 1)
        sample = [enqueue] {
            Event start, stop;
            start.record(work_stream());
            enqueue();
            stop.record(work_stream());
            stop.wait();
            return stop.since(start) / many;
        };
    else
        sample = [enqueue, wait, times = problem.kernel.ends_with("queued") ? many : 1] {
            double const start = steady_seconds();
            for (int i = 0; i < times; ++i)
                enqueue();
            if (times == 1) wait();
            double const seconds = (steady_seconds() - start) / times;
            wait();
            return seconds;
        };
    prepared.measure = [sample](Variant, StopRule const& rule) { return collected_timing(rule, sample); };
    return prepared;
}

}  // namespace

extern constinit Bench const cuda_launch{
    .name = "launch",
    .summary = "latency and rate of kernel launches and CUDA-graph launches",
    .problems = problems,
    .prepare = prepare,
};

}  // namespace sextant::bench
