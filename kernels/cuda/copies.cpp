// Copies inside the device, between device and host (pinned and pageable memory), and from this device to the next.
// `bytes` is the size of the message; gbps counts it once.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "kernels/cuda/catalog.hpp"
#include "kernels/cuda/device_timer.hpp"
#include "kernels/cuda/runtime.hpp"
#include "kernels/harness/generated_values.hpp"
#include "kernels/harness/shapes.hpp"

namespace sextant::bench {
namespace {

/// Both ends of a copy; each holds what its kind needs.
struct Ends {
    std::size_t bytes = 0;
    int peer = -1;
    DeviceArray<unsigned char> a, b;
    std::vector<unsigned char> pageable;
    std::unique_ptr<PinnedBuffer> pinned;
};

void copy(std::string const& kernel, Ends& ends, cudaStream_t stream) {
    void* const host = kernel.ends_with("pinned") ? ends.pinned->data() : ends.pageable.data();
    cudaError_t status = cudaSuccess;
    if (kernel == "device_to_device")
        status = cudaMemcpyAsync(ends.b.data(), ends.a.data(), ends.bytes, cudaMemcpyDeviceToDevice, stream);
    else if (kernel.starts_with("host_to_device"))
        status = cudaMemcpyAsync(ends.b.data(), host, ends.bytes, cudaMemcpyHostToDevice, stream);
    else if (kernel.starts_with("device_to_host"))
        status = cudaMemcpyAsync(host, ends.a.data(), ends.bytes, cudaMemcpyDeviceToHost, stream);
    else {
        int device = 0;
        check(cudaGetDevice(&device), "asking for the device");
        status = cudaMemcpyPeerAsync(ends.b.data(), ends.peer, ends.a.data(), device, ends.bytes, stream);
    }
    check(status, "copying");
}

std::vector<Problem> problems(Scope const& scope) {
    bool const full = scope.effort == Effort::full;
    std::vector<std::string> kernels{"device_to_device", "host_to_device_pinned", "device_to_host_pinned",
                                     "host_to_device_pageable", "device_to_host_pageable"};
    if (device_facts(scope.device).devices > 1) kernels.emplace_back("peer");
    std::vector<Problem> all;
    for (std::string const& kernel : kernels)
        for (std::int64_t const bytes : shapes::message_bytes(4 << 10, std::int64_t{1} << 30, full ? 4 : 64)) {
            if (3 * bytes > scope.memory_limit) continue;
            Problem problem;
            problem.kernel = kernel;
            problem.dtype = "bytes";
            problem.shape.bytes = bytes;
            problem.bytes = static_cast<double>(bytes);
            problem.expected_s = 1e-5 + problem.bytes / (kernel == "device_to_device" ? 1e12 : 2e10);  // assumed
            if (kernel == "device_to_device") problem.variants = device_variants();
            all.push_back(problem);
        }
    return all;
}

struct Peer {
    int device;
    bool direct;  ///< otherwise CUDA copies through the host's memory
};

/// The next device, with direct access to its memory where the machine allows it.
/// @throws Unavailable where it cannot be used.
Peer peer_of(int device) {
    int devices = 0;
    check(cudaGetDeviceCount(&devices), "counting devices");
    int const peer = (device + 1) % devices;
    free_bytes_of_another(peer);
    int possible = 0;
    check(cudaDeviceCanAccessPeer(&possible, device, peer), "asking for peer access");
    if (possible != 0) {
        cudaError_t const status = cudaDeviceEnablePeerAccess(peer, 0);
        if (status == cudaErrorPeerAccessAlreadyEnabled)
            cudaGetLastError();  // clears it
        else
            check(status, "enabling peer access");
    }
    return {peer, possible != 0};
}

Prepared prepare(Problem const& problem, Scope const& scope) {
    auto ends = std::make_shared<Ends>();
    std::int64_t const bytes = problem.shape.bytes;
    ends->bytes = static_cast<std::size_t>(bytes);
    std::vector<unsigned char> wanted(ends->bytes);
    for (std::size_t i = 0; i < wanted.size(); i += 8) {  // eight at a time: a lent device waits for a gigabyte of them
        std::uint64_t const eight = mixed(scope.seed, i / 8);
        std::memcpy(wanted.data() + i, &eight, std::min<std::size_t>(8, wanted.size() - i));
    }
    std::string const kernel = problem.kernel;
    bool const to_host = kernel.starts_with("device_to_host"), from_host = kernel.starts_with("host");
    if (kernel.ends_with("pinned")) ends->pinned = std::make_unique<PinnedBuffer>(ends->bytes);
    if (kernel.ends_with("pageable")) ends->pageable.resize(ends->bytes);
    auto* const host = static_cast<unsigned char*>(ends->pinned ? ends->pinned->data() : ends->pageable.data());
    if (from_host)
        std::copy(wanted.begin(), wanted.end(), host);
    else
        ends->a = device_copy(wanted);
    Prepared prepared;
    if (kernel == "peer") {
        auto const [peer, direct] = peer_of(scope.device);
        prepared.note = direct ? "" : "no peer access: through the host";
        ends->peer = peer;
        CurrentDevice const current(peer);
        ends->b = DeviceArray<unsigned char>(bytes);
    } else if (!to_host) {
        ends->b = DeviceArray<unsigned char>(bytes);
    }
    DeviceWork const work = [ends, kernel](cudaStream_t stream) { copy(kernel, *ends, stream); };
    work(work_stream());
    check(cudaStreamSynchronize(work_stream()), "copying");
    bool const same = to_host ? std::equal(wanted.begin(), wanted.end(), host) : ends->b.read(0, bytes) == wanted;
    prepared.max_rel_error = same ? 0 : 1;
    prepared.tolerance = 1e-9;
    prepared.measure = [work](Variant variant, StopRule const& rule) { return time_on_device(work, variant, rule); };
    return prepared;
}

}  // namespace

extern constinit Bench const cuda_copies{
    .name = "copies",
    .summary = "copies in the device, between device and host (pinned, pageable), to the next device",
    .problems = problems,
    .prepare = prepare,
};

}  // namespace sextant::bench
