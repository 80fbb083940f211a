// What a launch costs. kernel_sync and graph_sync: from the call until the host knows that the (empty) kernel, or a
// graph of one, is done. kernel_queued and graph_queued: per launch when 200 are queued, by the host's clock.
// graph_node: per kernel of a graph of 200, by the device's clock.
#include <memory>
#include <stdexcept>

#include "kernels/cuda/catalog.hpp"
#include "kernels/cuda/device_timer.hpp"
#include "kernels/simt/launch.cuh"

namespace sextant::bench {
namespace {

constexpr int many = 200;

__global__ void count_one(int* counter) { *counter += 1; }

/// A graph of `nodes` kernels, one after the other.
class KernelGraph {
public:
    KernelGraph(int nodes, int* counter) {
        cudaStream_t const stream = work_stream();
        check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capturing a graph");
        for (int i = 0; i < nodes; ++i)
            bench::launch({1, 1, stream}, count_one, counter);
        check(cudaStreamEndCapture(stream, &graph_), "capturing a graph");
        check(cudaGraphInstantiate(&executable_, graph_, 0), "instantiating a graph");
    }
    ~KernelGraph() {
        cudaGraphExecDestroy(executable_);
        cudaGraphDestroy(graph_);
    }
    KernelGraph(KernelGraph const&) = delete;
    KernelGraph& operator=(KernelGraph const&) = delete;
    void launch() { check(cudaGraphLaunch(executable_, work_stream()), "launching a graph"); }

private:
    cudaGraph_t graph_ = nullptr;
    cudaGraphExec_t executable_ = nullptr;
};

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
    auto counter = std::make_shared<DeviceArray<int>>(1);
    counter->clear();
    auto graph = std::make_shared<KernelGraph>(problem.kernel == "graph_node" ? many : 1, counter->data());
    auto const launch_kernel = [counter] { bench::launch({1, 1, work_stream()}, count_one, counter->data()); };
    auto const wait = [] { check(cudaStreamSynchronize(work_stream()), "running a kernel"); };
    bool const by_graph = problem.kernel.starts_with("graph");
    std::function<void()> const launch =
        by_graph ? std::function<void()>([graph] { graph->launch(); }) : std::function<void()>(launch_kernel);
    launch();
    wait();
    Prepared prepared;
    int const expected = problem.kernel == "graph_node" ? many : 1;
    prepared.max_rel_error = counter->read(0, 1)[0] == expected ? 0 : 1;
    prepared.tolerance = 1e-9;
    std::function<double()> sample;
    if (problem.kernel == "graph_node")
        sample = [launch] {
            Event start, stop;
            start.record(work_stream());
            launch();
            stop.record(work_stream());
            stop.wait();
            return stop.since(start) / many;
        };
    else
        sample = [launch, wait, times = problem.kernel.ends_with("queued") ? many : 1] {
            double const start = steady_seconds();
            for (int i = 0; i < times; ++i)
                launch();
            if (times == 1) wait();
            double const seconds = (steady_seconds() - start) / times;
            wait();
            return seconds;
        };
    prepared.measure = [sample, graph, counter](Variant, StopRule const& rule) {
        return collected_timing(rule, sample);
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
