#include "cost_models/host_gemm_model.hpp"

#include "cost_models/memory_model.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {

Seconds host_gemm_model(GemmShape const& shape, GemmFormat const& format, KernelRates const& rates,
                        std::span<double const> constants, GemmUse const& use) {
    auto const c = [&](HostGemmConstant index) { return constants[static_cast<std::size_t>(index)]; };
    auto const groups = static_cast<double>(shape.groups);
    auto const m = static_cast<double>(shape.m);
    auto const n = static_cast<double>(shape.n);
    auto const k = static_cast<double>(shape.k);
    double const edges = (1 + c(HostGemmConstant::edge_m) / m) * (1 + c(HostGemmConstant::edge_n) / n) *
                         (1 + c(HostGemmConstant::edge_k) / k);
    double const rate = rates.peak * c(HostGemmConstant::efficiency) * use.rate;
    double const compute = 2 * groups * m * n * k / rate * edges;
    double const bytes = groups * (format.left * m * k + format.right * k * n + format.out * m * n);
    double const memory = bytes / (rates.bandwidth * c(HostGemmConstant::memory)) *
                          cached_share_of_time(bytes, rates,
                                               {.speed = c(HostGemmConstant::cache_speed),
                                                .share = c(HostGemmConstant::cache_share),
                                                .edge = c(HostGemmConstant::cache_edge)},
                                               use.cache);
    double const norm = c(HostGemmConstant::overlap);
    double const larger = std::max(compute, memory);
    double const smaller = std::min(compute, memory);
    double const launch =
        c(HostGemmConstant::launch) + (use.cache == CacheState::cold ? c(HostGemmConstant::cold_start) : 0);
    return (launch + larger * std::pow(1 + std::pow(smaller / larger, norm), 1 / norm)) * units::s;
}

}  // namespace sextant
