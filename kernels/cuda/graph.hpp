#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/device_timer.hpp"

namespace sextant::bench {

/// A CUDA graph of `times` the work, one after the other. Where the work fails, the capture is ended before its error
/// goes on, so that the stream can be used again.
class Graph {
public:
    Graph(DeviceWork const& work, int times);
    ~Graph();
    Graph(Graph const&) = delete;
    Graph& operator=(Graph const&) = delete;
    /// Enqueues the graph on the stream of the measurements.
    void launch() const;

private:
    cudaGraphExec_t executable_ = nullptr;
};

/// What enqueues `times` the work: launch by launch, or as one graph.
std::function<void()> block_of(DeviceWork const& work, Launch launch, int times);

}  // namespace sextant::bench
