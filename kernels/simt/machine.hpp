#pragma once

#include "kernels/simt/device.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>

/// What the parts of the emulated CUDA runtime share: memory (memory.cpp), streams, events and graphs (streams.cpp),
/// devices and launches (device.cpp).
namespace sextant::bench::simt {

struct Operation {
    std::function<void()> run;
    double seconds = 0;
    std::shared_ptr<std::vector<CUstream_st*>> together;  ///< the streams that must have come to it; null: only its own
    double enqueued = 0;                                  ///< when the host was done with it
};

struct Allocation {
    std::unique_ptr<unsigned char[]> memory;
    std::size_t bytes = 0;
    int device = 0;  ///< -1: pinned memory of the host
};

}  // namespace sextant::bench::simt

struct CUgraph_st {
    std::vector<sextant::bench::simt::Operation> operations;
};
struct CUgraphExec_st {
    std::vector<sextant::bench::simt::Operation> operations;
};
struct CUstream_st {
    int device = 0;
    std::deque<sextant::bench::simt::Operation> queue;
    double now = 0;  ///< the device's clock as this stream has seen it, seconds
    CUgraph_st* captured = nullptr;
    bool running = false;  ///< its last operation, as the host knows
};
struct CUevent_st {
    CUstream_st* stream = nullptr;
    int pending = 0;  ///< records that the stream has not come to
    double at = 0;
};

namespace sextant::bench::simt {

struct Machine {
    int devices = 1, current = 0, major = 9, rising_clocks = 0;
    bool compute = true, refuses_streams = false, refuses_kernels = false, broken = false;
    bool collectives_fail = false;
    double host_seconds = 0, host_now = 0;
    cudaError_t last_error = cudaSuccess;
    std::map<std::uintptr_t, Allocation> allocations;
    std::set<CUstream_st*> streams;
    std::vector<std::unique_ptr<CUstream_st>> default_streams;
    std::map<int, std::int64_t> memory;  ///< bytes of the devices for which they were set
    std::map<void const*, int> allowed_shared;
    std::set<int> peers, out_of_memory, refused;
    Enqueued enqueued;
};

Machine& machine();

/// What a call returns is also what cudaGetLastError returns. The documentation excludes "not ready"; this machine does
/// not, since programs that must run everywhere take it back.
cudaError_t returned(cudaError_t status);
/// What a call returns that would succeed: an error that stays where the machine is broken.
cudaError_t done();

/// Null is the default stream of the current device.
CUstream_st& stream_of(cudaStream_t stream);
/// The default stream of a device, which is made when it is first asked for.
CUstream_st& default_stream(int device);
std::int64_t memory_bytes(int device);
std::int64_t free_bytes(int device);
/// Whether any stream is being captured.
bool capturing();

/// Puts an operation at the end of a stream, or into the graph that the stream is captured for.
cudaError_t add(CUstream_st& stream, Operation operation);
/// The host has waited for the stream.
void host_waited(CUstream_st const& stream);
/// Runs everything that was put on a stream, or on all streams of a device.
void finish(CUstream_st& stream);
void finish_device(int device);

}  // namespace sextant::bench::simt
