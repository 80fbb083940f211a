#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <vector>

#include "kernels/simt/emulation.hpp"

/// An emulated machine behind CUDA's runtime, cuBLASLt and NCCL, as far as the benchmarks use them: device memory is
/// the host's, kernels are run by emulation.hpp. What is enqueued on a stream runs when something waits for the stream
/// and not before, so that a wait that is missing shows as memory that nobody has written; new device memory is full of
/// NaN patterns. What CUDA, cuBLASLt and NCCL document as errors are errors: see machine.hpp, cublas_lt.cpp, nccl.cpp.
namespace sextant::bench::simt {

/// Leaves `count` devices of compute capability 9.0 without memory, streams or errors.
void reset_devices(int count);

/// Another compute capability of the devices: 10 for 10.0.
void set_major(int major);
int major_of_devices();

/// Memory of a device (8 GiB unless set), of which cudaMemGetInfo tells what is free.
void set_memory(int device, std::int64_t bytes);
/// No stream can be made, as where another process has the device for itself alone.
void refuse_streams();
/// No kernel can be launched, as where the program was built for other devices.
void refuse_kernels();
/// The device cannot be made current, as where its memory is full.
void refuse_device(int device);
/// The next cudaMalloc on the device fails, once.
void fail_allocation(int device);
/// NCCL's background threads have an error from now on, as where another process has died.
void fail_collectives();
bool collectives_fail();
/// What a kernel with an illegal address does: every call that waits, allocates or asks for the error fails from now
/// on.
void break_machine();

/// What was enqueued since the devices were reset: kernels, and bytes set by cudaMemset and cudaMemsetAsync.
struct Enqueued {
    std::int64_t kernels = 0, set_bytes = 0;
};
Enqueued const& enqueued();

/// Without compute, what is enqueued takes its time on the device's clock and does nothing: for timing.
void set_compute(bool on);

/// How long the host takes to enqueue anything (0: no time). Work begins no earlier, so that a device that waits for
/// the host idles. A graph is enqueued at once.
void set_host_seconds(double seconds);

/// What read_clocks returns of a device that has work to do, and of one that has not.
constexpr double busy_sm_mhz = 1980, idle_sm_mhz = 210;
/// So many readings of a busy device are lower, each higher than the one before.
void set_rising_clocks(int readings);
constexpr unsigned long long busy_throttle = 0x4, idle_throttle = 0x1;

/// Every kernel, copy and collective takes this long on the clock that events read.
constexpr double operation_seconds = 10e-6;
constexpr int emulated_multiprocessors = 2;

struct KernelGrid {
    Dim3 blocks;
    unsigned threads = 1;
    int shared_bytes = 0;
    void const* function = nullptr;
};
/// Enqueues a kernel; what is wrong with the grid or the stream is what cudaGetLastError returns next.
void enqueue(KernelGrid const& grid, cudaStream_t stream, std::function<void()> body);

/// Enqueues `run` as one operation of `stream` that takes so long; for the libraries.
cudaError_t enqueue(cudaStream_t stream, std::function<void()> run, double seconds = operation_seconds);
/// One operation of several streams, which runs once all of them have come to it.
void enqueue_together(std::vector<cudaStream_t> const& streams, std::function<void()> run);

/// Whether `bytes` from `address` lie in one allocation of device memory.
bool on_device(void const* address, std::size_t bytes);
int device_of(cudaStream_t stream);

}  // namespace sextant::bench::simt
