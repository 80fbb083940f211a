#pragma once

#include <cstdint>

namespace sextant {

/// Whether a kernel may find its operands in the last-level cache, as when a benchmark repeats it, or not, as in a step
/// that has gone through all its other tensors since.
enum class CacheState : std::uint8_t { hot, cold };

/// What the kernel models need to know of a device, in base units.
struct KernelRates {
    double peak = 0;        ///< FLOP/s of the format, dense
    double bandwidth = 0;   ///< B/s of memory
    double cache = 0;       ///< B of the last-level cache
    double processors = 1;  ///< multiprocessors
};

}  // namespace sextant
