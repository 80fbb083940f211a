#include "kernels/cuda/clocks.hpp"

#include <dlfcn.h>

namespace sextant::bench {
namespace {

using Device = void*;
constexpr int sm_clock = 1, memory_clock = 2;  // nvmlClockType_t

template <class Function>
Function symbol(void* library, char const* name) {
    return library == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library, name));
}

/// The few functions that are needed, with NVML's own names. All return 0 for success.
/// Source: NVML API Reference Guide, https://docs.nvidia.com/deploy/nvml-api/
struct Nvml {
    void* library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
    int (*init)() = symbol<int (*)()>(library, "nvmlInit_v2");
    int (*device_by_bus)(char const*,
                         Device*) = symbol<int (*)(char const*, Device*)>(library, "nvmlDeviceGetHandleByPciBusId_v2");
    int (*clock)(Device, int, unsigned*) = symbol<int (*)(Device, int, unsigned*)>(library, "nvmlDeviceGetClockInfo");
    using Reasons = int (*)(Device, unsigned long long*);
    Reasons reasons = symbol<Reasons>(library, "nvmlDeviceGetCurrentClocksEventReasons");
    Reasons reasons_before_535 = symbol<Reasons>(library, "nvmlDeviceGetCurrentClocksThrottleReasons");
    int (*driver)(char*, unsigned) = symbol<int (*)(char*, unsigned)>(library, "nvmlSystemGetDriverVersion");
    bool usable = init != nullptr && device_by_bus != nullptr && clock != nullptr && init() == 0;
};

Nvml const& nvml() {
    static Nvml const loaded;
    return loaded;
}

}  // namespace

Clocks read_clocks(std::string const& pci_bus_id) {
    Clocks clocks;
    Device device = nullptr;
    if (!nvml().usable || nvml().device_by_bus(pci_bus_id.c_str(), &device) != 0) return clocks;
    unsigned mhz = 0;
    if (nvml().clock(device, sm_clock, &mhz) == 0) clocks.sm_mhz = mhz;
    if (nvml().clock(device, memory_clock, &mhz) == 0) clocks.memory_mhz = mhz;
    auto* const reasons = nvml().reasons != nullptr ? nvml().reasons : nvml().reasons_before_535;
    clocks.known = reasons != nullptr && reasons(device, &clocks.throttle) == 0;
    return clocks;
}

std::string driver_version() {
    char text[96] = {};
    if (!nvml().usable || nvml().driver == nullptr || nvml().driver(text, sizeof text) != 0) return {};
    return text;
}

}  // namespace sextant::bench
