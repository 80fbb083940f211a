// CUDA's runtime for the emulated machine: devices, errors and launches. Sources: CUDA Runtime API reference (error
// handling) and CUDA C++ Programming Guide (limits of compute capability 9.0).
#include "kernels/simt/machine.hpp"

#include <cstdio>

namespace sextant::bench::simt {

Machine& machine() {
    static Machine one;
    return one;
}

cudaError_t returned(cudaError_t status) {
    if (status != cudaSuccess) machine().last_error = status;
    return status;
}

cudaError_t done() { return machine().broken ? cudaErrorIllegalAddress : cudaSuccess; }

void reset_devices(int count) {
    Machine& m = machine();
    for (CUstream_st* const stream : m.streams)
        stream->queue.clear();
    m.default_streams.clear();
    m.devices = count;
    m.current = 0;
    m.major = 9;
    m.compute = true;
    m.refuses_streams = false;
    m.refuses_kernels = false;
    m.collectives_fail = false;
    m.rising_clocks = 0;
    m.broken = false;
    m.enqueued = {};
    m.refused.clear();
    m.host_seconds = 0;
    m.last_error = cudaSuccess;
    m.peers.clear();
    m.out_of_memory.clear();
    m.memory.clear();
}

void set_memory(int device, std::int64_t bytes) { machine().memory[device] = bytes; }

void set_major(int major) { machine().major = major; }

int major_of_devices() { return machine().major; }

void refuse_streams() { machine().refuses_streams = true; }

void refuse_kernels() { machine().refuses_kernels = true; }

void refuse_device(int device) { machine().refused.insert(device); }

void break_machine() { machine().broken = true; }

Enqueued const& enqueued() { return machine().enqueued; }

void fail_collectives() { machine().collectives_fail = true; }
bool collectives_fail() { return machine().collectives_fail; }
void fail_allocation(int device) { machine().out_of_memory.insert(device); }

void set_compute(bool on) { machine().compute = on; }

void set_rising_clocks(int readings) { machine().rising_clocks = readings; }

void set_host_seconds(double seconds) { machine().host_seconds = seconds; }

void enqueue(KernelGrid const& grid, cudaStream_t to, std::function<void()> body) {
    constexpr int shared_of_all = 48 << 10;
    CUstream_st& stream = stream_of(to);
    if (stream.device != machine().current) {
        returned(cudaErrorInvalidResourceHandle);
        return;
    }
    if (machine().refuses_kernels) {
        returned(cudaErrorNoKernelImageForDevice);
        return;
    }
    auto const allowed = machine().allowed_shared.find(grid.function);
    ++machine().enqueued.kernels;
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

cudaError_t enqueue(cudaStream_t stream, std::function<void()> run, double seconds) {
    return add(stream_of(stream), {std::move(run), seconds, nullptr});
}

void enqueue_together(std::vector<cudaStream_t> const& streams, std::function<void()> run) {
    auto const together = std::make_shared<std::vector<CUstream_st*>>();
    for (cudaStream_t const stream : streams)
        together->push_back(&stream_of(stream));
    for (CUstream_st* const stream : *together)
        add(*stream, {run, operation_seconds, together});
}

int device_of(cudaStream_t stream) { return stream_of(stream).device; }

}  // namespace sextant::bench::simt

using namespace sextant::bench::simt;

extern "C" {

cudaError_t cudaGetLastError() {
    cudaError_t const last = std::exchange(machine().last_error, cudaSuccess);
    return machine().broken ? done() : last;
}
char const* cudaGetErrorString(cudaError_t error) {
    switch (error) {
        case cudaSuccess: return "no error";
        case cudaErrorMemoryAllocation: return "out of memory";
        case cudaErrorNotReady: return "device not ready";
        case cudaErrorInvalidValue: return "invalid argument";
        case cudaErrorInvalidResourceHandle: return "invalid resource handle";
        case cudaErrorStreamCaptureUnsupported: return "operation not permitted when stream is capturing";
        case cudaErrorPeerAccessAlreadyEnabled: return "peer access is already enabled";
        case cudaErrorInvalidDevice: return "invalid device ordinal";
        case cudaErrorDevicesUnavailable: return "CUDA-capable device(s) is/are busy or unavailable";
        case cudaErrorNoKernelImageForDevice: return "no kernel image is available for execution on the device";
        case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
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
    return machine().refused.contains(device) ? returned(cudaErrorDevicesUnavailable) : cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
    std::snprintf(text, static_cast<std::size_t>(length), "0000:%02x:00.0", device + 1);
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    if (device < 0 || device >= machine().devices) return returned(cudaErrorInvalidDevice);
    *properties = {};
    std::snprintf(properties->name, sizeof properties->name, "Emulated device");
    properties->major = machine().major;
    properties->multiProcessorCount = emulated_multiprocessors;
    properties->l2CacheSize = 1 << 20;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
    if (attribute == cudaDevAttrMultiProcessorCount)
        *value = emulated_multiprocessors;
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
    *total = static_cast<std::size_t>(memory_bytes(machine().current));
    *free = static_cast<std::size_t>(free_bytes(machine().current));
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

}  // extern "C"
