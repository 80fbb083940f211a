#pragma once

#include "core/units.hpp"
#include "cost_models/kernel_rates.hpp"

#include <array>
#include <span>

namespace sextant {

/// How much faster operands come that lie in the last-level cache.
struct CacheTerm {
    double speed = 1;  ///< rate against memory
    double share = 1;  ///< of the cache that such operands may fill
    double edge = 1;   ///< sharpness of the change
};

/// Factor on the time that `bytes` take from memory: 1 when cold; when hot, between 1 and 1 / speed as
///
///     1 - f + f / speed,  f = 1 / (1 + (bytes / (share cache))^edge).
double cached_share_of_time(double bytes, KernelRates const& rates, CacheTerm const& cache, CacheState state);

/// Time of a kernel that is bound by the memory it touches:
///
///     T = launch + [cold: cold_start] + (memory^4 + arithmetic^4)^(1/4)
///
/// `memory`: the bytes at the fitted share of the memory bandwidth, faster from the cache; `arithmetic`: the same bytes
/// at the rate at which the kernel works on them wherever they lie (exponentials, conversions). `constants` in the
/// order of `MemoryConstant`. The norm 4 is assumed. Source of the form: Williams et al., CACM 52(4), 2009.
Seconds memory_model(Bytes moved, KernelRates const& rates, std::span<double const> constants, CacheState state);

/// Where it lies on the residual grid: log2 of the bytes.
std::array<double, 1> memory_coordinates(Bytes moved);

}  // namespace sextant
