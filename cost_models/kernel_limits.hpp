#pragma once

#include "core/measurements/kernel_row.hpp"
#include "core/spec/hardware_profile.hpp"

#include <string>

namespace sextant {

/// FLOPs of fused attention in the passes that a row has timed.
double timed_flops(Attention const& shape, TimedPasses passes);

/// What the arithmetic of a product or a prefill takes at the device's peak, and what comes from memory at its rate,
/// which may lie in a cache: the weights of a product, keys and values. 0: of another kernel.
Seconds least_time(KernelCase const& row, AcceleratorProfile const& device);

/// Why a measured time cannot be of the device, "faster than the memory of h100-sxm"; empty: it can, or none is stated.
/// Decodes and memory-bound kernels far larger than its cache at more than twice its memory's rate, smaller ones at 20
/// times that, products and prefills at more than four times its peak, kernels shorter than a launch.
std::string why_too_fast(KernelCase const& row, AcceleratorProfile const& device);

}  // namespace sextant
