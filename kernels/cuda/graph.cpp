#include "kernels/cuda/graph.hpp"

#include <memory>

#include "kernels/cuda/runtime.hpp"

namespace sextant::bench {
namespace {

/// What a stream is given from here to end(), as a graph.
class Capture {
public:
    explicit Capture(cudaStream_t stream) : stream_(stream) {
        check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capturing a graph");
    }
    ~Capture() {
        if (open_ && cudaStreamEndCapture(stream_, &graph_) != cudaSuccess) cudaGetLastError();
        if (graph_ != nullptr) cudaGraphDestroy(graph_);
    }
    Capture(Capture const&) = delete;
    Capture& operator=(Capture const&) = delete;
    /// The graph lives as long as this.
    cudaGraph_t end() {
        open_ = false;
        check(cudaStreamEndCapture(stream_, &graph_), "capturing a graph");
        return graph_;
    }

private:
    cudaStream_t stream_;
    cudaGraph_t graph_ = nullptr;
    bool open_ = true;
};

}  // namespace

Graph::Graph(DeviceWork const& work, int times) {
    Capture capture(work_stream());
    for (int i = 0; i < times; ++i)
        work(work_stream());
    check(cudaGraphInstantiate(&executable_, capture.end(), 0), "instantiating a graph");
}

Graph::~Graph() { cudaGraphExecDestroy(executable_); }

void Graph::launch() const { check(cudaGraphLaunch(executable_, work_stream()), "launching a graph"); }

std::function<void()> block_of(DeviceWork const& work, Launch launch, int times) {
    if (launch == Launch::graph) return [graph = std::make_shared<Graph>(work, times)] { graph->launch(); };
    return [work, times] {
        for (int i = 0; i < times; ++i)
            work(work_stream());
    };
}

}  // namespace sextant::bench
