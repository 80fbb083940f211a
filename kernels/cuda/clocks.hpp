#pragma once

#include <string>

#include "kernels/harness/row.hpp"

namespace sextant::bench {

/// Clocks of a device as NVML states them, and why they are lower than they could be.
struct Clocks {
    double sm_mhz = Row::unset;
    double memory_mhz = Row::unset;
    unsigned long long throttle = 0;
    bool known = false;
};

/// Asks NVML, which is loaded when first needed; without it nothing is known. Never changes a clock.
/// `pci_bus_id` as cudaDeviceGetPCIBusId writes it. The driver's version ("580.65.06") is empty without NVML.
Clocks read_clocks(std::string const& pci_bus_id);
std::string driver_version();

}  // namespace sextant::bench
