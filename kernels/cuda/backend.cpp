#include "kernels/backend.hpp"

#include "kernels/cuda/catalog.hpp"
#include "kernels/cuda/clocks.hpp"
#include "kernels/cuda/device_timer.hpp"
#include "kernels/cuda/runtime.hpp"
#include "kernels/harness/errors.hpp"

namespace sextant::bench {

namespace {

Backend backend_of(int device) {
    use_device(device);
    DeviceFacts const facts = device_facts(device);
    std::string const driver = driver_version();
    Backend backend;
    backend.machine = {
        .backend = "cuda", .device = facts.name, .driver = (driver.empty() ? "" : driver + ", ") + facts.driver};
    backend.catalog = cuda_catalog();
    backend.memory_limit = facts.free_bytes / 10 * 9;
    backend.recover = recover_device;
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
