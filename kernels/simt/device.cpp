// CUDA's runtime for the emulated machine. Sources: CUDA Runtime API reference (stream capture, memory copies,
// synchronisation behaviour, error handling) and CUDA C++ Programming Guide (limits of compute capability 9.0).
#include "kernels/simt/device.hpp"

#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <set>

namespace simt = sextant::bench::simt;

namespace {

struct Operation {
    std::function<void()> run;
    double seconds = 0;
    std::shared_ptr<std::vector<CUstream_st*>> together;  ///< the streams that must have come to it; null: only its own
};

struct Allocation {
    std::unique_ptr<unsigned char[]> memory;
    std::size_t bytes = 0;
    int device = 0;  ///< -1: pinned memory of the host
};

}  // namespace

struct CUgraph_st {
    std::vector<Operation> operations;
};
struct CUgraphExec_st {
    std::vector<Operation> operations;
};
struct CUstream_st {
    int device = 0;
    std::deque<Operation> queue;
    double now = 0;  ///< the device's clock as this stream has seen it, seconds
    CUgraph_st* captured = nullptr;
};
struct CUevent_st {
    CUstream_st* stream = nullptr;
    int pending = 0;  ///< records that the stream has not come to
    double at = 0;
};

namespace {

struct Machine {
    int devices = 1, current = 0;
    bool compute = true;
    cudaError_t last_error = cudaSuccess;
    std::map<std::uintptr_t, Allocation> allocations;
    std::set<CUstream_st*> streams;
    std::vector<std::unique_ptr<CUstream_st>> default_streams;
    std::map<void const*, int> allowed_shared;
    std::set<int> peers;
};

Machine& machine() {
    static Machine one;
    return one;
}

/// What a call returns is also what cudaGetLastError returns. The documentation excludes "not ready"; this machine does
/// not, since programs that must run everywhere take it back.
cudaError_t returned(cudaError_t status) {
    if (status != cudaSuccess) machine().last_error = status;
    return status;
}

CUstream_st& default_stream(int device) {
    auto& all = machine().default_streams;
    while (static_cast<int>(all.size()) <= device) {
        all.push_back(std::make_unique<CUstream_st>());
        all.back()->device = static_cast<int>(all.size()) - 1;
    }
    return *all[static_cast<std::size_t>(device)];
}

CUstream_st& stream_of(cudaStream_t stream) { return stream == nullptr ? default_stream(machine().current) : *stream; }

bool capturing() {
    for (CUstream_st const* stream : machine().streams)
        if (stream->captured != nullptr) return true;
    return false;
}

void run_first(CUstream_st& stream) {
    if (auto const together = stream.queue.front().together) {
        double latest = 0;
        for (CUstream_st* const other : *together) {
            while (other->queue.front().together != together)
                run_first(*other);
            latest = std::max(latest, other->now);
        }
        Operation const operation = stream.queue.front();
        for (CUstream_st* const other : *together) {
            other->queue.pop_front();
            other->now = latest + operation.seconds;
        }
        if (machine().compute) operation.run();
        return;
    }
    Operation const operation = std::move(stream.queue.front());
    stream.queue.pop_front();
    stream.now += operation.seconds;
    if (machine().compute || operation.seconds == 0) operation.run();
}

void finish(CUstream_st& stream) {
    while (!stream.queue.empty())
        run_first(stream);
}

void finish_device(int device) {
    finish(default_stream(device));
    for (CUstream_st* const stream : machine().streams)
        if (stream->device == device) finish(*stream);
}

cudaError_t add(CUstream_st& stream, Operation operation) {
    if (stream.captured != nullptr)
        stream.captured->operations.push_back(std::move(operation));
    else
        stream.queue.push_back(std::move(operation));
    return cudaSuccess;
}

Allocation const* allocation_at(void const* address, std::size_t bytes) {
    auto const place = reinterpret_cast<std::uintptr_t>(address);
    auto next = machine().allocations.upper_bound(place);
    if (next == machine().allocations.begin()) return nullptr;
    auto const& [first, allocation] = *--next;
    return place + bytes <= first + allocation.bytes ? &allocation : nullptr;
}

cudaError_t allocate(void** data, std::size_t bytes, int device) {
    if (capturing()) return returned(cudaErrorStreamCaptureUnsupported);
    if (bytes == 0) {
        *data = nullptr;
        return cudaSuccess;
    }
    // Its own allocation of exactly so many bytes, so that a sanitizer sees what lies beyond.
    Allocation allocation{std::make_unique_for_overwrite<unsigned char[]>(bytes), bytes, device};
    std::memset(allocation.memory.get(), 0xFF, bytes);  // NaN in every format
    *data = allocation.memory.get();
    machine().allocations.emplace(reinterpret_cast<std::uintptr_t>(*data), std::move(allocation));
    return cudaSuccess;
}

cudaError_t release(void* data, bool host) {
    if (data == nullptr) return cudaSuccess;
    if (capturing()) return returned(cudaErrorStreamCaptureUnsupported);
    auto const found = machine().allocations.find(reinterpret_cast<std::uintptr_t>(data));
    if (found == machine().allocations.end() || (found->second.device < 0) != host)
        return returned(cudaErrorInvalidValue);
    for (int device = 0; device < machine().devices; ++device)
        finish_device(device);
    machine().allocations.erase(found);
    return cudaSuccess;
}

bool pinned(void const* address, std::size_t bytes) {
    Allocation const* const found = allocation_at(address, bytes);
    return found != nullptr && found->device < 0;
}

/// Whether the addresses are what the kind of copy says.
bool fits(void const* to, void const* from, std::size_t bytes, cudaMemcpyKind kind) {
    bool const to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    bool const from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    return simt::on_device(to, bytes) == to_device && simt::on_device(from, bytes) == from_device;
}

Operation copy_operation(void* to, void const* from, std::size_t bytes) {
    return {[=] { std::memcpy(to, from, bytes); }, simt::operation_seconds, nullptr};
}

}  // namespace

namespace sextant::bench::simt {

void reset_devices(int count) {
    Machine& m = machine();
    for (CUstream_st* const stream : m.streams)
        stream->queue.clear();
    m.default_streams.clear();
    m.devices = count;
    m.current = 0;
    m.compute = true;
    m.last_error = cudaSuccess;
    m.peers.clear();
}

void set_compute(bool on) { machine().compute = on; }

void enqueue(KernelGrid const& grid, cudaStream_t to, std::function<void()> body) {
    constexpr int shared_of_all = 48 << 10;
    CUstream_st& stream = stream_of(to);
    if (stream.device != machine().current) {
        returned(cudaErrorInvalidResourceHandle);
        return;
    }
    auto const allowed = machine().allowed_shared.find(grid.function);
    int const most_shared =
        allowed == machine().allowed_shared.end() ? shared_of_all : std::max(shared_of_all, allowed->second);
    Dim3 const& b = grid.blocks;
    if (b.x == 0 || b.y == 0 || b.z == 0 || b.x > 2147483647u || b.y > 65535 || b.z > 65535 || grid.threads == 0 ||
        grid.threads > 1024 || grid.shared_bytes > most_shared) {
        returned(cudaErrorInvalidValue);
        return;
    }
    returned(add(stream, {[grid, body = std::move(body)] {
                              run(grid.blocks, grid.threads, static_cast<std::size_t>(grid.shared_bytes),
                                  Order::descending, body);
                          },
                          operation_seconds, nullptr}));
}

cudaError_t enqueue(cudaStream_t stream, std::function<void()> run) {
    return add(stream_of(stream), {std::move(run), operation_seconds, nullptr});
}

void enqueue_together(std::vector<cudaStream_t> const& streams, std::function<void()> run) {
    auto const together = std::make_shared<std::vector<CUstream_st*>>();
    for (cudaStream_t const stream : streams)
        together->push_back(&stream_of(stream));
    for (CUstream_st* const stream : *together)
        add(*stream, {run, operation_seconds, together});
}

bool on_device(void const* address, std::size_t bytes) {
    Allocation const* const found = allocation_at(address, bytes);
    return found != nullptr && found->device >= 0;
}

int device_of(cudaStream_t stream) { return stream_of(stream).device; }

}  // namespace sextant::bench::simt

extern "C" {

cudaError_t cudaGetLastError() { return std::exchange(machine().last_error, cudaSuccess); }
char const* cudaGetErrorString(cudaError_t error) {
    switch (error) {
        case cudaSuccess: return "no error";
        case cudaErrorNotReady: return "device not ready";
        case cudaErrorInvalidValue: return "invalid argument";
        case cudaErrorInvalidResourceHandle: return "invalid resource handle";
        case cudaErrorStreamCaptureUnsupported: return "operation not permitted when stream is capturing";
        case cudaErrorPeerAccessAlreadyEnabled: return "peer access is already enabled";
        case cudaErrorInvalidDevice: return "invalid device ordinal";
        default: return "an error of the emulated device";
    }
}

cudaError_t cudaGetDeviceCount(int* count) {
    *count = machine().devices;
    return returned(machine().devices == 0 ? cudaErrorNoDevice : cudaSuccess);
}
cudaError_t cudaGetDevice(int* device) {
    *device = machine().current;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
    if (device < 0 || device >= machine().devices) return returned(cudaErrorInvalidDevice);
    machine().current = device;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
    std::snprintf(text, static_cast<std::size_t>(length), "0000:%02x:00.0", device + 1);
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    if (device < 0 || device >= machine().devices) return returned(cudaErrorInvalidDevice);
    *properties = {};
    std::snprintf(properties->name, sizeof properties->name, "Emulated device");
    properties->major = 9;
    properties->multiProcessorCount = simt::emulated_multiprocessors;
    properties->l2CacheSize = 1 << 20;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
    if (attribute == cudaDevAttrMultiProcessorCount)
        *value = simt::emulated_multiprocessors;
    else if (attribute == cudaDevAttrL2CacheSize)
        *value = 1 << 20;
    else
        return returned(cudaErrorInvalidValue);
    return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
    *free = *total = std::size_t{8} << 30;
    return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* possible, int device, int peer) {
    *possible = device != peer;
    return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
    return returned(machine().peers.insert(peer).second ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled);
}
cudaError_t cudaFuncSetAttribute(void const* function, cudaFuncAttribute attribute, int value) {
    constexpr int most = 227 << 10;
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value > most)
        return returned(cudaErrorInvalidValue);
    machine().allowed_shared[function] = value;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void** data, std::size_t bytes) { return allocate(data, bytes, machine().current); }
cudaError_t cudaMallocHost(void** data, std::size_t bytes) { return allocate(data, bytes, -1); }
cudaError_t cudaFree(void* data) { return release(data, false); }
cudaError_t cudaFreeHost(void* data) { return release(data, true); }

/// In the default stream, for which streams that do not block do not wait, nor it for them.
cudaError_t cudaMemcpy(void* to, void const* from, std::size_t bytes, cudaMemcpyKind kind) {
    if (capturing()) return returned(cudaErrorStreamCaptureUnsupported);
    if (!fits(to, from, bytes, kind)) return returned(cudaErrorInvalidValue);
    finish(default_stream(machine().current));
    std::memcpy(to, from, bytes);
    return cudaSuccess;
}
cudaError_t cudaMemset(void* to, int value, std::size_t bytes) { return cudaMemsetAsync(to, value, bytes, nullptr); }
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
    if (!simt::on_device(to, bytes)) return returned(cudaErrorInvalidValue);
    return add(stream_of(stream), {[=] { std::memset(to, value, bytes); }, simt::operation_seconds, nullptr});
}
/// Pageable memory of the host is read before the call returns, and written before it returns.
cudaError_t cudaMemcpyAsync(void* to, void const* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t where) {
    CUstream_st& stream = stream_of(where);
    if (!fits(to, from, bytes, kind)) return returned(cudaErrorInvalidValue);
    bool const to_pageable = kind == cudaMemcpyDeviceToHost && !pinned(to, bytes);
    bool const from_pageable = kind == cudaMemcpyHostToDevice && !pinned(from, bytes);
    if (stream.captured != nullptr && (to_pageable || from_pageable))
        return returned(cudaErrorStreamCaptureUnsupported);
    if (from_pageable) {
        auto const* const first = static_cast<unsigned char const*>(from);
        return add(stream, {[to, kept = std::vector<unsigned char>(first, first + bytes)] {
                                std::memcpy(to, kept.data(), kept.size());
                            },
                            simt::operation_seconds, nullptr});
    }
    add(stream, copy_operation(to, from, bytes));
    if (to_pageable) finish(stream);
    return cudaSuccess;
}
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, void const* from, int from_device, std::size_t bytes,
                                cudaStream_t stream) {
    Allocation const *const target = allocation_at(to, bytes), *const source = allocation_at(from, bytes);
    if (target == nullptr || source == nullptr || target->device != to_device || source->device != from_device)
        return returned(cudaErrorInvalidValue);
    return add(stream_of(stream), copy_operation(to, from, bytes));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
    *stream = new CUstream_st{.device = machine().current, .queue = {}, .now = 0, .captured = nullptr};
    machine().streams.insert(*stream);
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    finish(*stream);
    machine().streams.erase(stream);
    delete stream;
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    if (stream_of(stream).captured != nullptr) return returned(cudaErrorStreamCaptureUnsupported);
    finish(stream_of(stream));
    return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t where) {
    CUstream_st& stream = stream_of(where);
    if (stream.queue.empty()) return cudaSuccess;
    run_first(stream);  // time passes
    return returned(cudaErrorNotReady);
}
cudaError_t cudaDeviceSynchronize() {
    if (capturing()) return returned(cudaErrorStreamCaptureUnsupported);
    finish_device(machine().current);
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
    *event = new CUevent_st;
    return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    while (event->pending > 0)
        run_first(*event->stream);
    delete event;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t where) {
    CUstream_st& stream = stream_of(where);
    event->stream = &stream;
    ++event->pending;
    return add(stream, {[event, &stream] {
                            --event->pending;
                            event->at = stream.now;
                        },
                        0, nullptr});
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    while (event->pending > 0)
        run_first(*event->stream);
    return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
    if (event->pending == 0) return cudaSuccess;
    run_first(*event->stream);
    return returned(cudaErrorNotReady);
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop) {
    if (start->stream == nullptr || stop->stream == nullptr) return returned(cudaErrorInvalidResourceHandle);
    if (start->pending > 0 || stop->pending > 0) return returned(cudaErrorNotReady);
    *milliseconds = static_cast<float>(1e3 * (stop->at - start->at));
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
    if (stream == nullptr || stream->captured != nullptr) return returned(cudaErrorStreamCaptureUnsupported);
    stream->captured = new CUgraph_st;
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    if (stream->captured == nullptr) return returned(cudaErrorInvalidValue);
    *graph = std::exchange(stream->captured, nullptr);
    return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
    *executable = new CUgraphExec_st{graph->operations};
    return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
    for (Operation const& operation : executable->operations)
        add(stream_of(stream), operation);
    return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    delete graph;
    return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
    delete executable;
    return cudaSuccess;
}

}  // extern "C"
