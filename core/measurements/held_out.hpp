#pragma once

#include "core/measurements/kernel_row.hpp"

#include <cstdint>

namespace sextant {

/// FNV-1a of the numbers that make the kernel's shape, its kind and, of memory-bound kernels, its name; not of the
/// device, the format, the state of the cache, the pass or the mask: what is held out is so with and without.
std::uint64_t shape_hash(KernelCase const& row);

/// 24 bits of it, and of whether attention has no mask: what a calibration keeps of the shapes that it was fitted to.
/// Among a thousand of them another shape passes for one of them once in 17,000 times.
std::uint32_t shape_mark(KernelCase const& row);
constexpr std::uint32_t shape_marks = 1U << 24U;  ///< how many there are

/// Whether a row is held out of every fit: one shape in ten, by `shape_hash` alone, so that the same shapes are held
/// out on every device and by every run.
bool is_held_out(KernelCase const& row);

}  // namespace sextant
