#include "cost_models/memory_model.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {

double cached_share_of_time(double bytes, KernelRates const& rates, CacheTerm const& cache, CacheState state) {
    if (state == CacheState::cold) return 1;
    double const held = 1 / (1 + std::pow(bytes / (cache.share * rates.cache), cache.edge));
    return 1 - held + held / cache.speed;
}

Seconds memory_model(Bytes moved, KernelRates const& rates, std::span<double const> constants, CacheState state) {
    auto const c = [&](MemoryConstant index) { return constants[static_cast<std::size_t>(index)]; };
    double const plain = moved.base() / rates.bandwidth;
    double const memory = plain / c(MemoryConstant::memory) *
                          cached_share_of_time(moved.base(), rates,
                                               {.speed = c(MemoryConstant::cache_speed),
                                                .share = c(MemoryConstant::cache_share),
                                                .edge = c(MemoryConstant::cache_edge)},
                                               state);
    double const arithmetic = plain / c(MemoryConstant::arithmetic);
    double const larger = std::max(memory, arithmetic);
    double const ratio = std::min(memory, arithmetic) / larger;
    double const launch = c(MemoryConstant::launch) + (state == CacheState::cold ? c(MemoryConstant::cold_start) : 0);
    return (launch + larger * std::pow(1 + ratio * ratio * ratio * ratio, 0.25)) * units::s;
}

std::array<double, 1> memory_coordinates(Bytes moved) { return {std::log2(std::max(1.0, moved.base()))}; }

}  // namespace sextant
