#include "kernels/backend.hpp"

#include <cstdio>
#include <stdexcept>

#include "kernels/cuda/catalog.hpp"
#include "kernels/cuda/clocks.hpp"
#include "kernels/cuda/device_timer.hpp"
#include "kernels/cuda/first_kernel.hpp"
#include "kernels/cuda/runtime.hpp"
#include "kernels/harness/errors.hpp"
#include "kernels/harness/row.hpp"

namespace sextant::bench {

namespace {

/// What a device holds before anything is measured: more than CUDA's own part of it is another process's, which may use
/// the device too. Where the processor and the device share their memory nothing can be said.
std::string warning_of(DeviceFacts const& facts, int device) {
    constexpr double of_cuda = 2e9;  // assumed: its context takes 0.3 to 0.6 GB
    auto const taken = static_cast<double>(facts.total_bytes - facts.free_bytes);
    if (facts.integrated || taken < of_cuda) return {};
    char text[160];
    std::snprintf(text, sizeof text,
                  "device %d: %.1f of its %.1f GB are taken; another process may use it, and show in the times", device,
                  1e-9 * taken, 1e-9 * static_cast<double>(facts.total_bytes));
    return text;
}

Backend backend_of(int device) {
    use_device(device);
    DeviceFacts const facts = device_facts(device);
    try {
        run_first_kernel();
    } catch (std::runtime_error const& fault) {
        throw std::runtime_error(std::string(fault.what()) + "; its compute capability is " +
                                 std::to_string(facts.major) + "." + std::to_string(facts.minor) +
                                 ", the kernels need 8.0 and -DCMAKE_CUDA_ARCHITECTURES with it");
    }
    std::string const driver = driver_version();
    Backend backend;
    backend.machine = {.backend = "cuda",
                       .device = facts.name,
                       .driver = (driver.empty() ? "" : driver + ", ") + facts.driver + ", " + cuda_method};
    backend.catalog = cuda_catalog();
    backend.memory_limit = facts.free_bytes / 10 * 9;
    backend.recover = recover_device;
    backend.warning = warning_of(facts, device);
    return backend;
}

}  // namespace

Backend cuda_backend(int device) {
    int devices = 0;
    cudaError_t const status = cudaGetDeviceCount(&devices);
    if (status != cudaSuccess || devices == 0) {
        cudaGetLastError();
        throw Unavailable(std::string("--backend cuda: no usable GPU (") + cudaGetErrorString(status) + ")");
    }
    if (device >= devices)
        throw BadInput("--device " + std::to_string(device) + ": there are devices 0 to " +
                       std::to_string(devices - 1));
    try {
        return backend_of(device);
    } catch (std::runtime_error const& fault) {
        throw Unavailable("--device " + std::to_string(device) + ": cannot be used (" + fault.what() +
                          "; give another --device, or --backend host)");
    }
}

}  // namespace sextant::bench
