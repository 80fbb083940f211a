// Memory of the emulated machine. Source: CUDA Runtime API reference (memory management, synchronisation behaviour of
// copies).
#include "kernels/simt/machine.hpp"

namespace sextant::bench::simt {
namespace {

Allocation const* allocation_at(void const* address, std::size_t bytes) {
    auto const place = reinterpret_cast<std::uintptr_t>(address);
    auto next = machine().allocations.upper_bound(place);
    if (next == machine().allocations.begin()) return nullptr;
    auto const& [first, allocation] = *--next;
    return place + bytes <= first + allocation.bytes ? &allocation : nullptr;
}

cudaError_t allocate(void** data, std::size_t bytes, int device) {
    if (capturing()) return returned(cudaErrorStreamCaptureUnsupported);
    if (machine().broken) return done();
    if (bytes == 0) {
        *data = nullptr;
        return cudaSuccess;
    }
    if (machine().out_of_memory.erase(device) > 0 ||
        (device >= 0 && static_cast<std::int64_t>(bytes) > free_bytes(device)))
        return returned(cudaErrorMemoryAllocation);
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
    return on_device(to, bytes) == to_device && on_device(from, bytes) == from_device;
}

Operation copy_operation(void* to, void const* from, std::size_t bytes) {
    return {[=] { std::memcpy(to, from, bytes); }, operation_seconds, nullptr};
}

}  // namespace

bool on_device(void const* address, std::size_t bytes) {
    Allocation const* const found = allocation_at(address, bytes);
    return found != nullptr && found->device >= 0;
}

std::int64_t memory_bytes(int device) {
    auto const set = machine().memory.find(device);
    return set == machine().memory.end() ? std::int64_t{8} << 30 : set->second;
}

std::int64_t free_bytes(int device) {
    std::int64_t held = 0;
    for (auto const& [first, allocation] : machine().allocations)
        if (allocation.device == device) held += static_cast<std::int64_t>(allocation.bytes);
    return std::max<std::int64_t>(0, memory_bytes(device) - held);
}

}  // namespace sextant::bench::simt

using namespace sextant::bench::simt;

extern "C" {

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
    if (!on_device(to, bytes)) return returned(cudaErrorInvalidValue);
    machine().enqueued.set_bytes += static_cast<std::int64_t>(bytes);
    return add(stream_of(stream), {[=] { std::memset(to, value, bytes); }, operation_seconds, nullptr});
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
                            operation_seconds, nullptr});
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

}  // extern "C"
