#include "kernels/cuda/runtime.hpp"

#include <stdexcept>

#include "kernels/harness/errors.hpp"

namespace sextant::bench {
namespace {

std::string version_text(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

void check(cudaError_t status, char const* what) {
    if (status == cudaSuccess) return;
    cudaGetLastError();  // or the next launch would seem to have failed
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

DeviceFacts device_facts(int device) {
    DeviceFacts facts;
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, device), "asking for the device's properties");
    facts.name = properties.name;
    facts.multiprocessors = properties.multiProcessorCount;
    facts.major = properties.major;
    facts.minor = properties.minor;
    facts.l2_bytes = properties.l2CacheSize;
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "asking for free memory");
    facts.free_bytes = static_cast<std::int64_t>(free);
    facts.total_bytes = static_cast<std::int64_t>(total);
    facts.integrated = properties.integrated != 0;
    int driver = 0, runtime = 0;
    check(cudaDriverGetVersion(&driver), "asking for the driver's version");
    check(cudaRuntimeGetVersion(&runtime), "asking for the runtime's version");
    facts.driver = "driver " + version_text(driver) + ", runtime " + version_text(runtime);
    check(cudaGetDeviceCount(&facts.devices), "counting devices");
    return facts;
}

std::int64_t free_bytes_of_another(int device) {
    try {
        CurrentDevice const current(device);
        return device_facts(device).free_bytes;
    } catch (std::runtime_error const& fault) {
        throw Unavailable("device " + std::to_string(device) + " cannot be used (" + fault.what() +
                          "; leave it out by CUDA_VISIBLE_DEVICES)");
    }
}

}  // namespace sextant::bench
