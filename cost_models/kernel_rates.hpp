#pragma once

#include "core/spec/kernel_constants.hpp"

namespace sextant {

/// Work of a call beyond which heat slows it no more, in flop: products of 1e13 to 1e14 run at what those of 1e12 to
/// 1e13 reach (H100 742 and 722 TFLOP/s in bf16, L40S 185 and 200), and attention likewise.
/// Source: AIConfigurator's tables (github.com/ai-dynamo/aiconfigurator).
inline constexpr double most_heating = 1e13;

/// What the kernel models need to know of a device, in base units.
struct KernelRates {
    double peak = 0;        ///< FLOP/s of the format, dense
    double bandwidth = 0;   ///< B/s of memory
    double cache = 0;       ///< B of the last-level cache
    double caches = 1;      ///< that it consists of, each of which brings what it lacks from memory
    double processors = 1;  ///< tiles that run at once: multiprocessors, large ones several times
    bool held = false;      ///< operands lie in memory that software fills, next to the units: nothing feeds tiles
    double rows = 16;       ///< that an instruction of the matrix units takes at least; 1: there are none
};

}  // namespace sextant
