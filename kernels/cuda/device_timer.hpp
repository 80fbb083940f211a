#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <string>

#include "kernels/cuda/busy_clocks.hpp"
#include "kernels/harness/bench.hpp"

namespace sextant::bench {

/// What enqueues the work to be timed, without waiting for it. May be called while the stream is being captured.
using DeviceWork = std::function<void(cudaStream_t)>;

/// Prepares `device` for measuring: makes it current and gets its identity. Called once, by the backend.
void use_device(int device);
/// After a failure: makes that device current again and forgets CUDA's last error.
/// @throws std::runtime_error where the error stays, as after an illegal address: the process can measure no more.
void recover_device();
/// The stream on which everything is prepared and timed.
cudaStream_t work_stream();
/// The bus id of the device, as cudaDeviceGetPCIBusId writes it.
std::string const& work_device();

/// Times `work` by events on the device.
/// - hot, stream: launches back to back in blocks of at least 100 us; a sample is a block's time per launch, so that
///   the launch itself shows only where it is longer than the kernel. The device is busy with another block before.
/// - hot, graph: the same block as one CUDA graph.
/// - cold: before each single launch a buffer of twice the L2 cache is read; the time between two events around the one
///   launch contains the start of the kernel.
/// Clocks are read while the device is busy.
Timing time_on_device(DeviceWork const& work, Variant variant, StopRule const& rule);

/// Device time of what `enqueue` enqueues, the shortest of so many turns. The turn before them is not timed: it keeps
/// the device busy until the host has enqueued the others.
double block_seconds(std::function<void()> const& enqueue, int turns);

/// Takes samples that do not count until two in a row have the same clock: that of a device that was idle while the
/// host compared results may have gone down, and takes some time to rise (at most 50 ms are waited; where the clock is
/// not known, one sample). Whether it has risen since the first one.
bool warm_up(std::function<void()> const& sample, BusyClocks const& clocks);

/// Launches of which a block of such samples consists: they take 100 us on the device, or are 200.
int launches_per_block(DeviceWork const& work, Variant variant);

/// Lets a kernel have more dynamic shared memory than the 48 KiB that all may have. Once per kernel is enough.
template <class Kernel>
bool allow_shared(Kernel* kernel, int bytes) {
    return cudaFuncSetAttribute(reinterpret_cast<void const*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                bytes) == cudaSuccess;
}

/// Variants of an ordinary kernel: hot in a stream, hot in a graph, cold in a stream.
std::vector<Variant> device_variants();

}  // namespace sextant::bench
