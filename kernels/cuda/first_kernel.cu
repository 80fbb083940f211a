#include "kernels/cuda/first_kernel.hpp"

#include "kernels/cuda/device_timer.hpp"
#include "kernels/simt/launch.cuh"

namespace sextant::bench {
namespace {

__global__ void nothing() {}

}  // namespace

void run_first_kernel() {
    launch({1, 1, work_stream()}, nothing);
    check(cudaStreamSynchronize(work_stream()), "running a kernel");
}

}  // namespace sextant::bench
