// What a launch costs. kernel_sync and graph_sync: from the call until the host knows that the (empty) kernel, or a
// graph of one, is done. kernel_queued and graph_queued: per launch when 200 are queued, by the host's clock.
// graph_node: per kernel of a graph of 200, by the device's clock.
#include "kernels/cuda/busy_clocks.hpp"
#include "kernels/cuda/catalog.hpp"
#include "kernels/cuda/device_timer.hpp"
#include "kernels/cuda/graph.hpp"
#include "kernels/simt/launch.cuh"

namespace sextant::bench {
namespace {

constexpr int many = 200;

__global__ void nothing() {}
__global__ void count_one(int* counter) { *counter += 1; }

/// How often a kernel runs that is launched once so.
int runs(Launch way, int nodes) {
    DeviceArray<int> counter(1);
    counter.clear();
    block_of([&](cudaStream_t stream) { launch({1, 1, stream}, count_one, counter.data()); }, way, nodes)();
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

/// A sample is what `timed` returns. Clocks are read after it, with the device kept busy: not within what the host
/// times.
Timing collected_timing(StopRule const& rule, std::function<double()> const& timed,
                        std::function<void()> const& keep_busy) {
    BusyClocks clocks;
    auto const sample = [&] {
        double const seconds = timed();
        keep_busy();
        clocks.read();
        check(cudaStreamSynchronize(work_stream()), "running a kernel");
        return std::vector<double>{seconds};
    };
    sample();
    clocks = {};
    Collected const collected = collect(rule, sample, steady_seconds);
    Timing timing;
    timing.seconds = summarise(collected.samples);
    timing.note = remark(rule, collected);
    clocks.describe(timing);
    return timing;
}

/// Per kernel of a graph of many, by the device's clock. The graph before it is not timed: the device is busy with it
/// until the host has enqueued the other.
double node_seconds(std::function<void()> const& enqueue) {
    Event start, stop;
    enqueue();
    start.record(work_stream());
    enqueue();
    stop.record(work_stream());
    stop.wait();
    return stop.since(start) / many;
}

/// Per launch of so many, by the host's clock; of a single one until the host knows that it is done.
double launch_seconds(std::function<void()> const& enqueue, int times) {
    double const start = steady_seconds();
    for (int i = 0; i < times; ++i)
        enqueue();
    if (times == 1) check(cudaStreamSynchronize(work_stream()), "running a kernel");
    return (steady_seconds() - start) / times;
}

Prepared prepare(Problem const& problem, Scope const&) {
    Launch const way = problem.variants[0].launch;
    bool const by_nodes = problem.kernel == "graph_node";
    int const nodes = by_nodes ? many : 1, times = problem.kernel.ends_with("queued") ? many : 1;
    Prepared prepared;
    prepared.max_rel_error = runs(way, nodes) == nodes ? 0 : 1;
    prepared.tolerance = 1e-9;
    auto const enqueue = block_of([](cudaStream_t stream) { launch({1, 1, stream}, nothing); }, way, nodes);
    prepared.measure = [enqueue, by_nodes, times](Variant, StopRule const& rule) {
        auto const timed = [&] { return by_nodes ? node_seconds(enqueue) : launch_seconds(enqueue, times); };
        auto const keep_busy = [&] {
            for (int i = 0; i < (by_nodes ? 1 : many); ++i)
                enqueue();
        };
        return collected_timing(rule, timed, keep_busy);
    };
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
