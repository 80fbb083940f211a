#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define SEXTANT_HOST_DEVICE __host__ __device__
#else
#define SEXTANT_HOST_DEVICE
#endif

namespace sextant::bench {

/// A well-mixed 64-bit number of (seed, index), the same on host and device, so that a reference can regenerate any
/// element of an input without copying it. Source: the finaliser of SplitMix64 (Steele et al., OOPSLA 2014).
SEXTANT_HOST_DEVICE inline std::uint64_t mixed(std::uint64_t seed, std::uint64_t index) {
    std::uint64_t z = seed * 0x9E3779B97F4A7C15ull + index + 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

/// Element `index` of the input `seed`: uniform in [-1, 1), a multiple of 2^-23 and so exact in float.
SEXTANT_HOST_DEVICE inline float value_at(std::uint64_t seed, std::uint64_t index) {
    auto const bits = static_cast<std::int32_t>(mixed(seed, index) >> 40);
    return static_cast<float>(bits - (1 << 23)) * (1.0f / static_cast<float>(1 << 23));
}

/// Integer input in [-bound, bound].
SEXTANT_HOST_DEVICE inline int integer_at(std::uint64_t seed, std::uint64_t index, int bound) {
    return static_cast<int>(mixed(seed, index) % static_cast<std::uint64_t>(2 * bound + 1)) - bound;
}

}  // namespace sextant::bench
